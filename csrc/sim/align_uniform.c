#include "align.h"

enum { ROUNDS_MAX = 1 << 16 };

/* Computes its result from its operands alone. */
static bool is_plain(const smk_instruction *in)
{
    switch (in->opcode) {
    case SMK_OPCODE_MOV:
    case SMK_OPCODE_CVT:
    case SMK_OPCODE_CVTA:
    case SMK_OPCODE_ADD:
    case SMK_OPCODE_SUB:
    case SMK_OPCODE_MUL:
    case SMK_OPCODE_MAD:
    case SMK_OPCODE_MIN:
    case SMK_OPCODE_MAX:
    case SMK_OPCODE_SHL:
    case SMK_OPCODE_SHR:
    case SMK_OPCODE_AND:
    case SMK_OPCODE_OR:
    case SMK_OPCODE_XOR:
    case SMK_OPCODE_NOT:
        return true;
    case SMK_OPCODE_LD:
        return in->space == SMK_SPACE_PARAM || in->space == SMK_SPACE_CONST;
    default:
        return false;
    }
}

static bool varies_special(uint32_t index)
{
    switch (index) {
    case SMK_SPECIAL_NTID_X:
    case SMK_SPECIAL_NTID_Y:
    case SMK_SPECIAL_NTID_Z:
    case SMK_SPECIAL_CTAID_X:
    case SMK_SPECIAL_CTAID_Y:
    case SMK_SPECIAL_CTAID_Z:
    case SMK_SPECIAL_NCTAID_X:
    case SMK_SPECIAL_NCTAID_Y:
    case SMK_SPECIAL_NCTAID_Z:
        return false;
    default:
        return true;
    }
}

static bool varies_operand(const smk_operand *operand, const uint8_t *varies)
{
    const unsigned kind = operand->kind == SMK_OPERAND_ADDRESS ? operand->base_kind : operand->kind;
    switch (kind) {
    case SMK_OPERAND_REGISTER:
        return varies[operand->index] != 0;
    case SMK_OPERAND_IMMEDIATE:
    case SMK_OPERAND_VARIABLE:
        return false;
    case SMK_OPERAND_SPECIAL:
        return varies_special(operand->index);
    default:
        return true;
    }
}

typedef struct marking {
    uint8_t *varies;
    bool changed;
} marking;

static void mark(void *context, uint32_t reg)
{
    marking *m = context;
    m->changed = m->changed || m->varies[reg] == 0;
    m->varies[reg] = 1;
}

/* A register that is set in several places may hold what the way of its lane has left there. */
void smk_align_find_varying(const smk_function *function, const uint8_t *writes, uint8_t *varies)
{
    marking m = {varies, true};
    for (uint32_t i = 0; i < function->register_count; i++) {
        varies[i] = writes[i] != 1;
    }
    for (uint32_t i = 0; function->parameter_registers != NULL && i < function->result_count + function->parameter_count;
         i++) {
        if (function->parameter_registers[i] != SMK_NO_INDEX) {
            varies[function->parameter_registers[i]] = 1;
        }
    }
    for (unsigned round = 0; m.changed && round < ROUNDS_MAX; round++) {
        m.changed = false;
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const smk_instruction *in = &function->instructions[i];
            bool differs = in->guarded || !is_plain(in) || in->vector > 1;
            for (unsigned k = 1; k < in->operand_count && !differs; k++) {
                differs = varies_operand(&in->operands[k], varies);
            }
            if (differs) {
                smk_align_visit_writes(in, mark, &m);
            }
        }
    }
}
