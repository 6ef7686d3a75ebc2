#include "sim/check/race.h"

#include "sim/code/bits.h"
#include "sim/exec/access.h"

#include <string.h>

enum { CELLS = SMK_SHADOW_CELLS, VALUE_BYTES_MAX = 32, PADDED_BYTES = 8 };

/* Reports ---------------------------------------------------------------------------------------- */

static smk_finding_event present(const smk_warp_access *access, unsigned lane)
{
    return (smk_finding_event){
        .instruction_id = access->instruction_id,
        .kind = (uint8_t)access->event->kind,
        .space = access->space,
        .address = access->address[lane],
        .bytes = access->event->bytes,
        .block = access->race->block->number,
        .thread = access->index * SMK_WARP_SIZE + lane,
    };
}

static void report_pair(smk_warp_access *access, unsigned lane, uint64_t cell, uint32_t instruction_id, bool loads,
                        uint32_t other, bool same_value)
{
    smk_race *race = access->race;
    smk_finding_event first = smk_race_report_event(race->launch, instruction_id, loads, access->space,
                                                    cell << access->shadow->shift, race->block->number, other);
    smk_finding_event second = present(access, lane);
    second.same_value = same_value;
    if (access->space == SMK_SPACE_GLOBAL) {
        smk_race_report_global(race->launch, &first, &second, race->block->number, race->sequence++);
        return;
    }
    smk_finding_kind kind = other / SMK_WARP_SIZE == access->index ? SMK_FINDING_WARP_HAZARD : SMK_FINDING_RACE;
    smk_finding_add(&race->launch->sink, kind, &first, &second, race->block->number, race->sequence++, NULL);
}

static void report_async(smk_warp_access *access, unsigned lane, uint64_t cell, const smk_shadow_line *line, unsigned i)
{
    smk_race *race = access->race;
    smk_finding_event first = present(access, lane);
    smk_finding_event second =
        smk_race_report_event(race->launch, line->write_id[i], false, access->space, cell << access->shadow->shift,
                              race->block->number, line->write_thread[i]);
    smk_finding_add(&race->launch->sink, SMK_FINDING_ASYNC_READ, &first, &second, race->block->number, race->sequence++,
                    NULL);
}

static void report_unwritten(smk_warp_access *access, unsigned lane)
{
    smk_finding_event first = present(access, lane);
    smk_finding_add(&access->race->launch->sink, SMK_FINDING_UNINITIALIZED, &first, NULL, access->race->block->number,
                    access->race->sequence++, NULL);
}

/* Checks ------------------------------------------------------------------------------------------ */

/* The bytes that a lane is about to store. */
static void value_of(const smk_warp_access *access, unsigned lane, unsigned char *to)
{
    const smk_operation *op = access->event->op + 1; /* the store itself, behind the observer's operation */
    const uint32_t rows[SMK_ACCESS_ELEMENTS_MAX] = {op->d, op->b, op->c, op->d2};
    unsigned bytes = smk_access_element_bytes((smk_element)op->element);
    unsigned row_bytes = 8;
    switch ((smk_element)op->element) {
#define SMK_ELEMENT(id, in_memory, in_row)                                                                             \
    case SMK_ELEMENT_##id:                                                                                             \
        row_bytes = sizeof(in_row);                                                                                    \
        break;
#include "sim/code/element.def"
#undef SMK_ELEMENT
    case SMK_ELEMENT_COUNT:
        break;
    }
    for (unsigned e = 0; e < op->count && (e + 1) * bytes <= VALUE_BYTES_MAX; e++) {
        memcpy(to + e * bytes, access->warp->registers + rows[e] + (size_t)lane * row_bytes, bytes); /* little endian */
    }
}

uint32_t smk_race_value(const smk_warp_access *access, unsigned lane, uint64_t cell)
{
    unsigned char stored[VALUE_BYTES_MAX] = {0};
    uint32_t value = 0;
    uint64_t offset = (cell << access->shadow->shift) - access->address[lane];
    unsigned bytes = 1U << access->shadow->shift;
    if (offset <= VALUE_BYTES_MAX - bytes) {
        value_of(access, lane, stored);
        memcpy(&value, stored + offset, bytes);
    }
    return value;
}

