/* Checks whole rows of cells at once: the fast path for accesses of full warps to one address or to neighbouring
 * addresses, which are most accesses of a correct kernel. All others are left to race.c.
 *
 * The summary of a line (shadow.h) is tested first, then its cells, many at a time. Loads of a warp are recorded as one
 * batch, not cell by cell.
 */
#include "sim/check/race.h"
#include "sim/code/bits.h"
#include "sim/exec/access.h"

enum { CELLS = SMK_SHADOW_CELLS, HALF = 16 };

/* A part of an access: consecutive lanes from `lane` on with one address, or with neighbouring addresses (row). */
typedef struct part {
    unsigned lane, lanes;
    bool row, mirrored; /* mirrored: the lanes HALF above access the same */
} part;

static uint32_t lanes_of(const part *p)
{
    uint32_t some = p->lanes == SMK_WARP_SIZE ? UINT32_MAX : ((UINT32_C(1) << p->lanes) - 1) << p->lane;
    return some | (p->mirrored ? some << HALF : 0);
}

static unsigned log2_of(unsigned power)
{
    return smk_bits_first(power);
}

/* Lines --------------------------------------------------------------------------------------------- */

/* Computes the summary of a line anew, since its maxima only grow. */
SMK_CLONES static void refresh(smk_shadow_line *line)
{
    uint32_t most = 0, changed = 0;
    for (unsigned k = 0; k < CELLS; k++) {
        most = line->write_time[k] > most ? line->write_time[k] : most;
        changed = line->atomic_time[k] > changed ? line->atomic_time[k] : changed;
    }
    line->latest_write = most;
    line->latest_atomic = changed;
}

/* The loops below select among all cells of a line, so that the compiler knows the trip count and vectorises them. */

/* Are the cells written, and does each write happen before all that follows or come from the lane itself? Times are
 * far below INT32_MAX; a pending copy is negative. */
SMK_CLONES static bool are_written(const smk_warp_access *access, const smk_shadow_line *line, smk_shadow_shape shape,
                                   uint32_t least)
{
    const smk_happens_before *order = &access->race->order;
    int32_t low = (int32_t)least, base = (int32_t)order->base, bad = 0;
    int32_t first = shape.mirrored ? -1 - SMK_WARP_SIZE : (int32_t)(access->index * SMK_WARP_SIZE);
    int32_t from = shape.from, to = shape.to, skew = shape.skew, step = shape.step;
    for (int32_t k = 0; k < CELLS; k++) {
        int32_t written = (int32_t)line->write_time[k], other = line->write_thread[k] != first + ((k + skew) >> step);
        int32_t wrong = (written < low) | ((written > base) & other) | ((int32_t)line->atomic_time[k] > base);
        bad |= (k >= from) & (k < to) & wrong;
    }
    return bad == 0;
}

/* No atomic operation on the cells since the last barrier. */
SMK_CLONES static bool are_unchanged(const smk_shadow_line *line, smk_shadow_shape shape, uint32_t base)
{
    int32_t from = shape.from, to = shape.to, bad = 0;
    for (int32_t k = 0; k < CELLS; k++) {
        bad |= (k >= from) & (k < to) & (line->atomic_time[k] > base);
    }
    return bad == 0;
}

static bool is_same_shape(smk_shadow_shape a, smk_shadow_shape b)
{
    return a.from == b.from && a.to == b.to && a.step == b.step && a.mirrored == b.mirrored && a.skew == b.skew;
}

/* Loads --------------------------------------------------------------------------------------------- */

/* The time up to which accesses of the warp's lanes happen before all of its accesses now. */
static uint32_t past_of(const smk_warp_access *access)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t synced = order->synced[access->index];
    return synced > order->base ? synced : order->base;
}

static uint32_t least_written(const smk_warp_access *access)
{
    bool initialized = access->space == SMK_SPACE_GLOBAL && access->race->allocation_initialized;
    return initialized ? 0 : access->race->order.begin;
}

/* The row of the warp, with its batches written out. */
static smk_shadow_row *loads_of(const smk_warp_access *access, smk_shadow_line *line)
{
    line->loaders |= UINT32_C(1) << access->index;
    smk_shadow_settle(access->shadow, line, access->index);
    return smk_shadow_row_of(access->shadow, &line->loads[access->index]);
}

