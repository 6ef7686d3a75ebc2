/* A running block: its warps, barriers and shared memory. A block can be resumed, and is reused for one block after
 * another. */
#ifndef SMK_SIM_EXEC_BLOCK_H
#define SMK_SIM_EXEC_BLOCK_H

#include "base/launch.h"
#include "base/status.h"
#include "sim/code/memory_view.h"
#include "sim/code/run.h"
#include "sim/exec/bulk.h"
#include "sim/exec/warp.h"

#include <stdbool.h>
#include <stdint.h>

/* The numbered barriers, and behind them that of the cluster. */
enum { SMK_BLOCK_CLUSTER_BARRIER = 16, SMK_BLOCK_BARRIERS };

/* What the blocks of a launch share. */
typedef struct smk_run {
    const smk_image *image;
    const smk_launch *launch;
    const smk_run_options *options;
    const smk_memory_view *view;
    const unsigned char *parameters;
    const struct smk_observer *observer; /* NULL where the image is not observed */
    uint32_t (*compare)(const void *row, bool narrow, uint64_t first, uint64_t step); /* smk_access_comparer */
    uint64_t grid_id;
    uint64_t grid_barrier; /* address of the word by which the blocks of a cooperative launch wait; 0: none */
    bool ordered;          /* one host thread runs the blocks, in order */
    uint32_t shared_bytes; /* static and dynamic */
    uint32_t dynamic_bytes;
} smk_run;

typedef struct smk_barrier {
    uint32_t waiting;  /* warps, one bit each */
    uint32_t arrivals; /* arrivals of warps, waiting or not */
    uint32_t expected; /* threads; 0: all of the block */
    uint32_t trues;    /* threads with a true predicate, and all threads that arrived */
    uint32_t voters;
} smk_barrier;

typedef enum smk_block_state { SMK_BLOCK_RUNNING, SMK_BLOCK_DONE, SMK_BLOCK_FAILED } smk_block_state;

typedef struct smk_block {
    const smk_run *run;
    uint32_t index[3];
    uint64_t number; /* in launch order: x fastest */
    uint64_t steps;  /* of the block */
    uint32_t warp_count;
    uint32_t ready;               /* warps that can run, one bit each */
    uint32_t live;                /* warps that have not ended */
    uint32_t cursor;              /* the warp whose turn it is */
    uint64_t next_livelock_check; /* steps at which to test for a livelock (livelock.h) */
    uint64_t clock_ahead;   /* by which clocks are ahead of the steps (smk_livelock_pass_time, smk_control_clock) */
    uint64_t clock_stopped; /* what clocks say while a test for a livelock runs; 0: they go on */
    bool clock_waits;       /* a wait that the last test has seen reads a clock */
    uint64_t most_steps;    /* steps at which the block is stopped; UINT64_MAX: never */
    uint64_t bad_accesses;  /* invalid accesses that were left out and led to that limit */
    bool apart;             /* a path of one of its warps has stepped aside (independent.h) */
    bool pause;             /* a handler took long: let the host check the time, then go on with the same warp */
    smk_warp warp[SMK_SIM_BLOCK_THREADS_MAX / SMK_WARP_SIZE];
    smk_warp_control *control; /* of each warp */
    unsigned char *registers;
    unsigned char *shared;
    size_t control_room, registers_room, shared_room; /* bytes of these three */
    smk_cached_allocation allocation_cache[SMK_WARP_CACHE_SIZE];
    smk_barrier barrier[SMK_BLOCK_BARRIERS];
    smk_error error;
    uint64_t *counters;   /* of coverage; NULL where the image does not count it */
    void *observer_state; /* the observer's, where there is one */
    smk_bulk *bulk;       /* copies of cp.async.bulk; NULL: there was none */
} smk_block;

smk_status smk_block_create(const smk_run *run, smk_block **block, smk_error *error);
void smk_block_free(smk_block *block); /* accepts NULL */

/* Starts the block of that number. */
void smk_block_start(smk_block *block, uint64_t number);

/* Runs for about `steps` more warp instructions. FAILED: block->error says why. */
smk_block_state smk_block_run(smk_block *block, uint64_t steps);

/* Records that a warp has ended, for which barriers may wait. */
void smk_block_leave(smk_block *block, uint32_t warp);

/* Releases the warps that wait at a barrier if all have arrived (smk_barrier_deliver gives them their results). */
void smk_block_release(smk_block *block, uint32_t barrier);

#endif
