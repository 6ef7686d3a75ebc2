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
    LIST_MAX = 4096, /* records of one kind of a cell */
    LIST_SHORT = 8,  /* the same where there are very many records in all */
    RECORDS_MANY = 1 << 23,
    LOOKED_AT = 16,      /* records that are compared with a new access */
    LOOKED_AT_FOUND = 64 /* the same once a race is found */
};

smk_status smk_race_grid_create(smk_race_grid *grid, unsigned shift, const uint8_t *flags, smk_error *error)
{
    *grid = (smk_race_grid){.shift = shift, .flags = flags, .slot_count = SLOTS_MIN};
    grid->lines.bytes = sizeof(smk_race_grid_line);
    grid->sets.bytes = sizeof(smk_race_grid_set);
    grid->lists.bytes = sizeof(smk_race_grid_list);
    grid->records.bytes = sizeof(smk_race_grid_record);
    grid->slot = smk_heap_allocate(SLOTS_MIN, sizeof *grid->slot);
    if (grid->slot == NULL || pthread_mutex_init(&grid->lock, NULL) != 0) {
        smk_heap_free(grid->slot);
        grid->slot = NULL;
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    return SMK_OK;
}

static void free_memory(smk_race_grid *grid)
{
    smk_heap_free(grid->slot);
    smk_shadow_pool_free(&grid->lines);
    smk_shadow_pool_free(&grid->sets);
    smk_shadow_pool_free(&grid->lists);
    smk_shadow_pool_free(&grid->records);
}

void smk_race_grid_free(smk_race_grid *grid)
{
    if (grid->slot != NULL) {
        (void)pthread_mutex_destroy(&grid->lock);
        free_memory(grid);
    }
}

static void *free_moved(void *context)
{
    free_memory(context);
    smk_heap_free(context);
    return NULL;
}

void smk_race_grid_free_later(smk_race_grid *grid)
{
    pthread_t thread;
    smk_race_grid *moved = grid->slot == NULL ? NULL : smk_heap_allocate(1, sizeof *moved);
    if (moved == NULL) {
        smk_race_grid_free(grid);
        return;
    }
    (void)pthread_mutex_destroy(&grid->lock);
    moved->slot = grid->slot;
    moved->lines = grid->lines;
    moved->sets = grid->sets;
    moved->lists = grid->lists;
    moved->records = grid->records;
    if (pthread_create(&thread, NULL, free_moved, moved) == 0) {
        (void)pthread_detach(thread);
    } else {
        (void)free_moved(moved);
    }
}

const smk_race_grid_line *smk_race_grid_get(const smk_race_grid *grid, uint32_t i)
{
    return smk_shadow_pool_get(&grid->lines, i);
}

static uint32_t hash(uint64_t number, uint32_t count)
{
    return (uint32_t)((number * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (count - 1);
}

static bool grow(smk_race_grid *grid)
{
    uint32_t count = 2 * grid->slot_count;
    uint32_t *slot = smk_heap_allocate(count, sizeof *slot);
    if (slot == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < grid->lines.used; i++) {
        const smk_race_grid_line *line = smk_race_grid_get(grid, i);
        uint32_t at = hash(line->number, count);
        while (slot[at] != 0) {
            at = (at + 1) & (count - 1);
        }
        slot[at] = i + 1;
    }
    smk_heap_free(grid->slot);
    grid->slot = slot;
    grid->slot_count = count;
    return true;
}

static smk_race_grid_line *find(smk_race_grid *grid, uint64_t number, bool make)
{
    bool fresh;
    if (make && grid->lines.used >= grid->slot_count / 2 && !grow(grid)) {
        grid->failed = true;
        return NULL;
    }
    uint32_t at = hash(number, grid->slot_count);
    while (grid->slot[at] != 0) {
        smk_race_grid_line *line = smk_shadow_pool_get(&grid->lines, grid->slot[at] - 1);
        if (line->number == number) {
            return line;
        }
        at = (at + 1) & (grid->slot_count - 1);
    }
    smk_race_grid_line *made = make ? smk_shadow_pool_take(&grid->lines, &fresh) : NULL;
    if (made != NULL) {
        made->number = number;
        grid->slot[at] = grid->lines.used;
    } else {
        grid->failed = grid->failed || make;
    }
    return made;
}

static smk_race_grid_set *set_of(smk_race_grid *grid, smk_race_grid_line *line, unsigned class)
{
    bool fresh;
    if (line->set[class] == NULL) {
        line->set[class] = smk_shadow_pool_take(&grid->sets, &fresh);
        grid->failed = grid->failed || line->set[class] == NULL;
    }
    return line->set[class];
}

static void put(smk_race_grid_set *set, unsigned at, uint32_t i, uint32_t block, uint32_t instruction_id,
                uint16_t thread)
{
    set->block[at][i] = block;
    set->instruction_id[at][i] = instruction_id;
    set->thread[at][i] = thread;
}

/* Blocks that cannot wait for each other --------------------------------------------------------------- */

/* Keeps the two lowest blocks. */
static void insert(smk_race_grid_set *set, uint32_t i, uint32_t block, uint32_t instruction_id, uint16_t thread)
{
    uint32_t low = set->block[0][i], next = set->block[1][i];
    if (low == 0 || block < low) {
        put(set, 1, i, low, set->instruction_id[0][i], set->thread[0][i]);
        put(set, 0, i, block, instruction_id, thread);
    } else if (block != low && (next == 0 || block < next)) {
        put(set, 1, i, block, instruction_id, thread);
    }
}

/* Records the value that a block has stored in a cell, before the block is inserted. */
static void note_value(smk_race_grid_set *set, uint32_t i, uint32_t value, bool varied)
{
    bool differs = varied || (set->block[0][i] != 0 && set->value[i] != value);
    set->varied |= (uint32_t)differs << i;
    set->value[i] = value;
}

/* Merges the lowest lane of each cell of a row that is not in `seen` yet. With `flags`, by instruction id, only strong
 * accesses; NULL: all. */
static void merge_row(smk_race_grid_set *set, const smk_shadow_row *row, uint32_t block, uint32_t warp, uint32_t begin,
                      const uint8_t *flags, uint32_t *seen)
{
    for (uint32_t i = 0; i < CELLS; i++) {
        if (row->time[i] < begin || (*seen >> i & 1) != 0 || row->lanes[i] == 0 ||
            (flags != NULL && (flags[row->instruction_id[i]] & SMK_RACE_STRONG) == 0)) {
            continue;
        }
        *seen |= UINT32_C(1) << i;
        uint32_t next = set->block[1][i];
        if (next == 0 || block < next) {
            insert(set, i, block, row->instruction_id[i], (uint16_t)(warp * 32 + smk_bits_first(row->lanes[i])));
        }
    }
}

/* Merges the rows of all warps; the lowest warp with a record of a cell counts. */
static void merge_rows(smk_race_grid *grid, smk_race_grid_line *to, unsigned class, smk_shadow_row *const *rows,
                       uint32_t warps, uint32_t block, uint32_t begin)
{
    uint32_t seen = 0;
    for (uint32_t left = warps; left != 0 && seen != UINT32_MAX; left &= left - 1) {
        uint32_t warp = smk_bits_first(left);
        smk_race_grid_set *set = rows[warp] == NULL ? NULL : set_of(grid, to, class);
        if (set == NULL) {
            continue;
        }
        for (const smk_shadow_row *row = rows[warp]; row != NULL; row = row->more) {
            merge_row(set, row, block, warp, begin, class == SMK_RACE_GRID_ATOMIC ? grid->flags : NULL, &seen);
        }
    }
}

static uint32_t find_done(const smk_race_grid_set *set)
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

static void merge_line(smk_race_grid *grid, smk_shadow *shadow, smk_shadow_line *from, uint32_t block, uint32_t begin)
{
    uint32_t written = 0, changed = 0;
    for (uint32_t i = 0; i < CELLS; i++) {
        written |= (uint32_t)(from->write_time[i] >= begin);
        changed |= (uint32_t)(from->atomic_time[i] >= begin);
    }
    smk_race_grid_line *to = find(grid, from->number, true);
    if (to == NULL || (!written && !changed && to->done != 0 && block > to->done)) {
        return;
    }
    for (uint32_t left = from->batch_loaders; left != 0; left &= left - 1) {
        smk_shadow_spread(shadow, from, smk_bits_first(left));
    }
    merge_rows(grid, to, SMK_RACE_GRID_READ, from->loads, from->loaders, block, begin);
    to->done = find_done(to->set[SMK_RACE_GRID_READ]);
    if (changed) {
        merge_rows(grid, to, SMK_RACE_GRID_ATOMIC, from->atomics, from->changers, block, begin);
    }
    smk_race_grid_set *set = written ? set_of(grid, to, SMK_RACE_GRID_WRITE) : NULL;
    for (uint32_t i = 0; i < CELLS && set != NULL; i++) {
        if (from->write_time[i] >= begin) {
            note_value(set, i, from->value[i], (from->varied >> i & 1) != 0);
            insert(set, i, block, from->write_id[i], from->write_thread[i]);
        }
    }
}

void smk_race_grid_merge(smk_race_grid *grid, smk_shadow *shadow, uint64_t block, uint32_t begin)
{
    (void)pthread_mutex_lock(&grid->lock);
    smk_shadow_line *line;
    for (uint32_t i = 0; (line = smk_shadow_get(shadow, i)) != NULL && !grid->failed; i++) {
        merge_line(grid, shadow, line, (uint32_t)block + 1, begin);
    }
    (void)pthread_mutex_unlock(&grid->lock);
}

/* Blocks that can wait for each other ---------------------------------------------------------------- */

static smk_race_grid_record *record_of(const smk_race_grid *grid, uint32_t at)
{
    return smk_shadow_pool_get(&grid->records, at - 1);
}

static smk_race_grid_line *line_of(smk_race_grid *grid, uint64_t cell)
{
    if (grid->last == NULL || grid->last->number != cell / CELLS) {
        grid->last = find(grid, cell / CELLS, true);
    }
    return grid->last;
}

static smk_race_grid_list *list_of(smk_race_grid *grid, smk_race_grid_line *line, unsigned kind)
{
    bool fresh;
    if (line->list[kind] == NULL) {
        line->list[kind] = smk_shadow_pool_take(&grid->lists, &fresh);
        grid->failed = grid->failed || line->list[kind] == NULL;
    }
    return line->list[kind];
}

/* Accesses conflict where at least one writes and at least one is weak. */
static bool conflicts(unsigned a, unsigned b)
{
    return ((a | b) & SMK_RACE_GRID_STORES) != 0 && (a & b & SMK_RACE_GRID_STRONG) == 0;
}

/* Does everything that conflicts with `old` also conflict with `new`? */
static bool subsumes(unsigned new, unsigned old)
{
    return (old & SMK_RACE_GRID_STORES & ~new) == 0 && (new &SMK_RACE_GRID_STRONG & ~old) == 0;
}

/* The lanes of a record whose access does not happen before this one. */
static uint32_t unordered(const smk_race_grid_record *record, const smk_race_grid_access *access)
{
    const smk_happens_before *order = access->order;
    uint32_t lanes = record->lanes;
    if (record->block != order->block && (order->touched >> access->warp & 1) == 0) {
        return lanes; /* the warp has acquired nothing of other blocks */
    }
    if (record->block == order->block && record->warp == access->warp && record->time == order->now) {
        return lanes & ~(UINT32_C(1) << access->lane);
    }
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        uint32_t other_lane = smk_bits_first(left);
        bool before =
            record->block == order->block
                ? smk_happens_before_holds(order, record->warp, other_lane, record->time, access->warp, access->lane)
                : smk_happens_before_by_clock(order, record->block, record->warp, other_lane, record->time,
                                              access->warp, access->lane);
        lanes &= ~((uint32_t)before << other_lane);
    }
    return lanes;
}

/* Removes the record at *at from its list. */
static void unlink_record(smk_race_grid *grid, uint32_t *at, uint16_t *count)
{
    smk_race_grid_record *record = record_of(grid, *at);
    uint32_t index = *at;
    *at = record->next;
    record->next = grid->free;
    grid->free = index;
    (*count)--;
}

/* Checks the access against the records of a kind, and removes those that it makes superfluous. */
static bool scan(smk_race_grid *grid, smk_race_grid_list *list, unsigned kind, uint32_t i,
                 const smk_race_grid_access *access, smk_race_grid_record *made, smk_race_grid_record *other)
{
    bool found = false, takes = subsumes(access->kind, kind);
    /* a strong access of block scope conflicts with accesses of other blocks, but not with strong ones of its own */
    bool takes_others = takes && !(access->strong && access->order->launch->block_scope);
    uint32_t looked = 0;
    for (uint32_t *at = &list->first[i]; *at != 0 && !(found && looked > LOOKED_AT_FOUND); looked++) {
        smk_race_grid_record *record = record_of(grid, *at);
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
            made->varied = made->varied || (own && (kind & SMK_RACE_GRID_STORES) != 0 && differs);
            unlink_record(grid, at, &list->count[i]);
        } else {
            at = &record->next;
        }
    }
    if (!found && (list->lost >> i & 1) != 0) {
        grid->unsure++;
    }
    return found;
}

/* Adds the lane to one of the latest records, if that has the same warp, instruction and time. */
static bool join(smk_race_grid *grid, smk_race_grid_list *list, uint32_t i, const smk_race_grid_record *made,
                 const smk_race_grid_access *access)
{
    uint32_t *at = &list->first[i];
    for (uint32_t looked = 0; *at != 0 && looked < LOOKED_AT; looked++) {
        smk_race_grid_record *record = record_of(grid, *at);
        if (record->block == made->block && record->warp == made->warp) {
            bool same = record->time == made->time && record->instruction_id == made->instruction_id &&
                        record->value == made->value;
            record->lanes = same ? record->lanes : unordered(record, access);
            if (record->lanes == 0) {
                unlink_record(grid, at, &list->count[i]);
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

static void add(smk_race_grid *grid, smk_race_grid_list *list, uint32_t i, const smk_race_grid_record *made)
{
    bool fresh, many = grid->records.used >= RECORDS_MANY && grid->free == 0;
    uint32_t *first = &list->first[i];
    if (list->count[i] >= (many ? LIST_SHORT : LIST_MAX)) {
        list->lost |= UINT32_C(1) << i;
        unlink_record(grid, first, &list->count[i]);
    }
    uint32_t at = grid->free;
    smk_race_grid_record *record = at == 0 ? smk_shadow_pool_take(&grid->records, &fresh) : record_of(grid, at);
    if (record == NULL) {
        grid->failed = true;
        return;
    }
    if (at == 0) {
        at = grid->records.used;
    } else {
        grid->free = record->next;
    }
    *record = *made;
    record->next = *first;
    *first = at;
    list->count[i]++;
}

bool smk_race_grid_note(smk_race_grid *grid, uint64_t cell, const smk_race_grid_access *access,
                        smk_race_grid_record *other)
{
    smk_race_grid_line *line = line_of(grid, cell);
    uint32_t i = (uint32_t)(cell % CELLS);
    smk_race_grid_record made = {.block = access->order->block,
                                 .time = access->order->now,
                                 .instruction_id = access->instruction_id,
                                 .lanes = UINT32_C(1) << access->lane,
                                 .value = access->plain ? access->value : 0,
                                 .warp = (uint8_t)access->warp,
                                 .kind = (uint8_t)access->kind};
    bool found = false;
    smk_race_grid_list *own = line == NULL ? NULL : list_of(grid, line, access->kind);
    if (own == NULL) {
        return false;
    }
    for (unsigned kind = 0; kind < SMK_RACE_GRID_KINDS; kind++) {
        smk_race_grid_list *list = conflicts(kind, access->kind) ? line->list[kind] : NULL;
        smk_race_grid_record candidate;
        if (list != NULL && (list->first[i] != 0 || (list->lost >> i & 1) != 0) &&
            scan(grid, list, kind, i, access, &made, &candidate) && !found) {
            *other = candidate;
            found = true;
        }
    }
    if (!join(grid, own, i, &made, access)) {
        add(grid, own, i, &made);
    }
    line->written |= (access->kind & SMK_RACE_GRID_STORES) << i;
    return found;
}

bool smk_race_grid_line_written(const smk_race_grid_line *line, unsigned i)
{
    const smk_race_grid_set *writes = line->set[SMK_RACE_GRID_WRITE], *atomics = line->set[SMK_RACE_GRID_ATOMIC];
    return (writes != NULL && writes->block[0][i] != 0) || (atomics != NULL && atomics->block[0][i] != 0) ||
           (line->written >> i & 1) != 0;
}

bool smk_race_grid_written(smk_race_grid *grid, uint64_t cell)
{
    const smk_race_grid_line *line = find(grid, cell / CELLS, false);
    return line != NULL && smk_race_grid_line_written(line, (unsigned)(cell % CELLS));
}