/* Adds a load to the row of a warp that has recorded other loads since the last barrier; false where they conflict. */
SMK_CLONES static bool join_row(const smk_warp_access *access, smk_shadow_row *row, smk_shadow_shape shape,
                                uint32_t past)
{
    uint32_t now = access->race->order.now, instruction_id = access->instruction_id,
             bits = shape.mirrored ? 0x10001U : 1U, step = shape.step;
    int32_t from = shape.from, to = shape.to, skew = shape.skew, bad = 0;
    for (int32_t k = 0; k < CELLS; k++) {
        bad |= (k >= from) & (k < to) & (row->time[k] > past) &
               ((row->time[k] != now) | (row->instruction_id[k] != instruction_id));
    }
    if (bad != 0) {
        return false;
    }
    for (int32_t k = 0; k < CELLS; k++) {
        bool in = k >= from && k < to;
        uint32_t lane = (uint32_t)(k + skew) >> step & 31, kept = row->time[k] == now ? row->lanes[k] : 0;
        row->lanes[k] = in ? kept | bits << lane : row->lanes[k];
        row->instruction_id[k] = in ? instruction_id : row->instruction_id[k];
        row->time[k] = in ? now : row->time[k];
    }
    row->latest = now;
    return true;
}

static uint32_t cells_of(smk_shadow_shape shape)
{
    return (UINT32_MAX << shape.from) & (UINT32_MAX >> (CELLS - shape.to));
}

/* Are the cells initialised, by the block or by the host? */
static bool are_initialized(const smk_warp_access *access, const smk_shadow_line *line, smk_shadow_shape shape)
{
    return (access->space == SMK_SPACE_GLOBAL && access->race->allocation_initialized) ||
           (line->written_since == access->race->order.begin && (cells_of(shape) & ~line->written) == 0);
}

/* Records a load as a batch; false where it must be recorded cell by cell. */
static bool note_batch(const smk_warp_access *access, smk_shadow_line *line, smk_shadow_shape shape, uint32_t past)
{
    bool global = access->space == SMK_SPACE_GLOBAL;
    uint32_t base =
        access->race->order.base; /* accesses after `base` may be ordered for this warp and not for others */
    const smk_shadow_row *row = line->loads[access->index];
    smk_shadow_batches *batches = smk_shadow_batches_of(access->shadow, line, access->index);
    smk_shadow_batch *at = NULL;
    for (unsigned i = 0; i < SMK_SHADOW_BATCHES && batches != NULL; i++) {
        smk_shadow_batch *batch = &batches->batch[i][access->index];
        bool same = is_same_shape(batch->shape, shape),
             overlaps = batch->shape.from < shape.to && shape.from < batch->shape.to;
        if (batch->time > past && same && batch->time == access->race->order.now &&
            batch->instruction_id == access->instruction_id) {
            return true;
        }
        if (batch->time <= (same ? past : base) && (!global || same)) {
            batch->time = 0; /* the merge of blocks still needs ordered loads of global memory */
        } else if (batch->time != 0 && overlaps) {
            return false;
        }
        at = batch->time == 0 ? batch : at;
    }
    if (at == NULL || (row != NULL && row->latest > past)) {
        return false;
    }
    *at = (smk_shadow_batch){access->race->order.now, access->instruction_id, shape};
    return true;
}

static bool load_cells(const smk_warp_access *access, smk_shadow_line *line, smk_shadow_shape shape)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t base = order->base, past = past_of(access);
    if (line->latest_write > base || line->latest_atomic > base || !are_initialized(access, line, shape)) {
        if (!are_written(access, line, shape, least_written(access))) {
            return false;
        }
        refresh(line);
    }
    line->latest_read = order->now;
    if (note_batch(access, line, shape, past)) {
        return true;
    }
    smk_shadow_row *row = loads_of(access, line);
    return row != NULL && (row->more == NULL || row->more->latest <= past) && join_row(access, row, shape, past);
}

/* All lanes of `lanes` load one cell. */
static bool load_cell(const smk_warp_access *access, smk_shadow_line *line, unsigned i, uint32_t lanes)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t written = line->write_time[i], now = order->now, past = past_of(access);
    if (written < least_written(access) || written > order->base || line->atomic_time[i] > order->base) {
        return false;
    }
    smk_shadow_row *row = loads_of(access, line);
    if (row == NULL) {
        return false;
    }
    uint32_t time = row->time[i];
    bool fresh = time <= past;
    if ((!fresh && (time != now || row->instruction_id[i] != access->instruction_id)) ||
        (row->more != NULL && row->more->latest > past)) {
        return false;
    }
    row->lanes[i] = (fresh ? 0 : row->lanes[i]) | lanes;
    row->instruction_id[i] = access->instruction_id;
    row->time[i] = row->latest = line->latest_read = now;
    return true;
}

/* Stores -------------------------------------------------------------------------------------------- */

