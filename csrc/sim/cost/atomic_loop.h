/* Atomics on shared memory that the machine has no instruction for: ptxas makes loops of them.
 *
 * In each round the lanes that are left load what the memory holds (LDS) and store the new value if the old one is
 * still there (ATOMS.CAST.SPIN). A phase of 32 lanes of 4 bytes, or 16 of 8, lets the lowest lane of each bank
 * through; it fails where an earlier phase of the same round has changed its word. Additions of floating numbers are
 * such loops, and all of 8 bytes but exch and cas. A minimum or maximum looks at the value first: lanes that have
 * nothing to store leave. (Evidence: tests/sim/cost/banks_h200.json, the rows of shared_*_add_u64, _f32 and _f64.)
 */
#ifndef SMK_SIM_COST_ATOMIC_LOOP_H
#define SMK_SIM_COST_ATOMIC_LOOP_H

#include "sim/cost/bank.h"

/* Of a minimum or maximum: what the lanes bring and what the memory holds, as numbers of which the greater is to
 * stay. */
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

/* `bytes` is 4 or 8. `values` are NULL for what always stores, and else are changed. What other warps do meanwhile,
 * and that a store of what is there already fails nobody, is left out. */
smk_atomic_loop_cost smk_atomic_loop_count(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask,
                                           smk_atomic_loop_values *values);

#endif
