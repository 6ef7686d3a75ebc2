/* Whole rows of cells at once: most accesses of a kernel that does no wrong. Whatever is not plain is left to
 * race.c.
 *
 * What a line's cells have in common (shadow.h) is looked at first; the cells themselves, many at a time, where that
 * does not tell; and what a warp loads is noted as one shape, not cell by cell.
 */
#include "sim/check/race.h"
#include "sim/code/bits.h"
#include "sim/exec/access.h"

enum { CELLS = SMK_SHADOW_CELLS, LANES = 32, HALF = 16 };

/* A part of an access: lanes from `lane` on that share an address, or lie in a row. */
typedef struct part {
    unsigned lane, lanes;
    bool row, twice; /* twice: lanes + HALF do the same */
} part;

static uint32_t lanes_of(const part *p)
{
    uint32_t some = p->lanes == LANES ? UINT32_MAX : ((UINT32_C(1) << p->lanes) - 1) << p->lane;
    return some | (p->twice ? some << HALF : 0);
}

static unsigned log2_of(unsigned power)
{
    return smk_bits_first(power);
}

/* Lines --------------------------------------------------------------------------------------------- */

/* What the cells have in common, exactly: it only grows old. */
SMK_CLONES static void refresh(smk_shadow_line *line)
{
    uint32_t most = 0, changed = 0;
    for (unsigned k = 0; k < CELLS; k++) {
        most = line->wtime[k] > most ? line->wtime[k] : most;
        changed = line->stime[k] > changed ? line->stime[k] : changed;
    }
    line->written_most = most;
    line->atomic_most = changed;
}

/* The loops below go over all cells, with a choice: their number is known to the compiler then. */

/* Were the cells written, and then either before all that comes or by the very lane? Stamps are far below INT32_MAX,
 * and what is pending is below zero. */
SMK_CLONES static bool are_written(const smk_race_one *one, const smk_shadow_line *line, smk_shadow_shape shape,
                                   uint32_t least)
{
    const smk_order *order = &one->race->order;
    int32_t low = (int32_t)least, base = (int32_t)order->base, bad = 0;
    int32_t first = shape.twice ? -1 - LANES : (int32_t)(one->index * LANES);
    int32_t from = shape.from, to = shape.to, skew = shape.skew, step = shape.step;
    for (int32_t k = 0; k < CELLS; k++) {
        int32_t written = (int32_t)line->wtime[k], other = line->wwho[k] != first + ((k + skew) >> step);
        int32_t wrong = (written < low) | ((written > base) & other) | ((int32_t)line->stime[k] > base);
        bad |= (k >= from) & (k < to) & wrong;
    }
    return bad == 0;
}

/* No atomic operation on the cells since the last barrier. */
SMK_CLONES static bool are_unchanged(const smk_shadow_line *line, smk_shadow_shape shape, uint32_t base)
{
    int32_t from = shape.from, to = shape.to, bad = 0;
    for (int32_t k = 0; k < CELLS; k++) {
        bad |= (k >= from) & (k < to) & (line->stime[k] > base);
    }
    return bad == 0;
}

static bool is_same_shape(smk_shadow_shape a, smk_shadow_shape b)
{
    return a.from == b.from && a.to == b.to && a.step == b.step && a.twice == b.twice && a.skew == b.skew;
}

/* Loads --------------------------------------------------------------------------------------------- */

/* Up to when all that the lanes of a warp did lies before all that they do. */
static uint32_t past_of(const smk_race_one *one)
{
    const smk_order *order = &one->race->order;
    uint32_t full = order->full[one->index];
    return full > order->base ? full : order->base;
}

static uint32_t least_written(const smk_race_one *one)
{
    bool known = one->space == SMK_SPACE_GLOBAL && one->race->span_known;
    return known ? 0 : one->race->order.begin;
}

/* The row of the warp, with all that it holds. */
static smk_shadow_row *loads_of(const smk_race_one *one, smk_shadow_line *line)
{
    line->loaders |= UINT32_C(1) << one->index;
    smk_shadow_settle(one->shadow, line, one->index);
    return smk_shadow_row_of(one->shadow, &line->loads[one->index]);
}