/* Has no lane of any warp loaded the cells since the last barrier, except each lane its own? */
static bool are_unread(const smk_warp_access *access, smk_shadow_line *line, smk_shadow_shape shape)
{
    uint32_t base = access->race->order.base, past = past_of(access);
    for (uint32_t left = line->loaders | line->batch_loaders; left != 0; left &= left - 1) {
        unsigned warp = smk_bits_first(left);
        uint32_t done = warp == access->index ? past : base;
        const smk_shadow_row *row = line->loads[warp];
        if (row != NULL && row->latest > done) {
            return false;
        }
        for (unsigned i = 0; i < SMK_SHADOW_BATCHES && (line->batch_loaders >> warp & 1) != 0; i++) {
            const smk_shadow_batch *batch = &line->batches->batch[i][warp];
            bool own = warp == access->index && is_same_shape(batch->shape, shape);
            bool apart = batch->shape.to <= shape.from || shape.to <= batch->shape.from;
            if (batch->time > done && !own && !apart) {
                return false;
            }
        }
    }
    return true;
}

SMK_CLONES static void write_cells(const smk_warp_access *access, smk_shadow_line *line, smk_shadow_shape shape)
{
    uint32_t now = access->race->order.now, instruction_id = access->instruction_id,
             first = access->index * SMK_WARP_SIZE, step = shape.step;
    int32_t from = shape.from, to = shape.to, skew = shape.skew;
    for (int32_t k = 0; k < CELLS; k++) {
        bool in = k >= from && k < to;
        uint32_t thread = first + ((uint32_t)(k + skew) >> step);
        line->write_time[k] = in ? now : line->write_time[k];
        line->issue_time[k] = in ? 0 : line->issue_time[k];
        line->write_id[k] = in ? instruction_id : line->write_id[k];
        line->write_thread[k] = in ? (uint16_t)thread : line->write_thread[k];
    }
}

/* Records the values of a store of 32-bit words to cells of that size. */
SMK_CLONES static void note_words(const smk_warp_access *access, smk_shadow_line *line, smk_shadow_shape shape)
{
    const smk_operation *op = access->event->op + 1; /* the store itself */
    const uint32_t rows[SMK_ACCESS_ELEMENTS_MAX] = {op->d, op->b, op->c, op->d2};
    uint32_t begin = access->race->order.begin, varied = line->varied;
    int32_t step = shape.step, low = (1 << step) - 1, skew = shape.skew;
    for (int32_t k = shape.from; k < shape.to; k++) {
        const uint32_t *row = SMK_ROW(uint32_t, access->warp, rows[(k + skew) & low]);
        uint32_t value = row[(k + skew) >> step];
        bool again = line->write_time[k] >= begin;
        varied &= ~((uint32_t)!again << k);
        varied |= (uint32_t)(again && line->value[k] != value) << k;
        line->value[k] = value;
    }
    line->varied = varied;
}

/* Records the stored values, before the cells are marked as written. */
static void note_values(const smk_warp_access *access, smk_shadow_line *line, smk_shadow_shape shape)
{
    const smk_operation *op = access->event->op + 1;
    if (op->element == SMK_ELEMENT_U32_32 && access->shadow->shift == 2) {
        note_words(access, line, shape);
        return;
    }
    for (unsigned k = shape.from; k < shape.to; k++) {
        unsigned at = (unsigned)((int32_t)k + shape.skew), lane = at >> shape.step;
        uint64_t cell = (access->address[lane] >> access->shadow->shift) + at - (lane << shape.step);
        uint32_t value = smk_race_value(access, lane, cell), bit = UINT32_C(1) << k;
        bool again = line->write_time[k] >= access->race->order.begin;
        line->varied = !again ? line->varied & ~bit : line->value[k] != value ? line->varied | bit : line->varied;
        line->value[k] = value;
    }
}

static bool store_cells(const smk_warp_access *access, smk_shadow_line *line, smk_shadow_shape shape)
{
    uint32_t base = access->race->order.base, now = access->race->order.now;
    bool written = line->latest_write > base;
    if ((written && !are_written(access, line, shape, 0)) ||
        (line->latest_atomic > base && !are_unchanged(line, shape, base)) ||
        (line->latest_read > base && !are_unread(access, line, shape))) {
        return false;
    }
    note_values(access, line, shape);
    write_cells(access, line, shape);
    smk_shadow_note_written(line, cells_of(shape), access->race->order.begin);
    if (line->latest_write == SMK_SHADOW_PENDING) {
        refresh(line);
    } else {
        line->latest_write = now;
    }
    return true;
}

/* Whole accesses ------------------------------------------------------------------------------------ */

