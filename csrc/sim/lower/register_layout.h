/* The layout of a function's frame: rows of registers (shared by registers that are never live at the same time), then
 * rows of constants and special registers. */
#ifndef SMK_SIM_LOWER_REGISTER_LAYOUT_H
#define SMK_SIM_LOWER_REGISTER_LAYOUT_H

#include "base/arena.h"
#include "base/status.h"
#include "sim/code/image.h"
#include "sim/ptxas/cfg.h"

#include <stdbool.h>
#include <stdint.h>

/* Calls `visit` for each register that the instruction reads, including its guard, or writes. */
void smk_register_layout_visit(const smk_instruction *instruction,
                               void (*visit)(void *context, uint32_t register_index, bool writes), void *context);

typedef struct smk_register_layout {
    uint32_t *offset;       /* of each register's row */
    uint32_t bytes;         /* of all of them */
    smk_row_range *cleared; /* rows that may be read before they are written */
    uint32_t cleared_count;
} smk_register_layout;

/* Lays out the registers of a function. Errors: MEMORY, UNSUPPORTED (128-bit registers). */
smk_status smk_register_layout_assign(const smk_function *function, const smk_cfg *cfg, smk_arena *arena,
                                      smk_register_layout *rows, smk_error *error);

/* The rows behind the registers, added as lowering needs them. */
typedef struct smk_constant_rows smk_constant_rows;

smk_constant_rows *smk_constant_rows_create(uint32_t offset);  /* NULL: no memory */
void smk_constant_rows_free(smk_constant_rows *constant_rows); /* accepts NULL */

/* The row of a value in all lanes, of a special register, and a scratch row (the `index`-th of that width). */
uint32_t smk_constant_rows_value(smk_constant_rows *constant_rows, unsigned bits, uint64_t value);
uint32_t smk_constant_rows_special(smk_constant_rows *constant_rows, smk_special special);
uint32_t smk_constant_rows_scratch(smk_constant_rows *constant_rows, unsigned bits, unsigned index);

/* A row of 32 bits that nothing else uses, and that each call of the function clears: the tops of the lanes' stacks. */
uint32_t smk_constant_rows_stack(smk_constant_rows *constant_rows);
bool smk_constant_rows_has_stack(const smk_constant_rows *constant_rows);

/* Moves the rows to `code`. False: there was no memory, now or in an earlier call. */
bool smk_constant_rows_finish(smk_constant_rows *constant_rows, smk_arena *arena, smk_code *code);

#endif