/* Cells of which a warp has noted other loads since the last barrier. */
SMK_CLONES static bool join_row(const smk_race_one *one, smk_shadow_row *row, smk_shadow_shape shape, uint32_t past)
{
    uint32_t now = one->race->order.now, place = one->place, bits = shape.twice ? 0x10001U : 1U, step = shape.step;
    int32_t from = shape.from, to = shape.to, skew = shape.skew, bad = 0;
    for (int32_t k = 0; k < CELLS; k++) {
        bad |= (k >= from) & (k < to) & (row->time[k] > past) & ((row->time[k] != now) | (row->place[k] != place));
    }
    if (bad != 0) {
        return false;
    }
    for (int32_t k = 0; k < CELLS; k++) {
        bool in = k >= from && k < to;
        uint32_t lane = (uint32_t)(k + skew) >> step & 31, kept = row->time[k] == now ? row->lanes[k] : 0;
        row->lanes[k] = in ? kept | bits << lane : row->lanes[k];
        row->place[k] = in ? place : row->place[k];
        row->time[k] = in ? now : row->time[k];
    }
    row->most = now;
    return true;
}

static uint32_t cells_of(smk_shadow_shape shape)
{
    return (UINT32_MAX << shape.from) & (UINT32_MAX >> (CELLS - shape.to));
}

/* Has the block written the cells? The host may have, too. */
static bool are_initial(const smk_race_one *one, const smk_shadow_line *line, smk_shadow_shape shape)
{
    return (one->space == SMK_SPACE_GLOBAL && one->race->span_known) ||
           (line->written_since == one->race->order.begin && (cells_of(shape) & ~line->written) == 0);
}

/* Notes a load as a shape; false where it is to be noted cell by cell. */
static bool note_wide(const smk_race_one *one, smk_shadow_line *line, smk_shadow_shape shape, uint32_t past)
{
    bool global = one->space == SMK_SPACE_GLOBAL;
    uint32_t base = one->race->order.base; /* what is later, and past to this warp, is not past to all */
    const smk_shadow_row *row = line->loads[one->index];
    smk_shadow_wides *wides = smk_shadow_wides_of(one->shadow, line, one->index);
    smk_shadow_wide *at = NULL;
    for (unsigned i = 0; i < SMK_SHADOW_WIDES && wides != NULL; i++) {
        smk_shadow_wide *wide = &wides->of[i][one->index];
        bool same = is_same_shape(wide->shape, shape),
             meets = wide->shape.from < shape.to && shape.from < wide->shape.to;
        if (wide->time > past && same && wide->time == one->race->order.now && wide->place == one->place) {
            return true;
        }
        if (wide->time <= (same ? past : base) && (!global || same)) {
            wide->time = 0; /* to other blocks what is past still tells that there were loads */
        } else if (wide->time != 0 && meets) {
            return false;
        }
        at = wide->time == 0 ? wide : at;
    }
    if (at == NULL || (row != NULL && row->most > past)) {
        return false;
    }
    *at = (smk_shadow_wide){one->race->order.now, one->place, shape};
    return true;
}

static bool load_cells(const smk_race_one *one, smk_shadow_line *line, smk_shadow_shape shape)
{
    const smk_order *order = &one->race->order;
    uint32_t base = order->base, past = past_of(one);
    if (line->written_most > base || line->atomic_most > base || !are_initial(one, line, shape)) {
        if (!are_written(one, line, shape, least_written(one))) {
            return false;
        }
        refresh(line);
    }
    line->read_most = order->now;
    if (note_wide(one, line, shape, past)) {
        return true;
    }
    smk_shadow_row *row = loads_of(one, line);
    return row != NULL && (row->more == NULL || row->more->most <= past) && join_row(one, row, shape, past);
}

/* All lanes of `lanes` load one cell. */
static bool load_cell(const smk_race_one *one, smk_shadow_line *line, unsigned i, uint32_t lanes)
{
    const smk_order *order = &one->race->order;
    uint32_t written = line->wtime[i], now = order->now, past = past_of(one);
    if (written < least_written(one) || written > order->base || line->stime[i] > order->base) {
        return false;
    }
    smk_shadow_row *row = loads_of(one, line);
    if (row == NULL) {
        return false;
    }
    uint32_t time = row->time[i];
    bool fresh = time <= past;
    if ((!fresh && (time != now || row->place[i] != one->place)) || (row->more != NULL && row->more->most > past)) {
        return false;
    }
    row->lanes[i] = (fresh ? 0 : row->lanes[i]) | lanes;
    row->place[i] = one->place;
    row->time[i] = row->most = line->read_most = now;
    return true;
}

/* Stores -------------------------------------------------------------------------------------------- */

