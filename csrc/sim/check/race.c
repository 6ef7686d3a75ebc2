#include "sim/check/race.h"

#include "sim/code/bits.h"
#include "sim/exec/access.h"

#include <string.h>

enum { CELLS = SMK_SHADOW_CELLS, LANES = 32, VALUE_BYTES_MAX = 32 };

/* Reports ---------------------------------------------------------------------------------------- */

static smk_finding_event present(const smk_race_one *j, unsigned lane)
{
    return (smk_finding_event){
        .place = j->place,
        .kind = (uint8_t)j->event->kind,
        .space = j->space,
        .address = j->address[lane],
        .bytes = j->event->bytes,
        .block = j->race->block->number,
        .thread = j->index * LANES + lane,
    };
}

static void report_pair(smk_race_one *j, unsigned lane, uint64_t cell, uint32_t place, bool loads, uint32_t other,
                        bool same_value)
{
    smk_race *race = j->race;
    smk_finding_kind kind = j->space == SMK_SPACE_GLOBAL ? SMK_FINDING_GLOBAL_RACE
                            : other / LANES == j->index  ? SMK_FINDING_WARP_HAZARD
                                                         : SMK_FINDING_RACE;
    smk_finding_event first =
        smk_race_former(race->launch, place, loads, j->space, cell << j->shadow->shift, race->block->number, other);
    smk_finding_event second = present(j, lane);
    second.same_value = same_value;
    smk_finding_add(&race->launch->sink, kind, &first, &second, race->block->number, race->sequence++, NULL);
}

static void report_async(smk_race_one *j, unsigned lane, uint64_t cell, const smk_shadow_line *line, unsigned i)
{
    smk_race *race = j->race;
    smk_finding_event first = present(j, lane);
    smk_finding_event second = smk_race_former(race->launch, line->wplace[i], false, j->space, cell << j->shadow->shift,
                                               race->block->number, line->wwho[i]);
    smk_finding_add(&race->launch->sink, SMK_FINDING_ASYNC_READ, &first, &second, race->block->number, race->sequence++,
                    NULL);
}

static void report_unwritten(smk_race_one *j, unsigned lane)
{
    smk_finding_event first = present(j, lane);
    smk_finding_add(&j->race->launch->sink, SMK_FINDING_UNINITIALIZED, &first, NULL, j->race->block->number,
                    j->race->sequence++, NULL);
}

/* Checks ------------------------------------------------------------------------------------------ */

/* What a lane is about to store. */
static void value_of(const smk_race_one *j, unsigned lane, unsigned char *to)
{
    const smk_operation *op = j->event->op + 1; /* the store itself, as instrument.c puts it */
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
        memcpy(to + e * bytes, j->warp->registers + rows[e] + (size_t)lane * row_bytes, bytes); /* little endian */
    }
}

uint32_t smk_race_value(const smk_race_one *j, unsigned lane, uint64_t cell)
{
    unsigned char stored[VALUE_BYTES_MAX] = {0};
    uint32_t value = 0;
    uint64_t offset = (cell << j->shadow->shift) - j->address[lane];
    unsigned bytes = 1U << j->shadow->shift;
    if (offset <= VALUE_BYTES_MAX - bytes) {
        value_of(j, lane, stored);
        memcpy(&value, stored + offset, bytes);
    }
    return value;
}

/* Is the present access a store, as the last write to the cell was, and of the same value? */
static bool repeats_value(const smk_race_one *j, unsigned lane, uint64_t cell, const smk_shadow_line *line, unsigned i)
{
    bool copied = line->wtime[i] == SMK_SHADOW_PENDING || line->itime[i] >= j->race->order.begin;
    return j->event->kind == SMK_ACCESS_STORE && !copied && line->value[i] == smk_race_value(j, lane, cell);
}

