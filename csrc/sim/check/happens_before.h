/* Happens-before between the threads of a block, and between blocks that can wait for each other (Lamport, "Time,
 * Clocks, and the Ordering of Events in a Distributed System", 1978), by the release and acquire patterns of PTX's
 * memory model.
 *
 * A block has a logical time that only grows: it ticks at each synchronisation, and each access is stamped with it.
 * Barriers and warp synchronisation are tracked per warp: for each warp the time up to which it is ordered after each
 * other warp of its block (warp_clock), and for each lane after each other lane of its warp (lane_clock). Fences and
 * strong accesses are tracked per lane, with vector clocks (clock.h): what the lane has acquired beyond that (clock),
 * what its fences have prepared for release (fenced), and what its strong reads have observed and its next fence
 * acquires (unfenced). A strong write releases to its address; an atomic operation adds to what is released there, and
 * any other write replaces it.
 *
 * Scopes: an access or fence of block scope (.cta) orders threads of one block only; wider scopes are treated alike,
 * as device scope. What threads have fenced before a barrier is released to all threads that wait there, which is more
 * than the memory model promises and what programs rely on.
 */
#ifndef SMK_SIM_CHECK_HAPPENS_BEFORE_H
#define SMK_SIM_CHECK_HAPPENS_BEFORE_H

#include "base/status.h"
#include "sim/check/clock.h"

#include <stdbool.h>
#include <stdint.h>

enum { SMK_HAPPENS_BEFORE_WARPS = SMK_CLOCK_WARPS, SMK_HAPPENS_BEFORE_BARRIERS = 17 };

/* Clocks of a lane, or of all lanes that have arrived at a barrier. A released clock includes the lane's own
 * operations up to the time beside it. */
typedef struct smk_happens_before_lane {
    smk_clock *clock;
    smk_clock *fenced_block, *fenced_device; /* released by its next strong write, with block and device scope */
    uint32_t fenced_block_time, fenced_device_time;
    smk_clock *unfenced_block, *unfenced_device; /* acquired by its next fence */
    uint64_t release_address;                    /* of the last release operation */
    uint64_t read_address;                       /* of the last relaxed read */
    smk_clock *release_clock, *read_block, *read_device;
    uint32_t release_time; /* 0: no release operation yet */
    bool release_device;
} smk_happens_before_lane;

/* What has been released to an address. */
typedef struct smk_happens_before_word {
    uint64_t address;
    uint32_t block;                      /* of the last strong write */
    bool used, block_scope;              /* block_scope: of that write */
    smk_clock *device_clock;             /* released to the device; in shared memory to the block */
    struct smk_block_clock *block_clock; /* of global memory: what a block has released to itself, sorted by block */
    uint32_t block_clock_count, block_clock_capacity;
} smk_happens_before_word;

typedef struct smk_block_clock {
    uint32_t block;
    smk_clock *clock;
} smk_block_clock;

typedef struct smk_happens_before_words {
    smk_happens_before_word *word;
    uint32_t count, capacity;
} smk_happens_before_words;

/* What the blocks of a launch share; NULL where they cannot wait for each other. */
typedef struct smk_happens_before_launch {
    smk_clock_space space;
    smk_happens_before_words words; /* of global memory */
    bool block_scope;               /* the program has accesses or fences of block scope */
} smk_happens_before_launch;

/* Clocks of the warps that have arrived at a barrier. */
typedef struct smk_happens_before_arrived {
    uint32_t warp[SMK_HAPPENS_BEFORE_WARPS];
    smk_happens_before_lane lane;
} smk_happens_before_arrived;

typedef struct smk_happens_before {
    uint32_t now;   /* the present time, from 1 */
    uint32_t begin; /* time at which this block started */
    uint32_t base;  /* accesses up to this time happen before all that follow */
    uint32_t block;
    uint32_t copies_first; /* this + block: a block whose lanes stand for mbarriers (smk_happens_before_land) */
    uint32_t warp_count;
    uint32_t warp_clock[SMK_HAPPENS_BEFORE_WARPS][SMK_HAPPENS_BEFORE_WARPS]; /* [warp][other warp] */
    uint32_t last[SMK_HAPPENS_BEFORE_WARPS];                                 /* time of the last access of a warp */
    uint32_t synced[SMK_HAPPENS_BEFORE_WARPS]; /* up to this time the lanes of a warp are ordered */
    uint32_t (*lane_clock)[32][32];            /* [warp][lane][other lane] */
    smk_happens_before_lane (*lane)[32];       /* [warp]; NULL: the program has no such operation */
    uint32_t touched;                          /* warps whose lanes hold clocks */
    smk_happens_before_arrived arrived[SMK_HAPPENS_BEFORE_BARRIERS];
    smk_clock_space space;
    smk_happens_before_launch *launch;
    smk_happens_before_words words; /* of shared memory */
    bool failed;
} smk_happens_before;