/* No lane of any warp has loaded the cells since the last barrier, but each its own. */
static bool are_unread(const smk_race_one *one, smk_shadow_line *line, smk_shadow_shape shape)
{
    uint32_t base = one->race->order.base, past = past_of(one);
    for (uint32_t left = line->loaders | line->wide_loaders; left != 0; left &= left - 1) {
        unsigned warp = smk_bits_first(left);
        uint32_t done = warp == one->index ? past : base;
        const smk_shadow_row *row = line->loads[warp];
        if (row != NULL && row->most > done) {
            return false;
        }
        for (unsigned i = 0; i < SMK_SHADOW_WIDES && (line->wide_loaders >> warp & 1) != 0; i++) {
            const smk_shadow_wide *wide = &line->wides->of[i][warp];
            bool own = warp == one->index && is_same_shape(wide->shape, shape);
            bool apart = wide->shape.to <= shape.from || shape.to <= wide->shape.from;
            if (wide->time > done && !own && !apart) {
                return false;
            }
        }
    }
    return true;
}

SMK_CLONES static void write_cells(const smk_race_one *one, smk_shadow_line *line, smk_shadow_shape shape)
{
    uint32_t now = one->race->order.now, place = one->place, first = one->index * LANES, step = shape.step;
    int32_t from = shape.from, to = shape.to, skew = shape.skew;
    for (int32_t k = 0; k < CELLS; k++) {
        bool in = k >= from && k < to;
        uint32_t who = first + ((uint32_t)(k + skew) >> step);
        line->wtime[k] = in ? now : line->wtime[k];
        line->itime[k] = in ? 0 : line->itime[k];
        line->wplace[k] = in ? place : line->wplace[k];
        line->wwho[k] = in ? (uint16_t)who : line->wwho[k];
    }
}

/* The values of a store of 32-bit words to cells of their size. */
SMK_CLONES static void note_words(const smk_race_one *one, smk_shadow_line *line, smk_shadow_shape shape)
{
    const smk_operation *op = one->event->op + 1; /* the store itself */
    const uint32_t rows[SMK_ACCESS_ELEMENTS_MAX] = {op->d, op->b, op->c, op->d2};
    uint32_t begin = one->race->order.begin, varied = line->varied;
    int32_t step = shape.step, low = (1 << step) - 1, skew = shape.skew;
    for (int32_t k = shape.from; k < shape.to; k++) {
        const uint32_t *row = SMK_ROW(uint32_t, one->warp, rows[(k + skew) & low]);
        uint32_t value = row[(k + skew) >> step];
        bool again = line->wtime[k] >= begin;
        varied &= ~((uint32_t)!again << k);
        varied |= (uint32_t)(again && line->value[k] != value) << k;
        line->value[k] = value;
    }
    line->varied = varied;
}

/* Before the cells are noted as written. */
static void note_values(const smk_race_one *one, smk_shadow_line *line, smk_shadow_shape shape)
{
    const smk_operation *op = one->event->op + 1;
    if (op->element == SMK_ELEMENT_U32_32 && one->shadow->shift == 2) {
        note_words(one, line, shape);
        return;
    }
    for (unsigned k = shape.from; k < shape.to; k++) {
        unsigned at = (unsigned)((int32_t)k + shape.skew), lane = at >> shape.step;
        uint64_t cell = (one->address[lane] >> one->shadow->shift) + at - (lane << shape.step);
        uint32_t value = smk_race_value(one, lane, cell), bit = UINT32_C(1) << k;
        bool again = line->wtime[k] >= one->race->order.begin;
        line->varied = !again ? line->varied & ~bit : line->value[k] != value ? line->varied | bit : line->varied;
        line->value[k] = value;
    }
}

static bool store_cells(const smk_race_one *one, smk_shadow_line *line, smk_shadow_shape shape)
{
    uint32_t base = one->race->order.base, now = one->race->order.now;
    bool written = line->written_most > base;
    if ((written && !are_written(one, line, shape, 0)) ||
        (line->atomic_most > base && !are_unchanged(line, shape, base)) ||
        (line->read_most > base && !are_unread(one, line, shape))) {
        return false;
    }
    note_values(one, line, shape);
    write_cells(one, line, shape);
    smk_shadow_note_written(line, cells_of(shape), one->race->order.begin);
    if (line->written_most == SMK_SHADOW_PENDING) {
        refresh(line);
    } else {
        line->written_most = now;
    }
    return true;
}

/* A whole access ------------------------------------------------------------------------------------ */