/* Was the last write to the cell that of a lane in the same store? Where both write one value, no harm is done. */
static bool is_same_store(const smk_race_one *j, unsigned lane, unsigned other, uint64_t cell)
{
    uint64_t at = cell << j->shadow->shift;
    return j->event->kind == SMK_ACCESS_STORE && (j->mask >> other & 1) != 0 && other < lane &&
           at - j->address[other] < j->event->bytes;
}

static bool are_in_step(const smk_race_one *j, uint32_t warp)
{
    return warp == j->index && j->space == SMK_SPACE_SHARED;
}

static void check_write(smk_race_one *j, unsigned lane, uint64_t cell, const smk_shadow_line *line, unsigned i)
{
    const smk_race *race = j->race;
    uint32_t other = line->wwho[i], warp = other / LANES;
    bool own = other == j->index * LANES + lane, pending = line->wtime[i] == SMK_SHADOW_PENDING;
    if ((j->blamed >> lane & 1) != 0 || (own && pending && j->event->kind == SMK_ACCESS_COPY)) {
        return;
    }
    /* who knows that the copy was issued, and not that it has landed, has not waited, or the copy's thread had not */
    bool copied = pending || line->itime[i] >= race->order.begin;
    if (copied && (pending || !smk_order_before(&race->order, warp, other % LANES, line->wtime[i], j->index, lane)) &&
        smk_order_before(&race->order, warp, other % LANES, line->itime[i], j->index, lane)) {
        report_async(j, lane, cell, line, i);
        j->blamed |= UINT32_C(1) << lane;
        return;
    }
    if ((!pending && smk_order_before(&race->order, warp, other % LANES, line->wtime[i], j->index, lane)) ||
        smk_race_excuses(j->flags, race->launch->flags[line->wplace[i]], are_in_step(j, warp))) {
        return;
    }
    bool same = repeats_value(j, lane, cell, line, i);
    if (same && warp == j->index && line->wplace[i] == j->place && is_same_store(j, lane, other % LANES, cell)) {
        return;
    }
    report_pair(j, lane, cell, line->wplace[i], false, other, same);
    j->blamed |= UINT32_C(1) << lane;
}

/* The lanes of a record that nothing orders before this one. */
static uint32_t unordered(const smk_race_one *j, const smk_shadow_row *row, unsigned i, uint32_t warp, unsigned lane)
{
    const smk_order *order = &j->race->order;
    uint32_t left = row->lanes[i], time = row->time[i], found = 0;
    if (time <= (warp == j->index ? order->full[warp] : order->known[j->index][warp])) {
        return 0;
    }
    if (warp != j->index && (order->touched >> j->index & 1) == 0) {
        return left;
    }
    for (left &= warp == j->index ? ~(UINT32_C(1) << lane) : UINT32_MAX; left != 0; left &= left - 1) {
        unsigned of = smk_bits_first(left);
        found |= smk_order_before(order, warp, of, time, j->index, lane) ? 0 : UINT32_C(1) << of;
    }
    return found;
}

/* But for lanes that store the same value by this very instruction. */
static uint32_t drop_same_store(const smk_race_one *j, unsigned lane, uint64_t cell, uint32_t lanes)
{
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        unsigned of = smk_bits_first(left);
        bool same = is_same_store(j, lane, of, cell) && smk_race_value(j, lane, cell) == smk_race_value(j, of, cell);
        lanes &= ~((uint32_t)same << of);
    }
    return lanes;
}

static bool is_plain_store(smk_access_kind kind, uint8_t flags)
{
    return kind == SMK_ACCESS_STORE && (flags & SMK_RACE_STRONG) == 0;
}

/* Is this a plain store, as that at `place` was, and have all such stores of the block to the cell had one value? */
static bool is_repeated(const smk_race_one *j, unsigned lane, uint64_t cell, const smk_shadow_line *line, unsigned i,
                        uint32_t place)
{
    const smk_race_launch *launch = j->race->launch;
    smk_access_kind kind = (smk_access_kind)smk_race_former(launch, place, false, j->space, 0, 0, 0).kind;
    return is_plain_store(j->event->kind, j->flags) && is_plain_store(kind, launch->flags[place]) &&
           (line->varied >> i & 1) == 0 && line->value[i] == smk_race_value(j, lane, cell);
}