/* A strong access of a lane. */
typedef struct smk_happens_before_access {
    uint32_t warp, lane;
    uint64_t address;
    bool shared, block_scope, acquire, release, atomic;
} smk_happens_before_access;

/* Scope and direction of a fence. */
typedef struct smk_fence_kind {
    bool block_scope, acquires, releases;
} smk_fence_kind;

/* `synchronizes`: the program has fences, or accesses that release or acquire. */
smk_status smk_happens_before_create(smk_happens_before *order, uint32_t warp_count, smk_happens_before_launch *launch,
                                     bool synchronizes, smk_error *error);
void smk_happens_before_free(smk_happens_before *order);
void smk_happens_before_launch_free(smk_happens_before_launch *launch);
bool smk_happens_before_is_failed(const smk_happens_before *order);

void smk_happens_before_begin(smk_happens_before *order, uint64_t block);
void smk_happens_before_arrive(smk_happens_before *order, uint32_t warp, uint32_t barrier);
void smk_happens_before_leave(smk_happens_before *order, uint32_t barrier, uint32_t waited, uint32_t live);
/* `all`: the warp has no other lanes than those of `mask`. */
void smk_happens_before_sync_warp(smk_happens_before *order, uint32_t warp, uint32_t mask, bool all);
void smk_happens_before_fence(smk_happens_before *order, uint32_t warp, uint32_t mask, smk_fence_kind kind);

/* Strong accesses. An atomic operation is a read followed by a write. smk_happens_before_tick ends a release
 * operation. */
void smk_happens_before_read(smk_happens_before *order, const smk_happens_before_access *access);
void smk_happens_before_write(smk_happens_before *order, const smk_happens_before_access *access);
void smk_happens_before_tick(smk_happens_before *order);
/* A weak write. */
void smk_happens_before_overwrite(smk_happens_before *order, bool shared, uint64_t address);

static inline bool smk_happens_before_has_words(const smk_happens_before *order, bool shared)
{
    return shared ? order->words.count > 0 : order->launch != NULL && order->launch->words.count > 0;
}

/* The bytes of a copy have landed that an mbarrier counts: they are released to its word, beside what threads release
 * there. `blocks` are those of the launch. */
void smk_happens_before_expect_copies(smk_happens_before *order, uint64_t blocks);
void smk_happens_before_land(smk_happens_before *order, uint64_t barrier);
/* Has the lane acquired what landed at that time? */
bool smk_happens_before_is_landed(const smk_happens_before *order, uint64_t barrier, uint32_t time, uint32_t warp,
                                  uint32_t lane);

/* The same by the lane's vector clock alone; `block` may be another block. */
bool smk_happens_before_by_clock(const smk_happens_before *order, uint32_t block, uint32_t other_warp,
                                 uint32_t other_lane, uint32_t time, uint32_t warp, uint32_t lane);

/* Does the access of `other_lane` of `other_warp` at `time` happen before what `lane` of `warp` does now? */
static inline bool smk_happens_before_holds(const smk_happens_before *order, uint32_t other_warp, uint32_t other_lane,
                                            uint32_t time, uint32_t warp, uint32_t lane)
{
    if (time <= order->base) {
        return true;
    }
    if (other_warp != warp
            ? time <= order->warp_clock[warp][other_warp]
            : other_lane == lane || time <= order->synced[warp] || time <= order->lane_clock[warp][lane][other_lane]) {
        return true;
    }
    return (order->touched >> warp & 1) != 0 &&
           smk_happens_before_by_clock(order, order->block, other_warp, other_lane, time, warp, lane);
}

#endif
