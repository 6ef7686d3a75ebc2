/* The cost of a warp's cp.async in shared memory, where source and target both pass the banks, and in global memory.
 *
 * Through the cache (.ca) the lanes go in phases, as those of a load do. A phase takes as many wavefronts as the lane
 * with the most conflicting lanes has: lanes conflict that read the same bank of a cache line or write the same bank
 * of shared memory, whatever the word; each lane counts once.
 *
 * Past the cache (.cg) only the lowest of the lanes with one target counts. Each lane moves a piece: half of a sector
 * to half of a sector. All pieces between the same two sectors, in order or with halves exchanged, count as one sector
 * of global memory. Pieces are alike if they move between the same two lines and both exchange halves or neither.
 * Alike pieces go in rounds, the last lanes first: a round takes each 16 bytes of the source once. The pieces of a
 * round between the same two sectors are one move. Of the moves that fill the same halves, those to sectors at an even
 * distance are one wavefront, and those at an odd distance another. (Open: pieces whose moves fill other halves wait
 * for each other here as well; no recorded launch decides whether they do.)
 *
 * Lanes that write zeros have no source. If there are any, all lanes of the copy pass the banks also past the cache,
 * once more than those that read: wavefronts and conflicts are increased by those that the copy has through the cache.
 * The same goes for each copy past the cache whose size the compiler does not know to be 0 or 16 (LDGSTS with .ZFILL),
 * whether lanes write zeros or not.
 *
 * The model reproduces the counts of an H200 (smsp__sass_..._op_ldgsts) in tests/sim/cost/banks_h200.json and
 * tests/sim/cost/copies_h200.json, except for one flaw of that metric: if predicate P0 of the machine code selects
 * zeros past the cache, the metric counts wavefronts as if P0 were false in all lanes.
 */
#ifndef SMK_SIM_COST_ASYNC_COST_H
#define SMK_SIM_COST_ASYNC_COST_H

#include "sim/cost/bank.h"

typedef enum smk_async_way {
    SMK_ASYNC_CACHED, /* through the cache */
    SMK_ASYNC_BYPASS,
    SMK_ASYNC_BYPASS_ZFILL
} smk_async_way;

typedef struct smk_async_cost {
    smk_bank_cost shared;
    uint32_t sectors; /* of global memory */
} smk_async_cost;

/* The lanes of `mask` that are in `reads` read their source, the others write zeros. `from` NULL: no lane has a
 * source. Past the cache `bytes` is 16. */
smk_async_cost smk_async_cost_count(const uint64_t from[SMK_WARP_SIZE], const uint64_t to[SMK_WARP_SIZE],
                                    unsigned bytes, uint32_t mask, uint32_t reads, smk_async_way way);

#endif