/* Against the loads, or atomic operations and stores that the last write says nothing of, of all warps: one report of another warp's, and one of this. */
static void check_rows(smk_race_one *j, unsigned lane, uint64_t cell, const smk_shadow_line *line, unsigned i,
                       bool loads)
{
    const smk_race *race = j->race;
    smk_shadow_row *const *rows = loads ? line->loads : line->atomics;
    uint32_t warps = loads ? line->loaders : line->changers;
    bool reported = (j->blamed >> lane & 1) != 0;
    for (uint32_t left = warps; left != 0; left &= left - 1) {
        uint32_t warp = smk_bits_first(left);
        bool found = false;
        if (rows[warp] == NULL || (reported && warp != j->index)) {
            continue;
        }
        for (const smk_shadow_row *row = rows[warp]; row != NULL && row->most > race->order.base; row = row->more) {
            uint32_t lanes = row->time[i] > race->order.base ? unordered(j, row, i, warp, lane) : 0;
            if (lanes == 0 || smk_race_excuses(j->flags, race->launch->flags[row->place[i]], are_in_step(j, warp))) {
                continue;
            }
            if (warp == j->index && row->place[i] == j->place && row->time[i] == race->order.now) {
                lanes = drop_same_store(j, lane, cell, lanes);
                if (lanes == 0) {
                    continue;
                }
            }
            report_pair(j, lane, cell, row->place[i], loads, warp * LANES + smk_bits_first(lanes),
                        is_repeated(j, lane, cell, line, i, row->place[i]));
            found = true;
        }
        reported = reported || (found && warp != j->index);
        j->blamed |= found ? UINT32_C(1) << lane : 0;
    }
}

static void check_written(smk_race_one *j, unsigned lane, uint64_t cell)
{
    smk_race *race = j->race;
    uint32_t bit = UINT32_C(1) << lane;
    if ((j->blamed & bit) != 0) {
        return;
    }
    if (j->space == SMK_SPACE_GLOBAL) {
        const smk_span *span = race->span;
        uint64_t address = cell << j->shadow->shift;
        if (span == NULL || address - span->address >= span->bytes) {
            span = smk_race_find_span(race, address) ? race->span : NULL;
        }
        if (span == NULL || race->span_known ||
            smk_memory_view_known(span, address - span->address, UINT64_C(1) << j->shadow->shift) ||
            (race->launch->ordered && smk_blocks_written(&race->launch->blocks, cell))) {
            return;
        }
    }
    report_unwritten(j, lane);
    j->blamed |= bit;
}

/* Judgements ------------------------------------------------------------------------------------- */

static void check_loads(smk_race_one *j, unsigned lane, uint64_t cell, smk_shadow_line *line, unsigned i)
{
    for (uint32_t left = line->wide_loaders; left != 0; left &= left - 1) {
        smk_shadow_spread(j->shadow, line, smk_bits_first(left));
    }
    check_rows(j, lane, cell, line, i, true);
}

static void judge_load(smk_race_one *j, unsigned lane, uint64_t cell, smk_shadow_line *line, unsigned i)
{
    const smk_order *order = &j->race->order;
    uint32_t written = line->wtime[i], base = order->base;
    if (written > base) {
        check_write(j, lane, cell, line, i);
    } else if (written < order->begin && line->stime[i] < order->begin) {
        check_written(j, lane, cell);
    }
    if (line->stime[i] > base) {
        check_rows(j, lane, cell, line, i, false);
    }
    line->loaders |= UINT32_C(1) << j->index;
    smk_shadow_settle(j->shadow, line, j->index);
    smk_shadow_row *row = smk_shadow_row_of(j->shadow, &line->loads[j->index]);
    if (row != NULL) {
        line->read_most = order->now;
        smk_race_note_row(j, lane, row, i);
    }
}