/* Are the present access and the last write to the cell both stores, of one value? */
static bool repeats_value(const smk_warp_access *access, unsigned lane, uint64_t cell, const smk_shadow_line *line,
                          unsigned i)
{
    bool copied = line->write_time[i] == SMK_SHADOW_PENDING || line->issue_time[i] >= access->race->order.begin;
    return access->event->kind == SMK_ACCESS_STORE && !copied && line->value[i] == smk_race_value(access, lane, cell);
}

/* Does another lane write the cell in this very store? Where both write one value, that is no race. */
static bool is_same_store(const smk_warp_access *access, unsigned lane, unsigned other, uint64_t cell)
{
    uint64_t at = cell << access->shadow->shift;
    return access->event->kind == SMK_ACCESS_STORE && (access->mask >> other & 1) != 0 && other < lane &&
           at - access->address[other] < access->event->bytes;
}

static bool are_in_step(const smk_warp_access *access, uint32_t warp)
{
    return warp == access->index && access->space == SMK_SPACE_SHARED;
}

static void check_write(smk_warp_access *access, unsigned lane, uint64_t cell, const smk_shadow_line *line, unsigned i)
{
    const smk_race *race = access->race;
    uint32_t other = line->write_thread[i], warp = other / SMK_WARP_SIZE;
    bool own = other == access->index * SMK_WARP_SIZE + lane, pending = line->write_time[i] == SMK_SHADOW_PENDING;
    if ((access->reported_lanes >> lane & 1) != 0 || (own && pending && access->event->kind == SMK_ACCESS_COPY)) {
        return;
    }
    if (pending && (race->launch->flags[line->write_id[i]] & SMK_RACE_LANDS) != 0 &&
        (smk_race_bulk_has_landed(race, line, i, access->index, lane) ||
         (access->flags & race->launch->flags[line->write_id[i]] & SMK_RACE_ATOMIC) != 0)) {
        return; /* two reductions do not race either */
    }
    /* the issue of the copy happens before this access and its completion does not: a wait is missing */
    bool copied = pending || line->issue_time[i] >= race->order.begin;
    if (copied &&
        (pending || !smk_happens_before_holds(&race->order, warp, other % SMK_WARP_SIZE, line->write_time[i],
                                              access->index, lane)) &&
        smk_happens_before_holds(&race->order, warp, other % SMK_WARP_SIZE, line->issue_time[i], access->index, lane)) {
        report_async(access, lane, cell, line, i);
        access->reported_lanes |= UINT32_C(1) << lane;
        return;
    }
    if ((!pending && smk_happens_before_holds(&race->order, warp, other % SMK_WARP_SIZE, line->write_time[i],
                                              access->index, lane)) ||
        smk_race_excuses(access->flags, race->launch->flags[line->write_id[i]], are_in_step(access, warp))) {
        return;
    }
    bool same = repeats_value(access, lane, cell, line, i);
    if (same && warp == access->index && line->write_id[i] == access->instruction_id &&
        is_same_store(access, lane, other % SMK_WARP_SIZE, cell)) {
        return;
    }
    report_pair(access, lane, cell, line->write_id[i], false, other, same);
    access->reported_lanes |= UINT32_C(1) << lane;
}

/* The lanes of a record whose access does not happen before this one. */
static uint32_t unordered(const smk_warp_access *access, const smk_shadow_row *row, unsigned i, uint32_t warp,
                          unsigned lane)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t left = row->lanes[i], time = row->time[i], found = 0;
    if (time <= (warp == access->index ? order->synced[warp] : order->warp_clock[access->index][warp])) {
        return 0;
    }
    if (warp != access->index && (order->touched >> access->index & 1) == 0) {
        return left;
    }
    for (left &= warp == access->index ? ~(UINT32_C(1) << lane) : UINT32_MAX; left != 0; left &= left - 1) {
        unsigned other_lane = smk_bits_first(left);
        found |= smk_happens_before_holds(order, warp, other_lane, time, access->index, lane)
                     ? 0
                     : UINT32_C(1) << other_lane;
    }
    return found;
}

