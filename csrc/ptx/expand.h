/* Writes the instructions that a statement is short for; private to csrc/ptx. */
#ifndef SMK_PTX_EXPAND_H
#define SMK_PTX_EXPAND_H

#include "ptx/parse.h"

/* Starts an instruction with the guard and the text position of `origin`. */
void smk_expand_begin(smk_parser *parser, const smk_statement *origin, smk_opcode opcode, smk_statement *made);
void smk_expand_type(smk_statement *made, smk_type type);
void smk_expand_modifier(smk_statement *made, smk_modifier modifier);
void smk_expand_operand(smk_statement *made, smk_operand operand);
/* Verifies the instruction and adds it to the function. */
smk_status smk_expand_finish(smk_parser *parser, smk_statement *made);

/* Adds an instruction that is verified. */
smk_status smk_expand_add(smk_parser *parser, const smk_instruction *instruction);

smk_operand smk_expand_register(uint32_t index);
smk_operand smk_expand_constant(int64_t value);

/* expand_mbarrier.c: adds what an mbarrier, a cp.async.mbarrier, an st.async or a red.async stands for. */
smk_status smk_expand_mbarrier(smk_parser *parser, const smk_statement *origin);

/* expand_wmma.c: adds what a wmma.load, wmma.mma or wmma.store stands for. */
smk_status smk_expand_wmma(smk_parser *parser, const smk_statement *origin);

/* expand_float8.c: adds what an mma of 8-bit floats stands for. */
smk_status smk_expand_float8(smk_parser *parser, const smk_statement *origin);

/* expand_texture.c: replaces textures, surfaces and samplers of the module by the registers that it loads them into, and
 * adds what else the instruction stands for. *done: the instruction itself is not to be added. */
smk_status smk_expand_texture(smk_parser *parser, smk_statement *statement, bool *done);

#endif