static void judge_store(smk_race_one *j, unsigned lane, uint64_t cell, smk_shadow_line *line, unsigned i)
{
    const smk_order *order = &j->race->order;
    uint32_t base = order->base;
    if (line->wtime[i] > base) {
        check_write(j, lane, cell, line, i);
    }
    if (line->read_most > base) {
        check_loads(j, lane, cell, line, i);
    }
    if (line->stime[i] > base) {
        check_rows(j, lane, cell, line, i, false);
    }
    bool copy = j->event->kind == SMK_ACCESS_COPY;
    if ((j->flags & SMK_RACE_STRONG) !=
        0) { /* others may follow that it does not race with, and that do not tell of it */
        smk_shadow_note_written(line, UINT32_C(1) << i, order->begin);
        smk_race_note_change(j, lane, line, i);
        return;
    }
    if (line->wtime[i] > base && line->wtime[i] != SMK_SHADOW_PENDING) {
        smk_race_keep_write(j, lane, line, i);
    }
    smk_race_note_write(j, lane, cell, line, i, copy ? SMK_SHADOW_PENDING : order->now);
    line->itime[i] = copy ? order->now : 0;
}

static void judge_atomic(smk_race_one *j, unsigned lane, uint64_t cell, smk_shadow_line *line, unsigned i)
{
    const smk_order *order = &j->race->order;
    uint32_t base = order->base;
    if (line->wtime[i] > base) {
        check_write(j, lane, cell, line, i);
    } else if (line->wtime[i] < order->begin && line->stime[i] < order->begin) {
        check_written(j, lane, cell);
    }
    if (line->read_most > base) {
        check_loads(j, lane, cell, line, i);
    }
    if (line->kept_most > base) {
        check_rows(j, lane, cell, line, i, false);
    }
    smk_race_note_change(j, lane, line, i);
}

/* Blocks that can wait for each other: against the others'. */
static void judge_far(smk_race_one *j, unsigned lane, uint64_t cell)
{
    smk_race *race = j->race;
    smk_race_launch *launch = race->launch;
    bool strong = (j->flags & (SMK_RACE_STRONG | SMK_RACE_NEAR)) == SMK_RACE_STRONG;
    bool loads = j->event->kind == SMK_ACCESS_LOAD, plain = is_plain_store(j->event->kind, j->flags);
    smk_blocks_access access = {.order = &race->order,
                                .kind = (loads ? 0U : SMK_BLOCKS_STORES) | (strong ? SMK_BLOCKS_STRONG : 0U),
                                .warp = j->index,
                                .lane = lane,
                                .place = j->place,
                                .strong = (j->flags & SMK_RACE_STRONG) != 0,
                                .plain = plain,
                                .value = plain ? smk_race_value(j, lane, cell) : 0};
    smk_blocks_record other;
    if (!smk_blocks_note(&launch->blocks, cell, &access, &other) || (j->blamed >> lane & 1) != 0) {
        return;
    }
    smk_finding_event first =
        smk_race_former(launch, other.place, (other.kind & SMK_BLOCKS_STORES) == 0, j->space, cell << j->shadow->shift,
                        other.block, other.warp * LANES + smk_bits_first(other.lanes));
    smk_finding_event second = present(j, lane);
    first.same_value = second.same_value = plain &&
                                           is_plain_store((smk_access_kind)first.kind, launch->flags[other.place]) &&
                                           !other.varied && other.value == access.value;
    bool turned = first.place > second.place; /* nothing says which comes first: as they stand in the program */
    smk_finding_add(&launch->sink, SMK_FINDING_GLOBAL_RACE, turned ? &second : &first, turned ? &first : &second,
                    race->block->number, race->sequence++, NULL);
    j->blamed |= UINT32_C(1) << lane;
}

/* A whole access ---------------------------------------------------------------------------------- */

/* Loads of cells that nobody has touched by writing since the last barrier, the case of a tile that is read: true where
 * that is all there is to it. */
