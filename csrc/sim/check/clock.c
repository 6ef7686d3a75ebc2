#include "sim/check/clock.h"

#include "base/heap.h"

#include <string.h>

enum { BITS = 4, CHILDREN = 1 << BITS, WARPS = SMK_CLOCK_WARPS };

typedef struct node {
    smk_clock clock;
    smk_clock *child[CHILDREN];
} node;

smk_clock_space smk_clock_space_of(uint64_t blocks)
{
    smk_clock_space space = {0};
    while (space.levels < 32 / BITS && (UINT64_C(1) << (BITS * space.levels)) < blocks) {
        space.levels++;
    }
    return space;
}

/* Holding and dropping ------------------------------------------------------------------------------- */

static void drop_lanes(smk_clock_lanes **lanes)
{
    if (*lanes != NULL && --(*lanes)->holders == 0) {
        smk_heap_free(*lanes);
    }
    *lanes = NULL;
}

static void drop(smk_clock **clock, unsigned level)
{
    smk_clock *held = *clock;
    *clock = NULL;
    if (held == NULL || --held->holders > 0) {
        return;
    }
    if (level == 0) {
        smk_clock_leaf *leaf = (smk_clock_leaf *)held;
        for (unsigned i = 0; i < WARPS && leaf->finer != 0; i++) {
            drop_lanes(&leaf->lanes[i]);
        }
    } else {
        for (unsigned i = 0; i < CHILDREN; i++) {
            drop(&((node *)held)->child[i], level - 1);
        }
    }
    smk_heap_free(held);
}

void smk_clock_drop(const smk_clock_space *space, smk_clock **clock)
{
    drop(clock, space->levels);
}

void smk_clock_set(const smk_clock_space *space, smk_clock **to, smk_clock *from)
{
    smk_clock *held = smk_clock_hold(from);
    drop(to, space->levels);
    *to = held;
}

/* Makes *at safe to change: a new clock, or a copy where it has other holders (copy on write). */
static smk_clock *make_own(smk_clock_space *space, smk_clock **at, unsigned level)
{
    if (*at != NULL && (*at)->holders == 1) {
        return *at;
    }
    size_t bytes = level == 0 ? sizeof(smk_clock_leaf) : sizeof(node);
    smk_clock *made = smk_heap_allocate(1, bytes);
    if (made == NULL) {
        space->failed = true;
        return NULL;
    }
    if (*at != NULL) {
        memcpy(made, *at, bytes);
        for (unsigned i = 0; i < WARPS && level == 0; i++) {
            smk_clock_lanes *lanes = ((smk_clock_leaf *)made)->lanes[i];
            if (lanes != NULL) {
                lanes->holders++;
            }
        }
        for (unsigned i = 0; i < CHILDREN && level > 0; i++) {
            (void)smk_clock_hold(((node *)made)->child[i]);
        }
        drop(at, level);
    }
    made->holders = 1;
    *at = made;
    return made;
}

/* Joining --------------------------------------------------------------------------------------------- */

/* Is `a` at least `b` in every component? May be false where only times of lanes decide. */
static bool covers(const smk_clock_leaf *a, const smk_clock_leaf *b)
{
    for (unsigned i = 0; i < WARPS; i++) {
        if (b->time[i] > a->time[i]) {
            return false;
        }
        const smk_clock_lanes *mine = a->lanes[i], *theirs = b->lanes[i];
        for (unsigned k = 0; k < SMK_WARP_SIZE && theirs != NULL && mine != theirs; k++) {
            if (theirs->time[k] > a->time[i] && (mine == NULL || theirs->time[k] > mine->time[k])) {
                return false;
            }
        }
    }
    return true;
}

/* Raises the lanes of a warp in a leaf that has one holder. */
static void learn_lanes(smk_clock_space *space, smk_clock_leaf *leaf, unsigned warp, const uint32_t time[SMK_WARP_SIZE])
{
    const smk_clock_lanes *old = leaf->lanes[warp];
    uint32_t most[SMK_WARP_SIZE], least = UINT32_MAX, all = 0;
    for (unsigned k = 0; k < SMK_WARP_SIZE; k++) {
        uint32_t before = old == NULL ? 0 : old->time[k];
        most[k] = time[k] > before ? time[k] : before;
        least = most[k] < least ? most[k] : least;
        all = most[k] > all ? most[k] : all;
    }
    leaf->time[warp] = least > leaf->time[warp] ? least : leaf->time[warp];
    if (all <= leaf->time[warp]) {
        drop_lanes(&leaf->lanes[warp]);
        leaf->finer &= ~(UINT32_C(1) << warp);
        return;
    }
    if (old == NULL || old->holders > 1) {
        smk_clock_lanes *made = smk_heap_allocate(1, sizeof *made);
        if (made == NULL) {
            space->failed = true;
            return;
        }
        made->holders = 1;
        drop_lanes(&leaf->lanes[warp]);
        leaf->lanes[warp] = made;
        leaf->finer |= UINT32_C(1) << warp;
    }
    memcpy(leaf->lanes[warp]->time, most, sizeof most);
}