/* Without the lanes that store the same value in this very store. */
static uint32_t drop_same_store(const smk_warp_access *access, unsigned lane, uint64_t cell, uint32_t lanes)
{
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        unsigned other_lane = smk_bits_first(left);
        bool same = is_same_store(access, lane, other_lane, cell) &&
                    smk_race_value(access, lane, cell) == smk_race_value(access, other_lane, cell);
        lanes &= ~((uint32_t)same << other_lane);
    }
    return lanes;
}

static bool is_plain_store(smk_access_kind kind, uint8_t flags)
{
    return kind == SMK_ACCESS_STORE && (flags & SMK_RACE_STRONG) == 0;
}

/* Are this access and the instruction `instruction_id` weak stores, and have all weak stores of the block to the cell
 * had one value? */
static bool is_repeated(const smk_warp_access *access, unsigned lane, uint64_t cell, const smk_shadow_line *line,
                        unsigned i, uint32_t instruction_id)
{
    const smk_race_launch *launch = access->race->launch;
    smk_access_kind kind =
        (smk_access_kind)smk_race_report_event(launch, instruction_id, false, access->space, 0, 0, 0).kind;
    return is_plain_store(access->event->kind, access->flags) && is_plain_store(kind, launch->flags[instruction_id]) &&
           (line->varied >> i & 1) == 0 && line->value[i] == smk_race_value(access, lane, cell);
}

/* Checks an access against recorded loads, or against recorded atomic operations and stores, of all warps. Reports at
 * most one access of another warp, and one of this warp. */
static void check_rows(smk_warp_access *access, unsigned lane, uint64_t cell, const smk_shadow_line *line, unsigned i,
                       bool loads)
{
    const smk_race *race = access->race;
    smk_shadow_row *const *rows = loads ? line->loads : line->atomics;
    uint32_t warps = loads ? line->loaders : line->changers;
    bool reported = (access->reported_lanes >> lane & 1) != 0;
    for (uint32_t left = warps; left != 0; left &= left - 1) {
        uint32_t warp = smk_bits_first(left);
        bool found = false;
        if (rows[warp] == NULL || (reported && warp != access->index)) {
            continue;
        }
        for (const smk_shadow_row *row = rows[warp]; row != NULL && row->latest > race->order.base; row = row->more) {
            uint32_t lanes = row->time[i] > race->order.base ? unordered(access, row, i, warp, lane) : 0;
            if (lanes == 0 || smk_race_excuses(access->flags, race->launch->flags[row->instruction_id[i]],
                                               are_in_step(access, warp))) {
                continue;
            }
            if (warp == access->index && row->instruction_id[i] == access->instruction_id &&
                row->time[i] == race->order.now) {
                lanes = drop_same_store(access, lane, cell, lanes);
                if (lanes == 0) {
                    continue;
                }
            }
            report_pair(access, lane, cell, row->instruction_id[i], loads, warp * SMK_WARP_SIZE + smk_bits_first(lanes),
                        is_repeated(access, lane, cell, line, i, row->instruction_id[i]));
            found = true;
        }
        reported = reported || (found && warp != access->index);
        access->reported_lanes |= found ? UINT32_C(1) << lane : 0;
    }
}

/* Is an unwritten cell of a load padding, as of {char, double}, which are copied in pieces of 8 bytes? The first byte of
 * such a piece has been written, by a thread of the block or before. */
static bool is_padding(smk_warp_access *access, uint64_t cell)
{
    const smk_access_event *event = access->event;
    const unsigned shift = access->shadow->shift, bytes = event->bytes / event->op[1].count;
    if (event->kind != SMK_ACCESS_LOAD || event->used != NULL || bytes != PADDED_BYTES) {
        return false;
    }
    const uint64_t piece = (cell << shift) / bytes * bytes, first = piece >> shift;
    const smk_shadow_line *line = first == cell ? NULL : smk_shadow_find(access->shadow, first / CELLS);
    const unsigned i = (unsigned)(first % CELLS);
    if (line != NULL &&
        (line->write_time[i] >= access->race->order.begin || line->atomic_time[i] >= access->race->order.begin)) {
        return true;
    }
    const smk_allocation *allocation = access->space == SMK_SPACE_GLOBAL ? access->race->allocation : NULL;
    return allocation != NULL && piece - allocation->address < allocation->bytes &&
           smk_memory_view_is_initialized(allocation, piece - allocation->address, 1);
}

