/* What a warp's cp.async costs: in shared memory, whose banks its source and its target both go through, and in global memory.
 *
 * Through the cache (.ca) the lanes go in phases, as those of a load do. A phase takes as many wavefronts as the lane with
 * the most others in its way: those that read the same bank of the cache's line or write the same bank of shared memory, on
 * whatever word; each counts once.
 *
 * Past the cache (.cg) of lanes with one target only the lowest counts. Sectors move whole into sectors, in order or with
 * their halves exchanged, and each such move is a sector of global memory. Moves of one line into one line go together where
 * they are of one kind: halves exchanged or not, to a sector at an odd distance or not, the same halves filled. Of one sector
 * a wavefront makes but one move, on either side; a move goes with the first wavefront that takes it.
 *
 * Lanes that write zeros have no source through the cache. Past it they take their place by the source address that they are
 * given, but touch no sector; and then conflicts are counted, as many as through the cache. (So it is where predicate P0 of
 * the machine code chooses them, or all lanes agree; of others two launches took more.) If the program says outright that
 * nothing is read, addresses of sources do not count.
 *
 * As an H200 counts (smsp__sass_..._op_ldgsts): tests/sim/banks_h200.json and tests/sim/copies_h200.json, where all rows of
 * .ca agree, and all but two of .cg, which the tests name. */
#ifndef SMK_SIM_COPY_H
#define SMK_SIM_COPY_H

#include "bank.h"

#include <stdbool.h>

typedef struct smk_copy_cost {
    smk_bank_cost shared;
    uint32_t sectors; /* of global memory */
} smk_copy_cost;

/* Of the lanes of `mask` those of `reads` read their source, the others write zeros. `from` NULL: none has a source. Past the
 * cache `bytes` is 16. */
smk_copy_cost smk_copy_count(const uint64_t from[32], const uint64_t to[32], unsigned bytes, uint32_t mask,
                             uint32_t reads, bool bypass);

#endif
