/* What a warp's cp.async costs: in shared memory, whose banks its source and its target both go through, and in
 * global memory.
 *
 * Through the cache (.ca) the lanes go in phases, as those of a load do. A phase takes as many wavefronts as the
 * lane with the most others in its way: those that read the same bank of the cache's line or write the same bank of
 * shared memory, on whatever word; each counts once.
 *
 * Past the cache (.cg) of lanes with one target only the lowest counts. Each lane moves a piece: half of a sector
 * into half of a sector. What moves from one sector into one sector, in order or with halves exchanged, is a sector
 * of global memory. Pieces are alike if they go from one line into one line and exchange halves or not. Those that
 * are alike go in rounds, the last lanes first: a round takes each 16 bytes of the source once. What of a round goes
 * from one sector into one sector is one move. Of the moves that fill the same halves those to sectors at an even
 * distance are one wavefront, and so are those at an odd one. (Open: pieces whose moves fill other halves wait for
 * each other here as well; no recorded launch tells whether they do.)
 *
 * Lanes that write zeros have no source. If there are any, all lanes of the copy go through the banks also past the
 * cache, once more than those that read: as many wavefronts and conflicts are added as the copy has through the
 * cache.
 *
 * As an H200 counts (smsp__sass_..._op_ldgsts): tests/sim/cost/banks_h200.json, tests/sim/cost/copies_h200.json. All
 * rows agree but for one flaw of that metric: if predicate P0 of the machine code chooses zeros past the cache, it
 * counts wavefronts as if P0 were false in all lanes. A size past the cache that is not 0 or 16 as the compiler sees
 * it (LDGSTS with .ZFILL) is not understood: five launches, of whatever sizes, took the wavefronts of all lanes
 * twice. */
#ifndef SMK_SIM_COST_ASYNC_COST_H
#define SMK_SIM_COST_ASYNC_COST_H

#include "sim/cost/bank.h"

#include <stdbool.h>

typedef struct smk_async_cost {
    smk_bank_cost shared;
    uint32_t sectors; /* of global memory */
} smk_async_cost;

/* Of the lanes of `mask` those of `reads` read their source, the others write zeros. `from` NULL: none has a source.
 * Past the cache `bytes` is 16. */
smk_async_cost smk_async_cost_count(const uint64_t from[SMK_WARP_SIZE], const uint64_t to[SMK_WARP_SIZE],
                                    unsigned bytes, uint32_t mask, uint32_t reads, bool bypass);

#endif
