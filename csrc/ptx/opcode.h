/* Classes of opcodes, from opcode.def. Code asks for the class and keeps no lists of opcodes. The results of an
 * instruction follow from its form: smk_instruction.result_count. */
#ifndef SMK_PTX_OPCODE_H
#define SMK_PTX_OPCODE_H

#include "ptx/module.h"

typedef enum smk_class {
#define SMK_PTX_CLASS(id, meaning) SMK_CLASS_##id,
#include "ptx/opcode.def"
} smk_class;

/* By opcode, a smk_class; of SMK_OPCODE_NONE: ALU. */
extern const uint8_t smk_opcode_classes[SMK_OPCODE_COUNT];

static inline smk_class smk_opcode_class(const smk_instruction *instruction)
{
    return (smk_class)smk_opcode_classes[instruction->opcode];
}

/* Whether an instruction loads, stores or updates memory by lanes; copies (cp.async) are apart. */
static inline bool smk_opcode_accesses(const smk_instruction *instruction)
{
    smk_class class = smk_opcode_class(instruction);
    return class == SMK_CLASS_LOAD || class == SMK_CLASS_STORE || class == SMK_CLASS_ATOMIC;
}

/* Whether an instruction loads or stores whole matrices: 8 lanes a matrix access a row of 16 bytes each. */
static inline bool smk_opcode_moves_matrices(const smk_instruction *instruction)
{
    return instruction->opcode == SMK_OPCODE_LDMATRIX || instruction->opcode == SMK_OPCODE_STMATRIX;
}

#endif
