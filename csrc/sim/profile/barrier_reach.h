/* Which barriers order accesses of different threads. A barrier is needed where a thread passes it between an access of
 * another thread and its own, to one word, one of them a write. Where several barriers lie between the two, the last one
 * counts as needed: so all barriers that are not needed can be removed together.
 *
 * Shared memory is followed word by word. Global memory is followed by allocation: an access behind a barrier that
 * follows an access of the block to the same allocation needs the barrier, if one of them writes. What is not followed
 * (atomics and fences that other blocks may see, generic addresses, barriers of some threads) makes all barriers
 * needed.
 *
 * The barriers of one source line are one (a compiler makes several of one that stands in a loop). A block is not
 * followed where all barriers of the kernel have proved to be needed. */
#ifndef SMK_SIM_PROFILE_BARRIER_REACH_H
#define SMK_SIM_PROFILE_BARRIER_REACH_H

#include "sim/code/observer.h"
#include "sim/exec/block.h"

#include <stdbool.h>
#include <stdint.h>

/* Between which threads a barrier orders accesses, in rising order. */
typedef enum smk_barrier_reach_kind {
    SMK_BARRIER_REACH_NONE,
    SMK_BARRIER_REACH_LANES,   /* of one warp: __syncwarp() would do */
    SMK_BARRIER_REACH_THREADS, /* of several warps; or it is not known */
} smk_barrier_reach_kind;

enum { SMK_BARRIER_REACH_ALLOCATIONS = 16 };

/* Accesses of the present block to a word. The last writer, and the last one before it that is another thread, with the
 * epochs of their last writes; who has read it since, with the epochs of the first read and of the last one. */
typedef struct smk_barrier_reach_word {
    uint32_t first; /* epoch of the first access; before the block's first epoch: the rest is of an earlier block */
    uint32_t written[2], read_first, read_last;
    uint16_t writer[2], reader, reading_warp; /* thread or warp, ABSENT or SEVERAL */
} smk_barrier_reach_word;

typedef struct smk_barrier_reach_allocation {
    const void *allocation;
    uint32_t written, read; /* epochs of the block's first write and read; 0: none */
} smk_barrier_reach_allocation;

/* The state of one host thread. An epoch is the number of barriers that a warp has passed; each block begins with one
 * that no earlier block had. */
typedef struct smk_barrier_reach {
    smk_barrier_reach_word *word; /* of shared memory */
    uint32_t words;
    uint32_t base, top;            /* first and last epoch of the block */
    uint32_t epoch[SMK_WARP_SIZE]; /* by warp */
    uint32_t *site;                /* by epoch since base: the barrier that begins it */
    uint32_t sites;
    uint8_t *reach; /* by barrier, smk_barrier_reach_kind */
    uint32_t barriers;
    smk_barrier_reach_allocation allocation[SMK_BARRIER_REACH_ALLOCATIONS];
    bool follows; /* the present block */
    bool unknown; /* all barriers are needed */
} smk_barrier_reach;

/* False: no memory. */
bool smk_barrier_reach_open(smk_barrier_reach *state, uint32_t shared_bytes, uint32_t barriers);
void smk_barrier_reach_close(smk_barrier_reach *state);

void smk_barrier_reach_begin(smk_barrier_reach *state);
void smk_barrier_reach_arrive(smk_barrier_reach *state, const smk_warp *warp, const smk_instruction *barrier,
                              uint32_t number); /* below `barriers` */

/* An access; `bytes` a lane, `shift` bytes behind the event's addresses. */
void smk_barrier_reach_note(smk_barrier_reach *state, const smk_warp *warp, const smk_access_event *event,
                            unsigned bytes, int shift, const smk_instruction *instruction);

#endif
