/* Happens-before among the threads of a block, and between blocks that wait for each other.
 *
 * A block has one time that only grows: it ticks whenever something orders threads, and each access is stamped with
 * it. What barriers and warp synchronisation order is kept by warp: up to which time a warp knows each other warp of
 * its block, and its lanes each other. What fences and strong accesses order (release and acquire of PTX's memory
 * model) is kept by lane, as clocks (clock.h): what a lane knows beyond that, what a fence has made ready to be
 * released, what a strong read has seen and a fence will make known. A strong write releases at its address, an
 * atomic operation on top of what is there already; a write that is neither ends what was released there.
 *
 * Scopes: an access or fence is `near` where its scope is the block. What is near orders threads of one block only.
 * Fences before a barrier release for all who meet there: that is more than the model says, and what programs rely on.
 */
#ifndef SMK_SIM_CHECK_HAPPENS_BEFORE_H
#define SMK_SIM_CHECK_HAPPENS_BEFORE_H

#include "base/status.h"
#include "sim/check/clock.h"

#include <stdbool.h>
#include <stdint.h>

enum { SMK_HAPPENS_BEFORE_WARPS = SMK_CLOCK_WARPS, SMK_HAPPENS_BEFORE_BARRIERS = 16 };

/* Clocks of a lane, or of what lanes bring to a barrier. Own doings up to a time go with a clock that is released. */
typedef struct smk_happens_before_lane {
    smk_clock *clock;
    smk_clock *fenced_block, *fenced_device; /* its next strong write releases them: fenced for the block, and beyond it */
    uint32_t fenced_block_time, fenced_device_time;
    smk_clock *unfenced_block, *unfenced_device; /* known after the next fence */
    uint64_t release_address, read_address;   /* the address of the last release operation, and of the last relaxed read */
    smk_clock *release_clock, *read_block, *read_device;
    uint32_t release_time; /* 0: no release operation yet */
    bool release_device;
} smk_happens_before_lane;

/* What was released at an address. */
typedef struct smk_happens_before_word {
    uint64_t address;
    uint32_t block; /* of the last strong write */
    bool used, block_scope; /* near: that write is */
    smk_clock *device_clock;  /* for all; of shared memory: for the block */
    struct smk_block_clock *block_clock; /* of global memory: by near releases too, for the block they are of */
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
    bool block_scope;             /* there are accesses or fences whose scope is the block */
} smk_happens_before_launch;

/* What warps have brought to a barrier so far. */
typedef struct smk_happens_before_arrived {
    uint32_t warp[SMK_HAPPENS_BEFORE_WARPS];
    smk_happens_before_lane lane;
} smk_happens_before_arrived;

typedef struct smk_happens_before {
    uint32_t now;   /* stamp of what happens now; from 1 */
    uint32_t begin; /* first stamp of this block */
    uint32_t base;  /* what has a stamp up to here lies before everything that comes */
    uint32_t block;
    uint32_t warp_count;
    uint32_t warp_clock[SMK_HAPPENS_BEFORE_WARPS][SMK_HAPPENS_BEFORE_WARPS]; /* [warp][of]; its own is not used */
    uint32_t last[SMK_HAPPENS_BEFORE_WARPS];                   /* access of a warp */
    uint32_t synced[SMK_HAPPENS_BEFORE_WARPS];                   /* up to here all lanes of a warp know each other */
    uint32_t (*lane_clock)[32][32];                        /* [warp][lane that knows][of] */
    smk_happens_before_lane (*lane)[32];                       /* [warp]; NULL where nothing releases or acquires */
    uint32_t touched;                                 /* warps whose lanes hold clocks */
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

/* `synchronizes`: something in the program releases or acquires, that is, there are fences. */
smk_status smk_happens_before_create(smk_happens_before *order, uint32_t warp_count, smk_happens_before_launch *launch, bool synchronizes,
                            smk_error *error);
void smk_happens_before_free(smk_happens_before *order);
void smk_happens_before_launch_free(smk_happens_before_launch *launch);
bool smk_happens_before_is_failed(const smk_happens_before *order);

void smk_happens_before_begin(smk_happens_before *order, uint64_t block);
void smk_happens_before_arrive(smk_happens_before *order, uint32_t warp, uint32_t barrier);
void smk_happens_before_leave(smk_happens_before *order, uint32_t barrier, uint32_t waited, uint32_t live);
/* `all`: the lanes of `mask` are all that the warp has. */
void smk_happens_before_sync_warp(smk_happens_before *order, uint32_t warp, uint32_t mask, bool all);
void smk_happens_before_fence(smk_happens_before *order, uint32_t warp, uint32_t mask, smk_fence_kind kind);

/* Strong accesses; an atomic operation is a read and then a write. smk_happens_before_tick ends the instruction. */
void smk_happens_before_read(smk_happens_before *order, const smk_happens_before_access *access);
void smk_happens_before_write(smk_happens_before *order, const smk_happens_before_access *access);
void smk_happens_before_tick(smk_happens_before *order);
/* A weak write. */
void smk_happens_before_overwrite(smk_happens_before *order, bool shared, uint64_t address);

static inline bool smk_happens_before_has_words(const smk_happens_before *order, bool shared)
{
    return shared ? order->words.count > 0 : order->launch != NULL && order->launch->words.count > 0;
}

/* Does a lane's clock say so? `block` may be another. */
bool smk_happens_before_by_clock(const smk_happens_before *order, uint32_t block, uint32_t other, uint32_t of, uint32_t time, uint32_t warp,
                     uint32_t lane);

/* Was what lane `of` of `other` did at `time` before what lane `lane` of `warp` does now? */
static inline bool smk_happens_before_holds(const smk_happens_before *order, uint32_t other, uint32_t of, uint32_t time, uint32_t warp,
                                    uint32_t lane)
{
    if (time <= order->base) {
        return true;
    }
    if (other != warp ? time <= order->warp_clock[warp][other]
                      : of == lane || time <= order->synced[warp] || time <= order->lane_clock[warp][lane][of]) {
        return true;
    }
    return (order->touched >> warp & 1) != 0 && smk_happens_before_by_clock(order, order->block, other, of, time, warp, lane);
}

#endif