static bool judge_row(const smk_race_one *one, const part *p)
{
    const unsigned shift = one->shadow->shift, step = log2_of(one->event->bytes >> shift);
    uint64_t first = one->address[p->lane] >> shift, end = first + ((uint64_t)p->lanes << step);
    for (uint64_t cell = first; cell < end;) {
        uint64_t number = cell / CELLS, next = (number + 1) * CELLS < end ? (number + 1) * CELLS : end;
        smk_shadow_line *line = smk_shadow_find(one->shadow, number);
        if (line == NULL) {
            return false;
        }
        int32_t skew = (int32_t)(number * CELLS - first) + (int32_t)(p->lane << step);
        smk_shadow_shape shape = {.from = (uint8_t)(cell - number * CELLS),
                                  .to = (uint8_t)(next - number * CELLS),
                                  .step = (uint8_t)step,
                                  .twice = p->twice,
                                  .skew = skew};
        if (!(one->event->kind == SMK_ACCESS_LOAD ? load_cells(one, line, shape) : store_cells(one, line, shape))) {
            return false;
        }
        cell = next;
    }
    return true;
}

static bool judge_broadcast(const smk_race_one *one, const part *p)
{
    unsigned shift = one->shadow->shift;
    uint64_t first = one->address[p->lane] >> shift;
    unsigned count = one->event->bytes >> shift;
    smk_shadow_line *line = smk_shadow_find(one->shadow, first / CELLS); /* aligned as it is, it lies in one line */
    for (unsigned i = 0; line != NULL && i < count; i++) {
        if (!load_cell(one, line, (unsigned)(first % CELLS) + i, lanes_of(p))) {
            return false;
        }
    }
    return line != NULL;
}

/* In bounds, and aligned? */
static bool is_good(const smk_race_one *one, const part *p)
{
    smk_race *race = one->race;
    uint64_t at = one->address[p->lane], bytes = one->event->bytes, reach = p->row ? p->lanes * bytes : bytes;
    if ((at & (bytes - 1)) != 0) {
        return false;
    }
    if (one->space == SMK_SPACE_SHARED) {
        uint64_t limit = one->warp->control->shared_bytes;
        return at <= limit && reach <= limit - at;
    }
    if ((race->span == NULL || at - race->span->address >= race->span->bytes) && !smk_race_find_span(race, at)) {
        return false;
    }
    return reach <= race->span->bytes - (at - race->span->address) &&
           !(race->span->constant && one->event->kind != SMK_ACCESS_LOAD);
}

/* Lanes of the part that are still to be judged. */
static uint32_t judge_part(const smk_race_one *one, const part *p)
{
    bool known = p->row || one->event->kind == SMK_ACCESS_LOAD;
    bool done = known && is_good(one, p) && (p->row ? judge_row(one, p) : judge_broadcast(one, p));
    return done ? 0 : lanes_of(p);
}

uint32_t smk_wide_judge(smk_race_one *one)
{
    const smk_access_event *event = one->event;
    const uint8_t *shape = event->shape;
    bool load = event->kind == SMK_ACCESS_LOAD, ordered = one->race->launch->ordered;
    if (one->mask != UINT32_MAX || (one->flags & SMK_RACE_STRONG) != 0 ||
        (shape[0] == SMK_ACCESS_ANY && shape[1] == SMK_ACCESS_ANY) || event->used != NULL ||
        (!load && event->kind != SMK_ACCESS_STORE) || (one->space == SMK_SPACE_GLOBAL && ordered) ||
        event->bytes >> one->shadow->shift == 0 || one->shadow->failed) {
        return one->mask;
    }
    bool row = shape[0] == SMK_ACCESS_ROW;
    uint64_t apart = one->address[HALF] - one->address[0];
    if (shape[0] == shape[1] && load && apart == 0) {
        return judge_part(one, row ? &(part){0, HALF, true, true} : &(part){0, LANES, false, false});
    }
    if (row && shape[1] == SMK_ACCESS_ROW && apart == HALF * (uint64_t)event->bytes) {
        return judge_part(one, &(part){0, LANES, true, false});
    }
    uint32_t left = shape[0] == SMK_ACCESS_ANY ? 0xFFFFU : judge_part(one, &(part){0, HALF, row, false});
    row = shape[1] == SMK_ACCESS_ROW;
    return left | (shape[1] == SMK_ACCESS_ANY ? 0xFFFF0000U : judge_part(one, &(part){HALF, HALF, row, false}));
}