static void check_written(smk_warp_access *access, unsigned lane, uint64_t cell)
{
    smk_race *race = access->race;
    uint32_t bit = UINT32_C(1) << lane;
    if ((access->reported_lanes & bit) != 0) {
        return;
    }
    if (access->space == SMK_SPACE_GLOBAL) {
        const smk_allocation *allocation = race->allocation;
        uint64_t address = cell << access->shadow->shift;
        if (allocation == NULL || address - allocation->address >= allocation->bytes) {
            allocation = smk_bounds_find_allocation(race, address) ? race->allocation : NULL;
        }
        if (allocation == NULL || race->allocation_initialized ||
            smk_memory_view_is_initialized(allocation, address - allocation->address,
                                           UINT64_C(1) << access->shadow->shift) ||
            (race->launch->ordered && smk_race_grid_written(&race->launch->grid, cell))) {
            return;
        }
    } else if (smk_image_is_reserved(race->block->run->image, cell << access->shadow->shift)) {
        return;
    }
    if (is_padding(access, cell)) {
        return;
    }
    const bool deferred = access->space == SMK_SPACE_SHARED && access->event->kind == SMK_ACCESS_LOAD &&
                          smk_undefined_defer(race, access->warp, access->event, lane, access->address[lane],
                                              cell << access->shadow->shift);
    if (!deferred) {
        report_unwritten(access, lane);
        access->reported_lanes |= bit;
    }
}

/* Accesses of a lane ----------------------------------------------------------------------------- */

static void check_loads(smk_warp_access *access, unsigned lane, uint64_t cell, smk_shadow_line *line, unsigned i)
{
    for (uint32_t left = line->batch_loaders; left != 0; left &= left - 1) {
        smk_shadow_spread(access->shadow, line, smk_bits_first(left));
    }
    check_rows(access, lane, cell, line, i, true);
}

static void judge_load(smk_warp_access *access, unsigned lane, uint64_t cell, smk_shadow_line *line, unsigned i)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t written = line->write_time[i], base = order->base;
    if (written > base) {
        check_write(access, lane, cell, line, i);
    } else if (written < order->begin && line->atomic_time[i] < order->begin) {
        check_written(access, lane, cell);
    }
    if (line->atomic_time[i] > base) {
        check_rows(access, lane, cell, line, i, false);
    }
    line->loaders |= UINT32_C(1) << access->index;
    smk_shadow_settle(access->shadow, line, access->index);
    smk_shadow_row *row = smk_shadow_row_of(access->shadow, &line->loads[access->index]);
    if (row != NULL) {
        line->latest_read = order->now;
        smk_race_note_row(access, lane, row, i);
    }
}

static void judge_store(smk_warp_access *access, unsigned lane, uint64_t cell, smk_shadow_line *line, unsigned i)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t base = order->base;
    if (line->write_time[i] > base) {
        check_write(access, lane, cell, line, i);
    }
    if (line->latest_read > base) {
        check_loads(access, lane, cell, line, i);
    }
    if (line->atomic_time[i] > base) {
        check_rows(access, lane, cell, line, i, false);
    }
    bool copy = access->event->kind == SMK_ACCESS_COPY;
    if ((access->flags & SMK_RACE_STRONG) !=
        0) { /* a later strong store does not race with this one, and must not replace its record */
        smk_shadow_note_written(line, UINT32_C(1) << i, order->begin);
        smk_race_note_change(access, lane, line, i);
        return;
    }
    if (line->write_time[i] > base && line->write_time[i] != SMK_SHADOW_PENDING) {
        smk_race_note_previous_write(access, lane, line, i);
    }
    smk_race_note_write(access, lane, cell, line, i, copy ? SMK_SHADOW_PENDING : order->now);
    line->issue_time[i] = copy ? order->now : 0;
}

