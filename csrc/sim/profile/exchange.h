/* Which barriers order accesses of different threads. A barrier is needed where a thread passes it between an access of
 * another thread and its own, to one word, one of them a write. Where several barriers lie between the two, the last one
 * counts as needed: so all barriers that are not needed can be removed together.
 *
 * Shared memory is followed word by word. Global memory is followed by allocation: an access behind a barrier that
 * follows an access of the block to the same allocation needs the barrier, if one of them writes. What is not followed
 * (atomics and fences that other blocks may see, generic addresses, barriers of some threads) makes all barriers
 * needed.
 *
 * A block is not followed where all barriers of the blocks before it proved to be needed; what barriers it has beside
 * them count as needed. */
#ifndef SMK_SIM_PROFILE_EXCHANGE_H
#define SMK_SIM_PROFILE_EXCHANGE_H

#include "sim/code/observer.h"
#include "sim/exec/block.h"

#include <stdbool.h>
#include <stdint.h>

/* Between which threads a barrier orders accesses, in rising order. */
typedef enum smk_exchange_reach {
    SMK_EXCHANGE_NONE,
    SMK_EXCHANGE_LANES,   /* of one warp: __syncwarp() would do */
    SMK_EXCHANGE_THREADS, /* of several warps; or it is not known */
} smk_exchange_reach;

enum { SMK_EXCHANGE_ALLOCATIONS = 16, SMK_EXCHANGE_SITES = 64 };

/* Accesses of the present block to a word. The last writer, and the last one before it that is another thread, with the
 * epochs of their last writes; who has read it since, with the epochs of the first read and of the last one. */
typedef struct smk_exchange_word {
    uint32_t first; /* epoch of the first access; before the block's first epoch: the rest is of an earlier block */
    uint32_t written[2], read_first, read_last;
    uint16_t writer[2], reader, reading_warp; /* thread or warp, NOBODY or SEVERAL */
} smk_exchange_word;

typedef struct smk_exchange_allocation {
    const void *allocation;
    uint32_t written, read; /* epochs of the block's first write and read; 0: none */
} smk_exchange_allocation;

/* The state of one host thread. An epoch is the number of barriers that a warp has passed; each block begins with one
 * that no earlier block had. */
typedef struct smk_exchange {
    smk_exchange_word *word; /* of shared memory */
    uint32_t words;
    uint32_t base, top;            /* first and last epoch of the block */
    uint32_t epoch[SMK_WARP_SIZE]; /* by warp */
    uint32_t *site;                /* by epoch since base: id of the barrier that begins it */
    uint32_t sites;
    uint8_t *reach; /* by instruction id, smk_exchange_reach; not this state's own */
    smk_exchange_allocation allocation[SMK_EXCHANGE_ALLOCATIONS];
    uint32_t seen[SMK_EXCHANGE_SITES]; /* ids of barriers */
    uint32_t seen_count;
    bool follows; /* the present block */
    bool unknown; /* all barriers are needed */
} smk_exchange;

/* `reach` has a row for each instruction id; NULL: the kernel has no barriers. False: no memory. */
bool smk_exchange_open(smk_exchange *exchange, uint32_t shared_bytes, uint8_t *reach);
void smk_exchange_close(smk_exchange *exchange);

void smk_exchange_begin(smk_exchange *exchange);
void smk_exchange_arrive(smk_exchange *exchange, const smk_warp *warp, const smk_instruction *barrier, uint32_t id);

/* An access; `bytes` a lane, `shift` bytes behind the event's addresses. */
void smk_exchange_note(smk_exchange *exchange, const smk_warp *warp, const smk_access_event *event, unsigned bytes,
                       int shift, const smk_instruction *instruction);

#endif