static bool judge_plain_load(smk_race_one *j, smk_shadow_line *line, unsigned i, uint32_t lanes)
{
    const smk_order *order = &j->race->order;
    uint32_t written = line->wtime[i], now = order->now;
    smk_shadow_row *row = line->loads[j->index];
    if (row == NULL || (j->flags & SMK_RACE_STRONG) != 0 || written < order->begin || written > order->base ||
        line->stime[i] > order->base) {
        return false;
    }
    smk_shadow_settle(j->shadow, line, j->index);
    uint32_t time = row->time[i], full = order->full[j->index], past = full > order->base ? full : order->base;
    if ((time > past && (time != now || row->place[i] != j->place)) || (row->more != NULL && row->more->most > past)) {
        return false;
    }
    row->lanes[i] = (time > past ? row->lanes[i] : 0) | lanes;
    row->place[i] = j->place;
    row->time[i] = row->most = line->read_most = now;
    return true;
}

static void judge_lane(smk_race_one *j, unsigned lane, uint32_t alike)
{
    unsigned shift = j->shadow->shift;
    unsigned bytes = j->event->used != NULL ? j->event->used[lane] : j->event->bytes;
    uint64_t cell = j->address[lane] >> shift, last = (j->address[lane] + bytes - 1) >> shift;
    bool load = j->event->kind == SMK_ACCESS_LOAD, far = j->space == SMK_SPACE_GLOBAL && j->race->launch->ordered;
    for (; cell <= last; cell++) {
        smk_shadow_line *line = smk_shadow_find(j->shadow, cell / CELLS);
        unsigned i = (unsigned)(cell % CELLS);
        if (line == NULL) {
            return;
        }
        if (load && !far && judge_plain_load(j, line, i, alike)) {
            continue;
        }
        for (uint32_t left = alike; left != 0; left &= left - 1) {
            unsigned one = smk_bits_first(left);
            if (load) {
                judge_load(j, one, cell, line, i);
            } else if (j->event->kind == SMK_ACCESS_ATOMIC) {
                judge_atomic(j, one, cell, line, i);
            } else {
                judge_store(j, one, cell, line, i);
            }
            if (far) {
                judge_far(j, one, cell);
            }
        }
    }
}

/* Lanes of `mask` that have the address of `lane`: those of a broadcast. */
static uint32_t alike_lanes(const uint64_t *address, uint32_t mask, unsigned lane)
{
    uint32_t same = 0;
    for (unsigned i = 0; i < LANES; i++) {
        same |= (uint32_t)(address[i] == address[lane]) << i;
    }
    return same & mask;
}

static void judge(smk_race_one *j, uint32_t lanes)
{
    bool groups = j->event->kind == SMK_ACCESS_LOAD && j->event->used == NULL;
    if (j->shadow->failed) {
        return;
    }
    for (uint32_t left = lanes; left != 0;) {
        unsigned lane = smk_bits_first(left);
        uint32_t alike = UINT32_C(1) << lane, next = left & (left - 1);
        if (groups && next != 0 &&
            (j->address[smk_bits_first(next)] == j->address[lane] ||
             j->address[smk_bits_last(left)] == j->address[lane] || j->address[lane ^ 16] == j->address[lane])) {
            alike = alike_lanes(j->address, left, lane);
        }
        judge_lane(j, lane, alike);
        left &= ~alike;
    }
}

/* What a strong access releases and acquires; the elements of a vector are accesses of their own. */
static void pass_words(smk_race_one *j)
{
    smk_order *order = &j->race->order;
    smk_access_kind kind = j->event->kind;
    unsigned count = kind == SMK_ACCESS_ATOMIC ? 1 : j->event->op[1].count, bytes = j->event->bytes / count;
    smk_order_access access = {.warp = j->index,
                               .shared = j->space == SMK_SPACE_SHARED,
                               .near = (j->flags & SMK_RACE_NEAR) != 0,
                               .acquire = (j->flags & SMK_RACE_ACQUIRE) != 0,
                               .release = (j->flags & SMK_RACE_RELEASE) != 0,
                               .atomic = kind == SMK_ACCESS_ATOMIC};
    for (uint32_t left = j->mask; left != 0; left &= left - 1) {
        access.lane = smk_bits_first(left);
        for (unsigned i = 0; i < count; i++) {
            access.address = j->address[access.lane] + i * bytes;
            if (kind != SMK_ACCESS_STORE) {
                smk_order_read(order, &access);
            }
            if (kind != SMK_ACCESS_LOAD) {
                smk_order_write(order, &access);
            }
        }
    }
}