static void judge_atomic(smk_warp_access *access, unsigned lane, uint64_t cell, smk_shadow_line *line, unsigned i)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t base = order->base;
    if (line->write_time[i] > base) {
        check_write(access, lane, cell, line, i);
    } else if (line->write_time[i] < order->begin && line->atomic_time[i] < order->begin) {
        check_written(access, lane, cell);
    }
    if (line->latest_read > base) {
        check_loads(access, lane, cell, line, i);
    }
    if (line->latest_kept > base) {
        check_rows(access, lane, cell, line, i, false);
    }
    smk_race_note_change(access, lane, line, i);
}

/* Checks an access against those of other blocks, where blocks can wait for each other. */
static void judge_grid(smk_warp_access *access, unsigned lane, uint64_t cell)
{
    smk_race *race = access->race;
    smk_race_launch *launch = race->launch;
    bool strong = (access->flags & (SMK_RACE_STRONG | SMK_RACE_BLOCK_SCOPE)) == SMK_RACE_STRONG;
    bool loads = access->event->kind == SMK_ACCESS_LOAD, plain = is_plain_store(access->event->kind, access->flags);
    smk_race_grid_access recorded = {.order = &race->order,
                                     .kind = (loads ? 0U : SMK_RACE_GRID_STORES) | (strong ? SMK_RACE_GRID_STRONG : 0U),
                                     .warp = access->index,
                                     .lane = lane,
                                     .instruction_id = access->instruction_id,
                                     .strong = (access->flags & SMK_RACE_STRONG) != 0,
                                     .plain = plain,
                                     .value = plain ? smk_race_value(access, lane, cell) : 0};
    smk_race_grid_record other;
    if (!smk_race_grid_note(&launch->grid, cell, &recorded, &other) || (access->reported_lanes >> lane & 1) != 0) {
        return;
    }
    smk_finding_event first = smk_race_report_event(
        launch, other.instruction_id, (other.kind & SMK_RACE_GRID_STORES) == 0, access->space,
        cell << access->shadow->shift, other.block, other.warp * SMK_WARP_SIZE + smk_bits_first(other.lanes));
    smk_finding_event second = present(access, lane);
    first.same_value = second.same_value =
        plain && is_plain_store((smk_access_kind)first.kind, launch->flags[other.instruction_id]) && !other.varied &&
        other.value == recorded.value;
    bool turned =
        first.instruction_id > second.instruction_id; /* without an order between them, the order of the program text
                                                       * decides */
    smk_race_report_global(launch, turned ? &second : &first, turned ? &first : &second, race->block->number,
                           race->sequence++);
    access->reported_lanes |= UINT32_C(1) << lane;
}

/* Whole accesses ---------------------------------------------------------------------------------- */

/* The common case of reading a tile: loads of cells that no thread has written since the last barrier. True where the
 * load is recorded and needs no further check. */
static bool judge_plain_load(smk_warp_access *access, smk_shadow_line *line, unsigned i, uint32_t lanes)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t written = line->write_time[i], now = order->now;
    smk_shadow_row *row = line->loads[access->index];
    if (row == NULL || (access->flags & SMK_RACE_STRONG) != 0 || written < order->begin || written > order->base ||
        line->atomic_time[i] > order->base) {
        return false;
    }
    smk_shadow_settle(access->shadow, line, access->index);
    uint32_t time = row->time[i], synced = order->synced[access->index],
             past = synced > order->base ? synced : order->base;
    if ((time > past && (time != now || row->instruction_id[i] != access->instruction_id)) ||
        (row->more != NULL && row->more->latest > past)) {
        return false;
    }
    row->lanes[i] = (time > past ? row->lanes[i] : 0) | lanes;
    row->instruction_id[i] = access->instruction_id;
    row->time[i] = row->latest = line->latest_read = now;
    return true;
}

