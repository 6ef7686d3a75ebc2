/* Value numbering by hashing (Cocke and Schwartz, "Programming Languages and Their Compilers", 1970) of a function's
 * integer values, as base + constant, and the trailing zero bits of bases. */
#ifndef SMK_SIM_PTXAS_VALUE_NUMBERING_H
#define SMK_SIM_PTXAS_VALUE_NUMBERING_H

#include "sim/ptxas/cfg.h"

#include <stdbool.h>
#include <stdint.h>

/* base + offset. Equal base numbers are equal values; base 0 is the number zero. */
typedef struct smk_value_number {
    uint32_t base;
    int64_t offset;
} smk_value_number;

typedef struct smk_value_numbering smk_value_numbering;

/* Errors: MEMORY. */
smk_status smk_value_numbering_create(const smk_module *module, const smk_function *function,
                                      smk_value_numbering **numbering, smk_error *error);
void smk_value_numbering_free(smk_value_numbering *numbering); /* accepts NULL */

/* Starts code that can be entered from several blocks: registers with several definitions get new values. */
void smk_value_numbering_begin(smk_value_numbering *numbering);

/* Numbers the results of an instruction. Instructions are passed in program order. */
void smk_value_numbering_pass(smk_value_numbering *numbering, uint32_t instruction);

/* The address of an ADDRESS operand, before the present instruction is passed. */
smk_value_number smk_value_numbering_address(smk_value_numbering *numbering, const smk_operand *operand);

/* The number of trailing zero bits that a base is known to have. */
unsigned smk_value_numbering_zeros(const smk_value_numbering *numbering, uint32_t base);

/* Records that an access in `block` proves trailing zeros of a base; the first block's proof is kept. */
void smk_value_numbering_prove(smk_value_numbering *numbering, uint32_t base, uint32_t block, unsigned zeros);
unsigned smk_value_numbering_get_proved(const smk_value_numbering *numbering, uint32_t base, uint32_t *block);

/* Starts another pass over the instructions; bases keep their numbers. */
void smk_value_numbering_restart(smk_value_numbering *numbering);

/* False after memory ran out: the values are invalid. */
bool smk_value_numbering_good(const smk_value_numbering *numbering);

/* Is the value of this register ever used? */
bool smk_value_numbering_is_read(const smk_value_numbering *numbering, uint32_t reg);

/* Do all lanes of a warp have the same base? */
bool smk_value_numbering_is_uniform(const smk_value_numbering *numbering, uint32_t base);

/* Calls `visit` with each register that the instruction writes. */
void smk_value_numbering_visit_writes(const smk_instruction *instruction, void (*visit)(void *context, uint32_t reg),
                                      void *context);

#endif