/* A weak write ends what was released at its addresses. */
static void end_words(const smk_race_one *j)
{
    bool shared = j->space == SMK_SPACE_SHARED;
    for (uint32_t left = smk_order_has_words(&j->race->order, shared) ? j->mask : 0; left != 0; left &= left - 1) {
        uint64_t address = j->address[smk_bits_first(left)];
        for (unsigned at = 0; at < j->event->bytes; at += 1U << j->shadow->shift) {
            smk_order_overwrite(&j->race->order, shared, address + at);
        }
    }
}

static uint32_t judge_space(smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space,
                            const uint64_t *address, uint32_t mask)
{
    const smk_operation *op = event->op;
    smk_race_one j = {.race = race,
                      .warp = warp,
                      .event = event,
                      .shadow = space == SMK_SPACE_SHARED ? &race->shared : &race->global,
                      .address = address,
                      .space = space,
                      .index = warp->control->index,
                      .place = smk_finding_place(&race->launch->places, op->function, op->instruction),
                      .mask = mask};
    bool kept = space == SMK_SPACE_SHARED || space == SMK_SPACE_GLOBAL;
    j.flags = race->launch->flags[j.place];
    race->order.last[j.index] = race->order.now;
    uint32_t refused = 0, overruns = smk_race_overruns(race, warp, event, space, address, mask, &refused);
    if (overruns != 0) { /* what they do elsewhere is no fault of those who meet them there */
        j.mask = mask &= ~overruns;
        if (mask == 0) {
            return overruns & ~refused;
        }
    }
    bool padded = race->launch->padded && space == SMK_SPACE_SHARED; /* its end is not that of all */
    uint32_t left = kept && !padded ? smk_wide_judge(&j) : mask;
    if (left != 0) {
        uint32_t good = smk_race_bounds(race, warp, event, space, address, left);
        j.mask = mask = (mask & ~left) | good;
        if (!kept || good == 0) {
            return mask | (overruns & ~refused);
        }
        if (race->order.lane != NULL && (j.flags & SMK_RACE_STRONG) != 0) {
            pass_words(&j); /* an access that acquires comes itself after what it acquires */
        }
        judge(&j, good);
    }
    if (race->order.lane != NULL && (j.flags & SMK_RACE_RELEASE) != 0) {
        smk_order_tick(&race->order);
    } else if (race->order.lane != NULL && (j.flags & SMK_RACE_STRONG) == 0 && event->kind != SMK_ACCESS_LOAD) {
        end_words(&j);
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

uint32_t smk_race_access(void *state, const smk_warp *warp, const smk_access_event *event)
{
    smk_race *race = state;
    if (event->space != SMK_SPACE_GENERIC) {
        return access_space(race, warp, event, event->space, event->address, event->mask);
    }
    uint64_t address[LANES] = {0};
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

void smk_race_land(smk_race *race, uint32_t warp, const smk_pending *copy)
{
    unsigned shift = race->shared.shift;
    for (uint64_t cell = copy->address >> shift; cell <= (copy->address + copy->bytes - 1U) >> shift; cell++) {
        smk_shadow_line *line = smk_shadow_find(&race->shared, cell / CELLS);
        unsigned i = (unsigned)(cell % CELLS);
        if (line != NULL && line->wtime[i] == SMK_SHADOW_PENDING && line->wwho[i] == warp * LANES + copy->lane) {
            line->wtime[i] = race->order.now;
        }
    }
}