static void judge_lane(smk_warp_access *access, unsigned lane, uint32_t alike)
{
    unsigned shift = access->shadow->shift;
    unsigned bytes = access->event->used != NULL ? access->event->used[lane] : access->event->bytes;
    uint64_t cell = access->address[lane] >> shift, last = (access->address[lane] + bytes - 1) >> shift;
    bool load = access->event->kind == SMK_ACCESS_LOAD,
         global_ordered = access->space == SMK_SPACE_GLOBAL && access->race->launch->ordered;
    for (; cell <= last; cell++) {
        smk_shadow_line *line = smk_shadow_find(access->shadow, cell / CELLS);
        unsigned i = (unsigned)(cell % CELLS);
        if (line == NULL) {
            return;
        }
        if (load && !global_ordered && judge_plain_load(access, line, i, alike)) {
            continue;
        }
        for (uint32_t left = alike; left != 0; left &= left - 1) {
            unsigned reader = smk_bits_first(left);
            if (load) {
                judge_load(access, reader, cell, line, i);
            } else if (access->event->kind == SMK_ACCESS_ATOMIC) {
                judge_atomic(access, reader, cell, line, i);
            } else {
                judge_store(access, reader, cell, line, i);
            }
            if (global_ordered) {
                judge_grid(access, reader, cell);
            }
        }
    }
}

/* The lanes of `mask` with the address of `lane`, which share a broadcast. */
static uint32_t lanes_of_broadcast(const uint64_t *address, uint32_t mask, unsigned lane)
{
    uint32_t same = 0;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        same |= (uint32_t)(address[i] == address[lane]) << i;
    }
    return same & mask;
}

static void judge(smk_warp_access *access, uint32_t lanes)
{
    bool groups = access->event->kind == SMK_ACCESS_LOAD && access->event->used == NULL;
    if (access->shadow->failed) {
        return;
    }
    for (uint32_t left = lanes; left != 0;) {
        unsigned lane = smk_bits_first(left);
        uint32_t alike = UINT32_C(1) << lane, next = left & (left - 1);
        if (groups && next != 0 &&
            (access->address[smk_bits_first(next)] == access->address[lane] ||
             access->address[smk_bits_last(left)] == access->address[lane] ||
             access->address[lane ^ 16] == access->address[lane])) {
            alike = lanes_of_broadcast(access->address, left, lane);
        }
        judge_lane(access, lane, alike);
        left &= ~alike;
    }
}

/* Releases and acquires of a strong access. Each element of a vector is an access of its own. */
static void synchronize_words(smk_warp_access *access)
{
    smk_happens_before *order = &access->race->order;
    smk_access_kind kind = access->event->kind;
    unsigned count = kind == SMK_ACCESS_ATOMIC ? 1 : access->event->op[1].count, bytes = access->event->bytes / count;
    smk_happens_before_access strong = {.warp = access->index,
                                        .shared = access->space == SMK_SPACE_SHARED,
                                        .block_scope = (access->flags & SMK_RACE_BLOCK_SCOPE) != 0,
                                        .acquire = (access->flags & SMK_RACE_ACQUIRE) != 0,
                                        .release = (access->flags & SMK_RACE_RELEASE) != 0,
                                        .atomic = kind == SMK_ACCESS_ATOMIC};
    for (uint32_t left = access->mask; left != 0; left &= left - 1) {
        strong.lane = smk_bits_first(left);
        for (unsigned i = 0; i < count; i++) {
            strong.address = access->address[strong.lane] + i * bytes;
            if (kind != SMK_ACCESS_STORE) {
                smk_happens_before_read(order, &strong);
            }
            if (kind != SMK_ACCESS_LOAD) {
                smk_happens_before_write(order, &strong);
            }
        }
    }
}

/* A weak write clears what was released to its addresses. */
static void overwrite_words(const smk_warp_access *access)
{
    bool shared = access->space == SMK_SPACE_SHARED;
    for (uint32_t left = smk_happens_before_has_words(&access->race->order, shared) ? access->mask : 0; left != 0;
         left &= left - 1) {
        uint64_t address = access->address[smk_bits_first(left)];
        for (unsigned at = 0; at < access->event->bytes; at += 1U << access->shadow->shift) {
            smk_happens_before_overwrite(&access->race->order, shared, address + at);
        }
    }
}

