/* Vector clocks: for each other thread, the latest time up to which its operations happen before (Fidge, "Timestamps in
 * Message-Passing Systems That Preserve the Partial Ordering", 1988; Mattern, "Virtual Time and Global States of
 * Distributed Systems", 1989).
 *
 * A clock is a tree over the blocks of a launch. A leaf holds the times of one block, one for each warp, and one for
 * each lane of the warps whose lanes differ. Trees are reference-counted and immutable while they have several
 * holders, so threads with equal clocks share one tree. A tree belongs to one host thread. NULL is the clock of zeros.
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

/* Times of the lanes of a warp, where some are later than that of the whole warp. */
typedef struct smk_clock_lanes {
    uint32_t holders;
    uint32_t time[SMK_WARP_SIZE];
} smk_clock_lanes;

/* The times of a block. */
typedef struct smk_clock_leaf {
    smk_clock clock;
    uint32_t finer;                 /* warps that have `lanes`, one bit each */
    uint32_t time[SMK_CLOCK_WARPS]; /* reached by all lanes of a warp */
    smk_clock_lanes *lanes[SMK_CLOCK_WARPS];
} smk_clock_leaf;

/* What the clocks of a launch share. */
typedef struct smk_clock_space {
    unsigned levels; /* of nodes above the leaves; 0: a single block */
    bool failed;     /* there was no memory: some times are too early */
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

/* Releases *to and makes it hold `from`. */
void smk_clock_set(const smk_clock_space *space, smk_clock **to, smk_clock *from);

/* Makes *to the maximum of both clocks. */
void smk_clock_join(smk_clock_space *space, smk_clock **to, smk_clock *from);

/* Raise components of *to to at least the given times: of all warps of a block, of the lanes of a warp, of one lane. */
void smk_clock_raise_warps(smk_clock_space *space, smk_clock **to, uint32_t block,
                           const uint32_t time[SMK_CLOCK_WARPS]);
void smk_clock_raise_lanes(smk_clock_space *space, smk_clock **to, uint32_t block, uint32_t warp,
                           const uint32_t time[SMK_WARP_SIZE]);
void smk_clock_raise_lane(smk_clock_space *space, smk_clock **to, uint32_t block, uint32_t warp, uint32_t lane,
                          uint32_t time);

/* Is the clock's component of that thread at least `time`? */
bool smk_clock_covers(const smk_clock_space *space, const smk_clock *clock, uint32_t block, uint32_t warp,
                      uint32_t lane, uint32_t time);

#endif
