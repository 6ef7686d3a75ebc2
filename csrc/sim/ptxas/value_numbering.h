/* What is known of a function's integer values: trailing zero bits, and which are one base plus constants. */
#ifndef SMK_SIM_PTXAS_VALUE_NUMBERING_H
#define SMK_SIM_PTXAS_VALUE_NUMBERING_H

#include "sim/ptxas/cfg.h"

#include <stdbool.h>
#include <stdint.h>

/* base + offset. Equal bases are equal values; base 0 is the number zero. */
typedef struct smk_value_number {
    uint32_t base;
    int64_t offset;
} smk_value_number;

typedef struct smk_value_numbering smk_value_numbering;

/* Errors: MEMORY. */
smk_status smk_value_numbering_create(const smk_module *module, const smk_function *function,
                                      smk_value_numbering **align, smk_error *error);
void smk_value_numbering_free(smk_value_numbering *align); /* accepts NULL */

/* Where a kernel's shared variables lie, plus 1, as image.c and ptxas lay them out; by variable, 0 for others. */
void smk_shared_layout_find(const smk_module *module, const smk_function *function, uint32_t *shared_offset);

/* Code that can be entered from elsewhere begins: registers with several definitions are not those of before. */
void smk_value_numbering_begin(smk_value_numbering *align);

/* The instruction's results get their values. Instructions are passed in program order. */
void smk_value_numbering_pass(smk_value_numbering *align, uint32_t instruction);

/* The address of an ADDRESS operand, before the present instruction is passed. */
smk_value_number smk_value_numbering_address(smk_value_numbering *align, const smk_operand *operand);

/* Trailing zero bits that a base is known to have. */
unsigned smk_value_numbering_zeros(const smk_value_numbering *align, uint32_t base);

/* An access proves zeros of a base where its block has run; what is kept is the first block's. */
void smk_value_numbering_prove(smk_value_numbering *align, uint32_t base, uint32_t block, unsigned zeros);
unsigned smk_value_numbering_get_proved(const smk_value_numbering *align, uint32_t base, uint32_t *block);

/* Before the instructions are passed once more: bases stay what they are. */
void smk_value_numbering_restart(smk_value_numbering *align);

/* False after memory ran out: then values mean nothing. */
bool smk_value_numbering_good(const smk_value_numbering *align);

/* Is the value of this register ever needed? */
bool smk_value_numbering_is_read(const smk_value_numbering *align, uint32_t reg);

/* Have all lanes of a warp surely the same base? */
bool smk_value_numbering_is_uniform(const smk_value_numbering *align, uint32_t base);

/* Calls `visit` with each register that the instruction writes. */
void smk_value_numbering_visit_writes(const smk_instruction *instruction, void (*visit)(void *context, uint32_t reg),
                                      void *context);

#endif
