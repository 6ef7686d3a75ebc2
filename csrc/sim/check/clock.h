/* Vector clocks (Mattern, Fidge): up to which time the doings of other threads are known.
 *
 * A clock is a tree over the blocks of a launch whose leaves hold what is known of one block, by warp, and by lane
 * where lanes of a warp differ. Trees are shared by reference counts and never change while they have two holders, so
 * threads that know the same hold one tree. They belong to one host thread. NULL is the clock that knows nothing.
 */
#ifndef SMK_SIM_CHECK_CLOCK_H
#define SMK_SIM_CHECK_CLOCK_H

#include "base/launch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SMK_CLOCK_WARPS = 32 };

typedef struct smk_clock {
    uint32_t holders;
} smk_clock;

/* Lanes of a warp that are known further than the warp as a whole. */
typedef struct smk_clock_lanes {
    uint32_t holders;
    uint32_t time[SMK_WARP_SIZE];
} smk_clock_lanes;

/* What is known of a block. */
typedef struct smk_clock_leaf {
    smk_clock clock;
    uint32_t finer;                  /* warps that have `lanes`, one bit each */
    uint32_t time[SMK_CLOCK_WARPS];  /* of all lanes of a warp */
    smk_clock_lanes *lanes[SMK_CLOCK_WARPS];
} smk_clock_leaf;

/* What the clocks of a launch have in common. */
typedef struct smk_clock_space {
    unsigned levels; /* of nodes above the leaves; 0: a single block */
    bool failed;     /* there was no memory: what is known is too little */
} smk_clock_space;

smk_clock_space smk_clock_space_of(uint64_t blocks);

static inline smk_clock *smk_clock_hold(smk_clock *clock)
{
    if (clock != NULL) {
        clock->holders++;
    }
    return clock;
}

void smk_clock_drop(const smk_clock_space *space, smk_clock **clock);

/* *to becomes a holder of `from` in place of what it held. */
void smk_clock_set(const smk_clock_space *space, smk_clock **to, smk_clock *from);

/* *to learns what `from` knows. */
void smk_clock_join(smk_clock_space *space, smk_clock **to, smk_clock *from);

/* *to learns of all warps of a block, of the lanes of a warp, of one lane up to the given times. */
void smk_clock_raise_warps(smk_clock_space *space, smk_clock **to, uint32_t block,
                           const uint32_t time[SMK_CLOCK_WARPS]);
void smk_clock_raise_lanes(smk_clock_space *space, smk_clock **to, uint32_t block, uint32_t warp,
                           const uint32_t time[SMK_WARP_SIZE]);
void smk_clock_raise_lane(smk_clock_space *space, smk_clock **to, uint32_t block, uint32_t warp, uint32_t lane,
                          uint32_t time);

/* Is what that thread did at `time` known? */
bool smk_clock_covers(const smk_clock_space *space, const smk_clock *clock, uint32_t block, uint32_t warp,
                     uint32_t lane, uint32_t time);

#endif
