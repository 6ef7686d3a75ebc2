/* What is known of a function's integer values: trailing zero bits, and which are one base plus constants. */
#ifndef SMK_SIM_PTXAS_VALUE_NUMBERING_H
#define SMK_SIM_PTXAS_VALUE_NUMBERING_H

#include "sim/ptxas/cfg.h"

#include <stdbool.h>
#include <stdint.h>

/* base + offset. Equal bases are equal values; base 0 is the number zero. */
typedef struct smk_align_value {
    uint32_t base;
    int64_t offset;
} smk_align_value;

typedef struct smk_align smk_align;

/* Errors: MEMORY. */
smk_status smk_align_create(const smk_module *module, const smk_function *function, smk_align **align,
                            smk_error *error);
void smk_align_free(smk_align *align); /* accepts NULL */

/* Where a kernel's shared variables lie, plus 1, as image.c and ptxas lay them out; by variable, 0 for others. */
void smk_align_lay_out(const smk_module *module, const smk_function *function, uint32_t *place);

/* Code that can be entered from elsewhere begins: registers with several definitions are not those of before. */
void smk_align_begin(smk_align *align);

/* The instruction's results get their values. Instructions are passed in program order. */
void smk_align_pass(smk_align *align, uint32_t instruction);

/* The address of an ADDRESS operand, before the present instruction is passed. */
smk_align_value smk_align_address(smk_align *align, const smk_operand *operand);

/* Trailing zero bits that a base is known to have. */
unsigned smk_align_zeros(const smk_align *align, uint32_t base);

/* An access proves zeros of a base where its block has run; what is kept is the first block's. */
void smk_align_prove(smk_align *align, uint32_t base, uint32_t block, unsigned zeros);
unsigned smk_align_get_proved(const smk_align *align, uint32_t base, uint32_t *block);

/* Before the instructions are passed once more: bases stay what they are. */
void smk_align_restart(smk_align *align);

/* False after memory ran out: then values mean nothing. */
bool smk_align_good(const smk_align *align);

/* Is the value of this register ever needed? */
bool smk_align_is_read(const smk_align *align, uint32_t reg);

/* Have all lanes of a warp surely the same base? */
bool smk_align_is_uniform(const smk_align *align, uint32_t base);

/* Calls `visit` with each register that the instruction writes. */
void smk_align_visit_writes(const smk_instruction *instruction, void (*visit)(void *context, uint32_t reg),
                            void *context);

#endif
