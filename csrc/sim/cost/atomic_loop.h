/* Atomics on shared memory without a machine instruction, which ptxas implements as loops.
 *
 * In each round the remaining lanes load the word (LDS) and store the new value if the old one is still there
 * (ATOMS.CAST.SPIN). A phase of 32 lanes of 4 bytes, or 16 lanes of 8, lets the lowest lane of each bank through; that
 * lane fails where an earlier phase of the same round has changed its word. Floating-point additions are such loops,
 * and all operations of 8 bytes except exch and cas. A minimum or maximum tests the value first, so that lanes with
 * nothing to store leave the loop. (Evidence: tests/sim/cost/banks_h200.json, the rows of shared_*_add_u64, _f32 and
 * _f64.)
 */
#ifndef SMK_SIM_COST_ATOMIC_LOOP_H
#define SMK_SIM_COST_ATOMIC_LOOP_H

#include "sim/cost/bank.h"

/* For a minimum or maximum: the lanes' operands and the values in memory, mapped so that the greater number stays. */
typedef struct smk_atomic_loop_values {
    uint64_t given[SMK_WARP_SIZE];
    uint64_t held[SMK_WARP_SIZE];
} smk_atomic_loop_values;

typedef struct smk_atomic_loop_cost {
    uint32_t loads;      /* instructions */
    uint32_t load_lanes; /* over all of them */
    smk_bank_cost load;
    uint32_t atomics;    /* instructions */
    uint32_t wavefronts; /* of the atomics; none of them counts as a conflict */
} smk_atomic_loop_cost;

/* `bytes` is 4 or 8. `values` is NULL for operations that always store, else it is changed. The model neglects other
 * warps, and that a store of the present value makes no lane fail. */
smk_atomic_loop_cost smk_atomic_loop_count(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask,
                                           smk_atomic_loop_values *values);

#endif