static void join_leaf(smk_clock_space *space, smk_clock **to, smk_clock *from)
{
    const smk_clock_leaf *other = (const smk_clock_leaf *)from;
    if (covers((const smk_clock_leaf *)*to, other)) {
        return;
    }
    if (covers(other, (const smk_clock_leaf *)*to)) {
        drop(to, 0);
        *to = smk_clock_hold(from);
        return;
    }
    smk_clock_leaf *leaf = (smk_clock_leaf *)make_own(space, to, 0);
    for (unsigned i = 0; i < WARPS && leaf != NULL; i++) {
        leaf->time[i] = leaf->time[i] > other->time[i] ? leaf->time[i] : other->time[i];
        if (other->lanes[i] == NULL || other->lanes[i] == leaf->lanes[i]) {
            continue;
        }
        if (leaf->lanes[i] == NULL) {
            leaf->lanes[i] = other->lanes[i];
            leaf->lanes[i]->holders++;
            leaf->finer |= UINT32_C(1) << i;
        } else {
            learn_lanes(space, leaf, i, other->lanes[i]->time);
        }
    }
}

static void join(smk_clock_space *space, smk_clock **to, smk_clock *from, unsigned level)
{
    if (from == NULL || *to == from) {
        return;
    }
    if (*to == NULL) {
        *to = smk_clock_hold(from);
        return;
    }
    if (level == 0) {
        join_leaf(space, to, from);
        return;
    }
    const node *other = (const node *)from;
    for (unsigned i = 0; i < CHILDREN; i++) {
        if ((*to)->holders == 1) {
            join(space, &((node *)*to)->child[i], other->child[i], level - 1);
            continue;
        }
        smk_clock *old = ((node *)*to)->child[i], *child = smk_clock_hold(old);
        join(space, &child, other->child[i], level - 1);
        node *own = child == old ? NULL : (node *)make_own(space, to, level);
        if (own != NULL) {
            drop(&own->child[i], level - 1);
            own->child[i] = child;
        } else {
            drop(&child, level - 1);
        }
    }
    if (memcmp(((node *)*to)->child, other->child, sizeof other->child) == 0) {
        drop(to, level);
        *to = smk_clock_hold(from);
    }
}

void smk_clock_join(smk_clock_space *space, smk_clock **to, smk_clock *from)
{
    join(space, to, from, space->levels);
}

/* Raising --------------------------------------------------------------------------------------------- */

static unsigned child_of(uint32_t block, unsigned level)
{
    return block >> (BITS * (level - 1)) & (CHILDREN - 1);
}

static const smk_clock_leaf *find_leaf(const smk_clock_space *space, const smk_clock *clock, uint32_t block)
{
    for (unsigned level = space->levels; level > 0 && clock != NULL; level--) {
        clock = ((const node *)clock)->child[child_of(block, level)];
    }
    return (const smk_clock_leaf *)clock;
}

/* The leaf of a block, copied together with all nodes above it where they have other holders. */
static smk_clock_leaf *own_leaf(smk_clock_space *space, smk_clock **at, uint32_t block)
{
    unsigned level = space->levels;
    smk_clock *own = make_own(space, at, level);
    for (; level > 0 && own != NULL; level--) {
        own = make_own(space, &((node *)own)->child[child_of(block, level)], level - 1);
    }
    return (smk_clock_leaf *)own;
}

void smk_clock_raise_warps(smk_clock_space *space, smk_clock **to, uint32_t block, const uint32_t time[WARPS])
{
    const smk_clock_leaf *known = find_leaf(space, *to, block);
    uint32_t news = 0;
    for (unsigned i = 0; i < WARPS; i++) {
        news |= (uint32_t)(time[i] > (known == NULL ? 0 : known->time[i])) << i;
    }
    smk_clock_leaf *leaf = news == 0 ? NULL : own_leaf(space, to, block);
    for (unsigned i = 0; i < WARPS && leaf != NULL; i++) {
        leaf->time[i] = time[i] > leaf->time[i] ? time[i] : leaf->time[i];
    }
}

void smk_clock_raise_lanes(smk_clock_space *space, smk_clock **to, uint32_t block, uint32_t warp,
                           const uint32_t time[SMK_WARP_SIZE])
{
    smk_clock_leaf *leaf = own_leaf(space, to, block);
    if (leaf != NULL) {
        learn_lanes(space, leaf, warp, time);
    }
}

void smk_clock_raise_lane(smk_clock_space *space, smk_clock **to, uint32_t block, uint32_t warp, uint32_t lane,
                          uint32_t time)
{
    uint32_t times[SMK_WARP_SIZE] = {0};
    if (!smk_clock_covers(space, *to, block, warp, lane, time)) {
        times[lane] = time;
        smk_clock_raise_lanes(space, to, block, warp, times);
    }
}

bool smk_clock_covers(const smk_clock_space *space, const smk_clock *clock, uint32_t block, uint32_t warp,
                      uint32_t lane, uint32_t time)
{
    const smk_clock_leaf *leaf = find_leaf(space, clock, block);
    return leaf != NULL &&
           (time <= leaf->time[warp] || (leaf->lanes[warp] != NULL && time <= leaf->lanes[warp]->time[lane]));
}
