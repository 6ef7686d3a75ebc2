/* The PTX instructions atom and red. */
#ifndef SMK_SIM_EXEC_ATOMIC_H
#define SMK_SIM_EXEC_ATOMIC_H

#include "sim/code/operation.h"

#include <stdbool.h>

/* The handler of every form that opcode.def accepts. Fields: `a` row of 64-bit addresses, u.immediate added to each; `b`
 * row of the operand, `c` of the second (cas: the new value); `d` row of the old value; `element` the smk_type, `count`
 * the smk_modifier of the operation, `slot` the entry of control->allocation_cache, d2 the smk_space. */
const smk_operation *smk_atomic_run(smk_warp *warp, const smk_operation *op);

/* The same of vectors and of 128 bits, with rows in the operation behind it, which is not executed: atomic.c. */
const smk_operation *smk_atomic_run_vector(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_atomic_run_wide(smk_warp *warp, const smk_operation *op);

/* Updates a word of a surface as an atomic of global memory does. `alone`: no other host thread runs. */
void smk_atomic_update(unsigned char *host, unsigned bytes, bool alone, smk_modifier operation, smk_type type,
                       uint64_t value);

/* Does the final value not depend on the order of such updates? */
bool smk_atomic_commutes(const smk_instruction *instruction);

#endif