static uint32_t judge_space(smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space,
                            const uint64_t *address, uint32_t mask)
{
    const smk_operation *op = event->op;
    smk_warp_access access = {.race = race,
                              .warp = warp,
                              .event = event,
                              .shadow = space == SMK_SPACE_SHARED ? &race->shared : &race->global,
                              .address = address,
                              .space = space,
                              .index = warp->control->index,
                              .instruction_id =
                                  smk_finding_instruction_id(&race->launch->ids, op->function, op->instruction),
                              .mask = mask};
    bool kept = space == SMK_SPACE_SHARED || space == SMK_SPACE_GLOBAL;
    access.flags = race->launch->flags[access.instruction_id];
    if (event->used != NULL && (access.flags & SMK_RACE_ATOMIC) != 0) {
        access.flags = 0; /* the source of a reduction: a plain load */
    }
    race->order.last[access.index] = race->order.now;
    uint32_t refused = 0, overruns = smk_bounds_check_origin(race, warp, event, space, address, mask, &refused);
    if (overruns != 0) { /* their accesses outside the origin are not checked for races with other threads */
        access.mask = mask &= ~overruns;
        if (mask == 0) {
            return overruns & ~refused;
        }
    }
    bool padded = race->launch->padded && space == SMK_SPACE_SHARED; /* the end of a variable is not the end of shared
                                                                      * memory */
    uint32_t left = kept && !padded ? smk_race_warp_judge(&access) : mask;
    if (left != 0) {
        uint32_t good = smk_bounds_check(race, warp, event, space, address, left);
        access.mask = mask = (mask & ~left) | good;
        if (!kept || good == 0) {
            return mask | (overruns & ~refused);
        }
        if (race->order.lane != NULL && (access.flags & SMK_RACE_STRONG) != 0) {
            synchronize_words(&access); /* an acquiring access happens after what it acquires */
        }
        judge(&access, good);
    }
    if (race->order.lane != NULL && (access.flags & SMK_RACE_RELEASE) != 0) {
        smk_happens_before_tick(&race->order);
    } else if (race->order.lane != NULL && (access.flags & SMK_RACE_STRONG) == 0 && event->kind != SMK_ACCESS_LOAD) {
        overwrite_words(&access);
    }
    return mask | (overruns & ~refused);
}

static uint32_t access_space(smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space,
                             const uint64_t *address, uint32_t mask)
{
    uint32_t good = judge_space(race, warp, event, space, address, mask);
    if (race->launch->undefined.active && good != 0) {
        smk_undefined_access(race, warp, event, space, address, good);
    }
    return good;
}

uint32_t smk_race_check(void *state, const smk_warp *warp, const smk_access_event *event)
{
    smk_race *race = state;
    if (event->space != SMK_SPACE_GENERIC) {
        return access_space(race, warp, event, event->space, event->address, event->mask);
    }
    uint64_t address[SMK_WARP_SIZE] = {0};
    uint32_t mask[SMK_SPACE_PARAM + 1] = {0}, good = 0;
    for (uint32_t left = event->mask; left != 0; left &= left - 1) {
        unsigned lane = smk_bits_first(left);
        address[lane] = event->address[lane];
        mask[smk_access_settle(SMK_SPACE_GENERIC, &address[lane])] |= UINT32_C(1) << lane;
    }
    for (unsigned space = SMK_SPACE_GLOBAL; space <= SMK_SPACE_PARAM; space++) {
        if (mask[space] != 0) {
            good |= access_space(race, warp, event, (smk_space)space, address, mask[space]);
        }
    }
    return good;
}

void smk_race_complete_copy(smk_race *race, uint32_t warp, const smk_pending_copy *copy)
{
    unsigned shift = race->shared.shift;
    for (uint64_t cell = copy->address >> shift; cell <= (copy->address + copy->bytes - 1U) >> shift; cell++) {
        smk_shadow_line *line = smk_shadow_find(&race->shared, cell / CELLS);
        unsigned i = (unsigned)(cell % CELLS);
        if (line != NULL && line->write_time[i] == SMK_SHADOW_PENDING &&
            line->write_thread[i] == warp * SMK_WARP_SIZE + copy->lane) {
            line->write_time[i] = race->order.now;
        }
    }
}
