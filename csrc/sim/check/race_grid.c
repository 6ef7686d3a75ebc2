#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "sim/check/race_grid.h"

#include "base/heap.h"
#include "sim/check/race.h"
#include "sim/code/bits.h"

#include <string.h>

enum {
    CELLS = SMK_SHADOW_CELLS,
    SLOTS_MIN = 4096,
    LIST_MAX = 4096, /* records of a cell and kind */
    LIST_SHORT = 8,  /* and where there are very many in all */
    RECORDS_MANY = 1 << 23,
    LOOKED_AT = 16,      /* for one that the new access can join */
    LOOKED_AT_FOUND = 64 /* after a race was found */
};

smk_status smk_blocks_create(smk_blocks *blocks, unsigned shift, const uint8_t *flags, smk_error *error)
{
    *blocks = (smk_blocks){.shift = shift, .flags = flags, .slot_count = SLOTS_MIN};
    blocks->lines.bytes = sizeof(smk_blocks_line);
    blocks->sets.bytes = sizeof(smk_blocks_set);
    blocks->lists.bytes = sizeof(smk_blocks_list);
    blocks->records.bytes = sizeof(smk_blocks_record);
    blocks->slot = smk_heap_allocate(SLOTS_MIN, sizeof *blocks->slot);
    if (blocks->slot == NULL || pthread_mutex_init(&blocks->lock, NULL) != 0) {
        smk_heap_free(blocks->slot);
        blocks->slot = NULL;
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    return SMK_OK;
}

static void free_memory(smk_blocks *blocks)
{
    smk_heap_free(blocks->slot);
    smk_shadow_pool_free(&blocks->lines);
    smk_shadow_pool_free(&blocks->sets);
    smk_shadow_pool_free(&blocks->lists);
    smk_shadow_pool_free(&blocks->records);
}

void smk_blocks_free(smk_blocks *blocks)
{
    if (blocks->slot != NULL) {
        (void)pthread_mutex_destroy(&blocks->lock);
        free_memory(blocks);
    }
}

static void *free_moved(void *context)
{
    free_memory(context);
    smk_heap_free(context);
    return NULL;
}

void smk_blocks_free_later(smk_blocks *blocks)
{
    pthread_t thread;
    smk_blocks *moved = blocks->slot == NULL ? NULL : smk_heap_allocate(1, sizeof *moved);
    if (moved == NULL) {
        smk_blocks_free(blocks);
        return;
    }
    (void)pthread_mutex_destroy(&blocks->lock);
    moved->slot = blocks->slot;
    moved->lines = blocks->lines;
    moved->sets = blocks->sets;
    moved->lists = blocks->lists;
    moved->records = blocks->records;
    if (pthread_create(&thread, NULL, free_moved, moved) == 0) {
        (void)pthread_detach(thread);
    } else {
        (void)free_moved(moved);
    }
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

static void put(smk_blocks_set *set, unsigned at, uint32_t i, uint32_t block, uint32_t place, uint16_t who)
{
    set->block[at][i] = block;
    set->place[at][i] = place;
    set->who[at][i] = who;
}

/* Blocks that cannot wait for each other --------------------------------------------------------------- */

/* Keeps the lowest two. */
static void insert(smk_blocks_set *set, uint32_t i, uint32_t block, uint32_t place, uint16_t who)
{
    uint32_t low = set->block[0][i], next = set->block[1][i];
    if (low == 0 || block < low) {
        put(set, 1, i, low, set->place[0][i], set->who[0][i]);
        put(set, 0, i, block, place, who);
    } else if (block != low && (next == 0 || block < next)) {
        put(set, 1, i, block, place, who);
    }
}

/* What a block has stored in a cell, before it is inserted. */
static void note_value(smk_blocks_set *set, uint32_t i, uint32_t value, bool varied)
{
    bool differs = varied || (set->block[0][i] != 0 && set->value[i] != value);
    set->varied |= (uint32_t)differs << i;
    set->value[i] = value;
}

/* One record of the cells that `seen` has not yet; the lowest lane of each. `flags` of places: only of strong accesses;
 * NULL: of all. */
static void merge_row(smk_blocks_set *set, const smk_shadow_row *row, uint32_t block, uint32_t warp, uint32_t begin,
                      const uint8_t *flags, uint32_t *seen)
{
    for (uint32_t i = 0; i < CELLS; i++) {
        if (row->time[i] < begin || (*seen >> i & 1) != 0 || row->lanes[i] == 0 ||
            (flags != NULL && (flags[row->place[i]] & SMK_RACE_STRONG) == 0)) {
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
            merge_row(set, row, block, warp, begin, class == SMK_BLOCKS_ATOMIC ? blocks->flags : NULL, &seen);
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

static smk_blocks_record *record_of(const smk_blocks *blocks, uint32_t at)
{
    return smk_shadow_pool_get(&blocks->records, at - 1);
}

static smk_blocks_line *line_of(smk_blocks *blocks, uint64_t cell)
{
    if (blocks->last == NULL || blocks->last->number != cell / CELLS) {
        blocks->last = find(blocks, cell / CELLS, true);
    }
    return blocks->last;
}

static smk_blocks_list *list_of(smk_blocks *blocks, smk_blocks_line *line, unsigned kind)
{
    bool fresh;
    if (line->list[kind] == NULL) {
        line->list[kind] = smk_shadow_pool_take(&blocks->lists, &fresh);
        blocks->failed = blocks->failed || line->list[kind] == NULL;
    }
    return line->list[kind];
}

/* One of them writes, and one is weak. */
static bool conflicts(unsigned a, unsigned b)
{
    return ((a | b) & SMK_BLOCKS_STORES) != 0 && (a & b & SMK_BLOCKS_STRONG) == 0;
}

/* Does whatever conflicts with `old` conflict with `new`, too? */
static bool subsumes(unsigned new, unsigned old)
{
    return (old & SMK_BLOCKS_STORES & ~new) == 0 && (new &SMK_BLOCKS_STRONG & ~old) == 0;
}

/* The lanes of a record that the access does not come after. */
static uint32_t unordered(const smk_blocks_record *record, const smk_blocks_access *access)
{
    const smk_order *order = access->order;
    uint32_t lanes = record->lanes;
    if (record->block != order->block && (order->touched >> access->warp & 1) == 0) {
        return lanes; /* the warp knows nothing of other blocks */
    }
    if (record->block == order->block && record->warp == access->warp && record->time == order->now) {
        return lanes & ~(UINT32_C(1) << access->lane);
    }
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        uint32_t of = smk_bits_first(left);
        bool before =
            record->block == order->block
                ? smk_order_before(order, record->warp, of, record->time, access->warp, access->lane)
                : smk_order_knows(order, record->block, record->warp, of, record->time, access->warp, access->lane);
        lanes &= ~((uint32_t)before << of);
    }
    return lanes;
}

/* Takes the record at *at out of its list. */
static void unlink_record(smk_blocks *blocks, uint32_t *at, uint16_t *count)
{
    smk_blocks_record *record = record_of(blocks, *at);
    uint32_t index = *at;
    *at = record->next;
    record->next = blocks->free;
    blocks->free = index;
    (*count)--;
}

/* Judges the access against the records of a kind, and takes out those that it makes superfluous. */
static bool scan(smk_blocks *blocks, smk_blocks_list *list, unsigned kind, uint32_t i, const smk_blocks_access *access,
                 smk_blocks_record *made, smk_blocks_record *other)
{
    bool found = false, takes = subsumes(access->kind, kind);
    /* what is near and strong conflicts with other blocks' accesses, but not with strong ones of its own */
    bool takes_others = takes && !(access->strong && access->order->launch->near);
    uint32_t looked = 0;
    for (uint32_t *at = &list->first[i]; *at != 0 && !(found && looked > LOOKED_AT_FOUND); looked++) {
        smk_blocks_record *record = record_of(blocks, *at);
        bool own = record->block == access->order->block;
        uint32_t lanes = unordered(record, access);
        if (lanes != 0 && !own && !found) {
            *other = *record;
            other->lanes = lanes;
            found = true;
        }
        record->lanes = (own ? takes : takes_others) ? lanes : record->lanes;
        if (record->lanes == 0) {
            bool differs = record->varied || record->value != made->value;
            made->varied = made->varied || (own && (kind & SMK_BLOCKS_STORES) != 0 && differs);
            unlink_record(blocks, at, &list->count[i]);
        } else {
            at = &record->next;
        }
    }
    if (!found && (list->lost >> i & 1) != 0) {
        blocks->unsure++;
    }
    return found;
}

/* Joins one of the latest records, where that is of the same warp, instruction and time. */
static bool join(smk_blocks *blocks, smk_blocks_list *list, uint32_t i, const smk_blocks_record *made,
                 const smk_blocks_access *access)
{
    uint32_t *at = &list->first[i];
    for (uint32_t looked = 0; *at != 0 && looked < LOOKED_AT; looked++) {
        smk_blocks_record *record = record_of(blocks, *at);
        if (record->block == made->block && record->warp == made->warp) {
            bool same = record->time == made->time && record->place == made->place && record->value == made->value;
            record->lanes = same ? record->lanes : unordered(record, access);
            if (record->lanes == 0) {
                unlink_record(blocks, at, &list->count[i]);
                continue;
            }
            if (same) {
                record->lanes |= made->lanes;
                record->varied = record->varied || made->varied;
                return true;
            }
        }
        at = &record->next;
    }
    return false;
}

static void add(smk_blocks *blocks, smk_blocks_list *list, uint32_t i, const smk_blocks_record *made)
{
    bool fresh, many = blocks->records.used >= RECORDS_MANY && blocks->free == 0;
    uint32_t *first = &list->first[i];
    if (list->count[i] >= (many ? LIST_SHORT : LIST_MAX)) {
        list->lost |= UINT32_C(1) << i;
        unlink_record(blocks, first, &list->count[i]);
    }
    uint32_t at = blocks->free;
    smk_blocks_record *record = at == 0 ? smk_shadow_pool_take(&blocks->records, &fresh) : record_of(blocks, at);
    if (record == NULL) {
        blocks->failed = true;
        return;
    }
    if (at == 0) {
        at = blocks->records.used;
    } else {
        blocks->free = record->next;
    }
    *record = *made;
    record->next = *first;
    *first = at;
    list->count[i]++;
}

bool smk_blocks_note(smk_blocks *blocks, uint64_t cell, const smk_blocks_access *access, smk_blocks_record *other)
{
    smk_blocks_line *line = line_of(blocks, cell);
    uint32_t i = (uint32_t)(cell % CELLS);
    smk_blocks_record made = {.block = access->order->block,
                              .time = access->order->now,
                              .place = access->place,
                              .lanes = UINT32_C(1) << access->lane,
                              .value = access->plain ? access->value : 0,
                              .warp = (uint8_t)access->warp,
                              .kind = (uint8_t)access->kind};
    bool found = false;
    smk_blocks_list *own = line == NULL ? NULL : list_of(blocks, line, access->kind);
    if (own == NULL) {
        return false;
    }
    for (unsigned kind = 0; kind < SMK_BLOCKS_KINDS; kind++) {
        smk_blocks_list *list = conflicts(kind, access->kind) ? line->list[kind] : NULL;
        smk_blocks_record one;
        if (list != NULL && (list->first[i] != 0 || (list->lost >> i & 1) != 0) &&
            scan(blocks, list, kind, i, access, &made, &one) && !found) {
            *other = one;
            found = true;
        }
    }
    if (!join(blocks, own, i, &made, access)) {
        add(blocks, own, i, &made);
    }
    line->written |= (access->kind & SMK_BLOCKS_STORES) << i;
    return found;
}

bool smk_blocks_line_written(const smk_blocks_line *line, unsigned i)
{
    const smk_blocks_set *writes = line->set[SMK_BLOCKS_WRITE], *atomics = line->set[SMK_BLOCKS_ATOMIC];
    return (writes != NULL && writes->block[0][i] != 0) || (atomics != NULL && atomics->block[0][i] != 0) ||
           (line->written >> i & 1) != 0;
}

bool smk_blocks_written(smk_blocks *blocks, uint64_t cell)
{
    const smk_blocks_line *line = find(blocks, cell / CELLS, false);
    return line != NULL && smk_blocks_line_written(line, (unsigned)(cell % CELLS));
}
