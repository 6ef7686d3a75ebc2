#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "blocks.h"

#include "../base/heap.h"
#include "bits.h"
#include "race.h"

#include <string.h>

enum { CELLS = SMK_SHADOW_CELLS, SLOTS_MIN = 4096 };

smk_status smk_blocks_create(smk_blocks *blocks, unsigned shift, smk_error *error)
{
    *blocks = (smk_blocks){.shift = shift, .slot_count = SLOTS_MIN};
    blocks->lines.bytes = sizeof(smk_blocks_line);
    blocks->sets.bytes = sizeof(smk_blocks_set);
    blocks->slot = smk_heap_allocate(SLOTS_MIN, sizeof *blocks->slot);
    if (blocks->slot == NULL || pthread_mutex_init(&blocks->lock, NULL) != 0) {
        smk_heap_free(blocks->slot);
        blocks->slot = NULL;
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    return SMK_OK;
}

void smk_blocks_free(smk_blocks *blocks)
{
    if (blocks->slot == NULL) {
        return;
    }
    smk_heap_free(blocks->slot);
    smk_shadow_pool_free(&blocks->lines);
    smk_shadow_pool_free(&blocks->sets);
    (void)pthread_mutex_destroy(&blocks->lock);
}

const smk_blocks_line *smk_blocks_get(const smk_blocks *blocks, uint32_t i)
{
    return smk_shadow_pool_get(&blocks->lines, i);
}

static uint32_t hash(uint64_t number, uint32_t count)
{
    return (uint32_t)((number * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (count - 1);
}

static bool grow(smk_blocks *blocks)
{
    uint32_t count = 2 * blocks->slot_count;
    uint32_t *slot = smk_heap_allocate(count, sizeof *slot);
    if (slot == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < blocks->lines.used; i++) {
        const smk_blocks_line *line = smk_blocks_get(blocks, i);
        uint32_t at = hash(line->number, count);
        while (slot[at] != 0) {
            at = (at + 1) & (count - 1);
        }
        slot[at] = i + 1;
    }
    smk_heap_free(blocks->slot);
    blocks->slot = slot;
    blocks->slot_count = count;
    return true;
}

static smk_blocks_line *find(smk_blocks *blocks, uint64_t number, bool make)
{
    bool fresh;
    if (make && blocks->lines.used >= blocks->slot_count / 2 && !grow(blocks)) {
        blocks->failed = true;
        return NULL;
    }
    uint32_t at = hash(number, blocks->slot_count);
    while (blocks->slot[at] != 0) {
        smk_blocks_line *line = smk_shadow_pool_get(&blocks->lines, blocks->slot[at] - 1);
        if (line->number == number) {
            return line;
        }
        at = (at + 1) & (blocks->slot_count - 1);
    }
    smk_blocks_line *made = make ? smk_shadow_pool_take(&blocks->lines, &fresh) : NULL;
    if (made != NULL) {
        made->number = number;
        blocks->slot[at] = blocks->lines.used;
    } else {
        blocks->failed = blocks->failed || make;
    }
    return made;
}

static smk_blocks_set *set_of(smk_blocks *blocks, smk_blocks_line *line, unsigned class)
{
    bool fresh;
    if (line->set[class] == NULL) {
        line->set[class] = smk_shadow_pool_take(&blocks->sets, &fresh);
        blocks->failed = blocks->failed || line->set[class] == NULL;
    }
    return line->set[class];
}

static void put(smk_blocks_set *set, unsigned at, uint32_t i, uint32_t block, uint32_t place, uint16_t who,
                uint32_t time)
{
    set->block[at][i] = block;
    set->place[at][i] = place;
    set->who[at][i] = who;
    set->time[at][i] = time;
}

/* Blocks that cannot wait for each other --------------------------------------------------------------- */

/* Keeps the lowest two. */
static void insert(smk_blocks_set *set, uint32_t i, uint32_t block, uint32_t place, uint16_t who)
{
    uint32_t low = set->block[0][i], next = set->block[1][i];
    if (low == 0 || block < low) {
        put(set, 1, i, low, set->place[0][i], set->who[0][i], 0);
        put(set, 0, i, block, place, who, 0);
    } else if (block != low && (next == 0 || block < next)) {
        put(set, 1, i, block, place, who, 0);
    }
}

/* What a block has stored in a cell, before it is inserted. */
static void note_value(smk_blocks_set *set, uint32_t i, uint32_t value, bool varied)
{
    bool differs = varied || (set->block[0][i] != 0 && set->value[i] != value);
    set->varied |= (uint32_t)differs << i;
    set->value[i] = value;
}

/* One record of the cells that `seen` has not yet; the lowest lane of each. */
static void merge_row(smk_blocks_set *set, const smk_shadow_row *row, uint32_t block, uint32_t warp, uint32_t begin,
                      uint32_t *seen)
{
    for (uint32_t i = 0; i < CELLS; i++) {
        if (row->time[i] < begin || (*seen >> i & 1) != 0 || row->lanes[i] == 0) {
            continue;
        }
        *seen |= UINT32_C(1) << i;
        uint32_t next = set->block[1][i];
        if (next == 0 || block < next) {
            insert(set, i, block, row->place[i], (uint16_t)(warp * 32 + smk_bits_first(row->lanes[i])));
        }
    }
}

/* The records of all warps, the first warp's of each cell. */
static void merge_rows(smk_blocks *blocks, smk_blocks_line *to, unsigned class, smk_shadow_row *const *rows,
                       uint32_t warps, uint32_t block, uint32_t begin)
{
    uint32_t seen = 0;
    for (uint32_t left = warps; left != 0 && seen != UINT32_MAX; left &= left - 1) {
        uint32_t warp = smk_bits_first(left);
        smk_blocks_set *set = rows[warp] == NULL ? NULL : set_of(blocks, to, class);
        if (set == NULL) {
            continue;
        }
        for (const smk_shadow_row *row = rows[warp]; row != NULL; row = row->more) {
            merge_row(set, row, block, warp, begin, &seen);
        }
    }
}

static uint32_t find_done(const smk_blocks_set *set)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < CELLS && set != NULL; i++) {
        if (set->block[1][i] == 0) {
            return 0;
        }
        most = set->block[1][i] > most ? set->block[1][i] : most;
    }
    return most;
}

static void merge_line(smk_blocks *blocks, smk_shadow *shadow, smk_shadow_line *from, uint32_t block, uint32_t begin)
{
    uint32_t written = 0, changed = 0;
    for (uint32_t i = 0; i < CELLS; i++) {
        written |= (uint32_t)(from->wtime[i] >= begin);
        changed |= (uint32_t)(from->stime[i] >= begin);
    }
    smk_blocks_line *to = find(blocks, from->number, true);
    if (to == NULL || (!written && !changed && to->done != 0 && block > to->done)) {
        return;
    }
    for (uint32_t left = from->wide_loaders; left != 0; left &= left - 1) {
        smk_shadow_spread(shadow, from, smk_bits_first(left));
    }
    merge_rows(blocks, to, SMK_BLOCKS_READ, from->loads, from->loaders, block, begin);
    to->done = find_done(to->set[SMK_BLOCKS_READ]);
    if (changed) {
        merge_rows(blocks, to, SMK_BLOCKS_ATOMIC, from->atomics, from->changers, block, begin);
    }
    smk_blocks_set *set = written ? set_of(blocks, to, SMK_BLOCKS_WRITE) : NULL;
    for (uint32_t i = 0; i < CELLS && set != NULL; i++) {
        if (from->wtime[i] >= begin) {
            note_value(set, i, from->value[i], (from->varied >> i & 1) != 0);
            insert(set, i, block, from->wplace[i], from->wwho[i]);
        }
    }
}

void smk_blocks_merge(smk_blocks *blocks, smk_shadow *shadow, uint64_t block, uint32_t begin)
{
    (void)pthread_mutex_lock(&blocks->lock);
    smk_shadow_line *line;
    for (uint32_t i = 0; (line = smk_shadow_get(shadow, i)) != NULL && !blocks->failed; i++) {
        merge_line(blocks, shadow, line, (uint32_t)block + 1, begin);
    }
    (void)pthread_mutex_unlock(&blocks->lock);
}

/* Blocks that can ------------------------------------------------------------------------------------ */

static bool conflicts(unsigned a, unsigned b)
{
    return a == SMK_BLOCKS_WRITE || b == SMK_BLOCKS_WRITE || ((a == SMK_BLOCKS_ATOMIC) != (b == SMK_BLOCKS_ATOMIC));
}

bool smk_blocks_note(smk_blocks *blocks, uint64_t cell, const smk_blocks_access *access, const uint8_t *flags,
                     smk_blocks_access *other, uint64_t *other_block)
{
    smk_blocks_line *line = find(blocks, cell / CELLS, true);
    uint32_t i = (uint32_t)(cell % CELLS), own = access->order->block + 1;
    bool found = false;
    smk_blocks_set *set = line == NULL ? NULL : set_of(blocks, line, access->class);
    if (set == NULL) {
        return false;
    }
    for (unsigned class = 0; class < SMK_BLOCKS_CLASSES && !found; class ++) {
        const smk_blocks_set *theirs = line->set[class];
        for (unsigned at = 0; at < 2 && theirs != NULL && conflicts(class, access->class) && !found; at++) {
            uint32_t block = theirs->block[at][i], place = theirs->place[at][i], warp = theirs->who[at][i] / 32;
            if (block == 0 || block == own || smk_race_excuses(access->flags, flags[place], false) ||
                smk_order_before_far(access->order, block - 1, warp, theirs->time[at][i], access->warp, access->lane)) {
                continue;
            }
            *other = (smk_blocks_access){NULL, class, warp, theirs->who[at][i] % 32U, place, flags[place]};
            *other_block = block - 1;
            found = true;
        }
    }
    if (set->block[0][i] != own) {
        put(set, 1, i, set->block[0][i], set->place[0][i], set->who[0][i], set->time[0][i]);
    }
    put(set, 0, i, own, access->place, (uint16_t)(access->warp * 32 + access->lane), access->order->now);
    return found;
}

bool smk_blocks_written(smk_blocks *blocks, uint64_t cell)
{
    const smk_blocks_line *line = find(blocks, cell / CELLS, false);
    uint32_t i = (uint32_t)(cell % CELLS);
    return line != NULL && ((line->set[SMK_BLOCKS_WRITE] != NULL && line->set[SMK_BLOCKS_WRITE]->block[0][i] != 0) ||
                            (line->set[SMK_BLOCKS_ATOMIC] != NULL && line->set[SMK_BLOCKS_ATOMIC]->block[0][i] != 0));
}