static bool judge_row(const smk_warp_access *access, const part *p)
{
    const unsigned shift = access->shadow->shift, step = log2_of(access->event->bytes >> shift);
    uint64_t first = access->address[p->lane] >> shift, end = first + ((uint64_t)p->lanes << step);
    for (uint64_t cell = first; cell < end;) {
        uint64_t number = cell / CELLS, next = (number + 1) * CELLS < end ? (number + 1) * CELLS : end;
        smk_shadow_line *line = smk_shadow_find(access->shadow, number);
        if (line == NULL) {
            return false;
        }
        int32_t skew = (int32_t)(number * CELLS - first) + (int32_t)(p->lane << step);
        smk_shadow_shape shape = {.from = (uint8_t)(cell - number * CELLS),
                                  .to = (uint8_t)(next - number * CELLS),
                                  .step = (uint8_t)step,
                                  .mirrored = p->mirrored,
                                  .skew = skew};
        if (!(access->event->kind == SMK_ACCESS_LOAD ? load_cells(access, line, shape)
                                                     : store_cells(access, line, shape))) {
            return false;
        }
        cell = next;
    }
    return true;
}

static bool judge_broadcast(const smk_warp_access *access, const part *p)
{
    unsigned shift = access->shadow->shift;
    uint64_t first = access->address[p->lane] >> shift;
    unsigned count = access->event->bytes >> shift;
    smk_shadow_line *line = smk_shadow_find(access->shadow, first / CELLS); /* aligned, so it lies in one line */
    for (unsigned i = 0; line != NULL && i < count; i++) {
        if (!load_cell(access, line, (unsigned)(first % CELLS) + i, lanes_of(p))) {
            return false;
        }
    }
    return line != NULL;
}

/* Is the part in bounds and aligned? */
static bool is_good(const smk_warp_access *access, const part *p)
{
    smk_race *race = access->race;
    uint64_t at = access->address[p->lane], bytes = access->event->bytes, reach = p->row ? p->lanes * bytes : bytes;
    if ((at & (bytes - 1)) != 0) {
        return false;
    }
    if (access->space == SMK_SPACE_SHARED) {
        uint64_t limit = access->warp->control->shared_bytes;
        return at <= limit && reach <= limit - at;
    }
    if ((race->allocation == NULL || at - race->allocation->address >= race->allocation->bytes) &&
        !smk_bounds_find_allocation(race, at)) {
        return false;
    }
    return race->allocation->address != race->heap &&
           reach <= race->allocation->bytes - (at - race->allocation->address) &&
           !(race->allocation->constant && access->event->kind != SMK_ACCESS_LOAD);
}

/* The lanes of the part that must still be checked. */
static uint32_t judge_part(const smk_warp_access *access, const part *p)
{
    bool initialized = p->row || access->event->kind == SMK_ACCESS_LOAD;
    bool done = initialized && is_good(access, p) && (p->row ? judge_row(access, p) : judge_broadcast(access, p));
    return done ? 0 : lanes_of(p);
}

uint32_t smk_race_warp_judge(smk_warp_access *access)
{
    const smk_access_event *event = access->event;
    const uint8_t *shape = event->shape;
    bool load = event->kind == SMK_ACCESS_LOAD, ordered = access->race->launch->ordered;
    if (access->mask != UINT32_MAX || (access->flags & SMK_RACE_STRONG) != 0 ||
        (shape[0] == SMK_ACCESS_ANY && shape[1] == SMK_ACCESS_ANY) || event->used != NULL ||
        (!load && event->kind != SMK_ACCESS_STORE) || (access->space == SMK_SPACE_GLOBAL && ordered) ||
        event->bytes >> access->shadow->shift == 0 || access->shadow->failed) {
        return access->mask;
    }
    bool row = shape[0] == SMK_ACCESS_ROW;
    uint64_t apart = access->address[HALF] - access->address[0];
    if (shape[0] == shape[1] && load && apart == 0) {
        return judge_part(access, row ? &(part){0, HALF, true, true} : &(part){0, SMK_WARP_SIZE, false, false});
    }
    if (row && shape[1] == SMK_ACCESS_ROW && apart == HALF * (uint64_t)event->bytes) {
        return judge_part(access, &(part){0, SMK_WARP_SIZE, true, false});
    }
    uint32_t left = shape[0] == SMK_ACCESS_ANY ? 0xFFFFU : judge_part(access, &(part){0, HALF, row, false});
    row = shape[1] == SMK_ACCESS_ROW;
    return left | (shape[1] == SMK_ACCESS_ANY ? 0xFFFF0000U : judge_part(access, &(part){HALF, HALF, row, false}));
}
