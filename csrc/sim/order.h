/* What comes before what among the threads of a block, and between blocks that wait for each other.
 *
 * A block has one clock that only grows: it ticks whenever something orders threads. A warp knows of each warp of
 * its block up to which time its doings lie before its own (Lamport's and Mattern's clocks, by warp; lanes of one
 * warp among themselves by lane). Barriers join what the warps that came know into those that waited. A fence makes
 * what a warp knows ready to be told, a strong write after it tells it at its address, a strong read hears it, and a
 * fence after that makes it known: the patterns of release and acquire of PTX's memory model. What only some lanes
 * of a warp made known is theirs until the warp meets. What is told is as coarse as the warp: lanes that meet behind
 * their fences tell it by one of them.
 */
#ifndef SMK_SIM_ORDER_H
#define SMK_SIM_ORDER_H

#include "../base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { SMK_ORDER_WARPS = 32, SMK_ORDER_BARRIERS = 16 };

/* How much of what each block has told is known: heard[b] tellings of block b. Shared, never changed once made. */
typedef struct smk_order_foreign {
    uint32_t holders;
    uint32_t low, high; /* blocks outside of [low, high) are unknown */
    uint32_t heard[];
} smk_order_foreign;

/* A state of knowledge. */
typedef struct smk_order_clock {
    uint32_t warp[SMK_ORDER_WARPS];
    smk_order_foreign *foreign; /* NULL: nothing of other blocks */
} smk_order_clock;

/* What a block has told so far; its i-th telling holds those before it. */
typedef struct smk_order_history {
    uint32_t (*told)[SMK_ORDER_WARPS];
    uint32_t count, capacity;
} smk_order_history;

/* What was told at an address. */
typedef struct smk_order_word {
    uint64_t address;
    uint32_t block; /* that told `near` */
    bool used;
    smk_order_clock near; /* within that block; fences of any scope */
    smk_order_foreign *far;
} smk_order_word;

typedef struct smk_order_words {
    smk_order_word *word;
    uint32_t count, capacity;
} smk_order_words;

/* What blocks of a launch tell each other; NULL where they cannot. */
typedef struct smk_order_launch {
    smk_order_history *history; /* by block */
    uint32_t blocks;
    smk_order_words words;
    bool failed;
} smk_order_launch;

typedef struct smk_order {
    uint32_t now;   /* stamp of what happens now; from 1 */
    uint32_t begin; /* first stamp of this block */
    uint32_t base;  /* what has a stamp up to here lies before everything that comes */
    uint32_t block;
    uint32_t warp_count;
    smk_order_launch *launch;
    smk_order_clock known[SMK_ORDER_WARPS]; /* own warp: not used */
    smk_order_clock some[SMK_ORDER_WARPS];  /* what lanes of some_lanes know beside that */
    uint32_t some_lanes[SMK_ORDER_WARPS];
    smk_order_clock fenced[SMK_ORDER_WARPS]; /* ready to be told to the block */
    smk_order_clock ready[SMK_ORDER_WARPS];  /* ready to be told to all */
    smk_order_clock heard[SMK_ORDER_WARPS];  /* known once fenced */
    bool changed[SMK_ORDER_WARPS];           /* `ready` since it was told last */
    uint32_t last[SMK_ORDER_WARPS];          /* access of a warp */
    uint32_t full[SMK_ORDER_WARPS];          /* up to here all lanes of a warp know each other */
    uint32_t (*lane)[32][32];                /* [warp][knows][of] */
    smk_order_clock arrived[SMK_ORDER_BARRIERS][4];
    bool busy[SMK_ORDER_BARRIERS];
    smk_order_words words; /* of shared memory */
    bool strong;           /* there are strong accesses: words are kept */
    bool failed;
} smk_order;

smk_status smk_order_create(smk_order *order, uint32_t warp_count, smk_order_launch *launch, smk_error *error);
void smk_order_free(smk_order *order);
smk_status smk_order_launch_create(smk_order_launch *launch, uint64_t blocks, smk_error *error);
void smk_order_launch_free(smk_order_launch *launch);

void smk_order_begin(smk_order *order, uint64_t block);
void smk_order_arrive(smk_order *order, uint32_t warp, uint32_t barrier);
void smk_order_release(smk_order *order, uint32_t barrier, uint32_t waited, uint32_t live);
/* `all`: the lanes of `mask` are all that the warp has. */
void smk_order_meet(smk_order *order, uint32_t warp, uint32_t mask, bool all);
/* `far`: the fence reaches beyond the block. */
void smk_order_fence(smk_order *order, uint32_t warp, uint32_t mask, bool all, bool far);
void smk_order_tell(smk_order *order, uint32_t warp, bool shared, uint64_t address, bool far);
void smk_order_hear(smk_order *order, uint32_t warp, bool shared, uint64_t address);

/* Was what lane `of` of `other` did at `time` before what lane `lane` of `warp` does now? */
static inline bool smk_order_before(const smk_order *order, uint32_t other, uint32_t of, uint32_t time, uint32_t warp,
                                    uint32_t lane)
{
    if (time <= order->base) {
        return true;
    }
    if (other != warp) {
        return time <= order->known[warp].warp[other] ||
               ((order->some_lanes[warp] >> lane & 1) != 0 && time <= order->some[warp].warp[other]);
    }
    return of == lane || time <= order->full[warp] || time <= order->lane[warp][lane][of];
}

/* The same for another block's warp. */
bool smk_order_before_far(const smk_order *order, uint32_t block, uint32_t other, uint32_t time, uint32_t warp,
                          uint32_t lane);

#endif
