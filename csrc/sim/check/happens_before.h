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

enum { SMK_ORDER_WARPS = SMK_CLOCK_WARPS, SMK_ORDER_BARRIERS = 16 };

/* Clocks of a lane, or of what lanes bring to a barrier. Own doings up to a time go with a clock that is released. */
typedef struct smk_order_lane {
    smk_clock *known;
    smk_clock *near, *far; /* its next strong write releases them: fenced for the block, and beyond it */
    uint32_t near_time, far_time;
    smk_clock *seen_near, *seen_far; /* known after the next fence */
    uint64_t released_at, read_at;   /* the address of the last release operation, and of the last relaxed read */
    smk_clock *released, *read_near, *read_far;
    uint32_t released_time; /* 0: no release operation yet */
    bool released_far;
} smk_order_lane;

/* What was released at an address. */
typedef struct smk_order_word {
    uint64_t address;
    uint32_t block; /* of the last strong write */
    bool used, near; /* near: that write is */
    smk_clock *far;  /* for all; of shared memory: for the block */
    struct smk_order_piece *piece; /* of global memory: by near releases too, for the block they are of */
    uint32_t piece_count, piece_capacity;
} smk_order_word;

typedef struct smk_order_piece {
    uint32_t block;
    smk_clock *clock;
} smk_order_piece;

typedef struct smk_order_words {
    smk_order_word *word;
    uint32_t count, capacity;
} smk_order_words;

/* What the blocks of a launch share; NULL where they cannot wait for each other. */
typedef struct smk_order_launch {
    smk_clock_space space;
    smk_order_words words; /* of global memory */
    bool near;             /* there are accesses or fences whose scope is the block */
} smk_order_launch;

/* What warps have brought to a barrier so far. */
typedef struct smk_order_arrived {
    uint32_t warp[SMK_ORDER_WARPS];
    smk_order_lane lane;
} smk_order_arrived;

typedef struct smk_order {
    uint32_t now;   /* stamp of what happens now; from 1 */
    uint32_t begin; /* first stamp of this block */
    uint32_t base;  /* what has a stamp up to here lies before everything that comes */
    uint32_t block;
    uint32_t warp_count;
    uint32_t known[SMK_ORDER_WARPS][SMK_ORDER_WARPS]; /* [warp][of]; its own is not used */
    uint32_t last[SMK_ORDER_WARPS];                   /* access of a warp */
    uint32_t full[SMK_ORDER_WARPS];                   /* up to here all lanes of a warp know each other */
    uint32_t (*among)[32][32];                        /* [warp][lane that knows][of] */
    smk_order_lane (*lane)[32];                       /* [warp]; NULL where nothing releases or acquires */
    uint32_t touched;                                 /* warps whose lanes hold clocks */
    smk_order_arrived arrived[SMK_ORDER_BARRIERS];
    smk_clock_space space;
    smk_order_launch *launch;
    smk_order_words words; /* of shared memory */
    bool failed;
} smk_order;

/* A strong access of a lane. */
typedef struct smk_order_access {
    uint32_t warp, lane;
    uint64_t address;
    bool shared, near, acquire, release, atomic;
} smk_order_access;

/* Scope and direction of a fence. */
typedef struct smk_order_fencing {
    bool near, acquires, releases;
} smk_order_fencing;

/* `synchronizes`: something in the program releases or acquires, that is, there are fences. */
smk_status smk_order_create(smk_order *order, uint32_t warp_count, smk_order_launch *launch, bool synchronizes,
                            smk_error *error);
void smk_order_free(smk_order *order);
void smk_order_launch_free(smk_order_launch *launch);
bool smk_order_is_failed(const smk_order *order);

void smk_order_begin(smk_order *order, uint64_t block);
void smk_order_arrive(smk_order *order, uint32_t warp, uint32_t barrier);
void smk_order_leave(smk_order *order, uint32_t barrier, uint32_t waited, uint32_t live);
/* `all`: the lanes of `mask` are all that the warp has. */
void smk_order_meet(smk_order *order, uint32_t warp, uint32_t mask, bool all);
void smk_order_fence(smk_order *order, uint32_t warp, uint32_t mask, smk_order_fencing fencing);

/* Strong accesses; an atomic operation is a read and then a write. smk_order_tick ends the instruction. */
void smk_order_read(smk_order *order, const smk_order_access *access);
void smk_order_write(smk_order *order, const smk_order_access *access);
void smk_order_tick(smk_order *order);
/* A weak write. */
void smk_order_overwrite(smk_order *order, bool shared, uint64_t address);

static inline bool smk_order_has_words(const smk_order *order, bool shared)
{
    return shared ? order->words.count > 0 : order->launch != NULL && order->launch->words.count > 0;
}

/* Does a lane's clock say so? `block` may be another. */
bool smk_order_knows(const smk_order *order, uint32_t block, uint32_t other, uint32_t of, uint32_t time, uint32_t warp,
                     uint32_t lane);

/* Was what lane `of` of `other` did at `time` before what lane `lane` of `warp` does now? */
static inline bool smk_order_before(const smk_order *order, uint32_t other, uint32_t of, uint32_t time, uint32_t warp,
                                    uint32_t lane)
{
    if (time <= order->base) {
        return true;
    }
    if (other != warp ? time <= order->known[warp][other]
                      : of == lane || time <= order->full[warp] || time <= order->among[warp][lane][of]) {
        return true;
    }
    return (order->touched >> warp & 1) != 0 && smk_order_knows(order, order->block, other, of, time, warp, lane);
}

#endif
