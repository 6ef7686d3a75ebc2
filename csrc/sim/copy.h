/* What a warp's cp.async costs in shared memory: source and target both go through its banks. */
#ifndef SMK_SIM_COPY_H
#define SMK_SIM_COPY_H

#include "bank.h"

#include <stdbool.h>

/* `reads`: the lanes of `mask` that read their source; the others write zeros. `bypass`: the copy goes past the L1 cache (.cg).
 *
 * Through the cache the lanes go in phases, and in each as many at once as meet neither in a bank of the cache's line nor in one
 * of the target; a lane that waits holds its banks. Measured for 16 bytes; for 4 and 8 the hardware is sometimes better or
 * worse by a wavefront or two where both sides conflict. Past the cache whole sectors move, each into one sector of the
 * target, those of one line together; such copies know no conflicts. */
smk_bank_cost smk_copy_count(const uint64_t from[32], const uint64_t to[32], unsigned bytes, uint32_t mask,
                             uint32_t reads, bool bypass);

#endif
