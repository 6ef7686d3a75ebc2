/* What is remembered of accesses to a cell. */
#include "sim/check/race.h"
#include "sim/code/bits.h"

enum { ROWS_FEW = 8, ROWS_MAX = 256 };

/* How much an access conflicts with: a weak one with more than a volatile one, and that with more than other strong
 * ones (smk_race_excuses). */
static unsigned strength_of(uint8_t flags)
{
    return (flags & SMK_RACE_STRONG) == 0 ? 0 : (flags & SMK_RACE_VOLATILE) != 0 ? 1 : 2;
}

/* The lanes of a record that are still to be remembered: those that this lane does not come after, where the access
 * conflicts with as much as theirs. What the lane itself did there is forgotten where it does the same again
 * (`tight`: or the like), else its lines are told too. */
static uint32_t keep(const smk_warp_access *access, const smk_shadow_row *row, unsigned i, unsigned lane, bool tight)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t time = row->time[i], kept = row->lanes[i];
    if (time <= order->base) {
        return 0;
    }
    if (strength_of(access->flags) > strength_of(access->race->launch->flags[row->instruction_id[i]])) {
        return kept;
    }
    if (time <= order->synced[access->index]) {
        return 0;
    }
    for (uint32_t left = time == order->now ? 0 : kept; left != 0; left &= left - 1) {
        unsigned of = smk_bits_first(left);
        bool before = of != lane && smk_happens_before_holds(order, access->index, of, time, access->index, lane);
        kept &= ~((uint32_t)before << of);
    }
    return tight || row->instruction_id[i] == access->instruction_id ? kept & ~(UINT32_C(1) << lane) : kept;
}

/* A load, atomic operation or strong store of a lane joins its warp's records of a cell: one for each instruction and
 * time. There are never too many, for each lane has one of a strength in all but the first few. */
void smk_race_note_row(smk_warp_access *access, unsigned lane, smk_shadow_row *first, unsigned i)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t bit = UINT32_C(1) << lane, now = order->now;
    smk_shadow_row *row = first, *at = NULL;
    for (unsigned n = 1;; n++, row = row->more) {
        uint32_t kept = keep(access, row, i, lane, n > ROWS_FEW);
        row->most = now;
        if (row->time[i] == now && row->instruction_id[i] == access->instruction_id) {
            row->lanes[i] = kept | bit;
            return;
        }
        if (row->time[i] > order->base) { /* what is older tells of the block as a whole */
            row->lanes[i] = kept;
        }
        at = at == NULL && kept == 0 ? row : at;
        if (row->more == NULL && at == NULL && n < ROWS_MAX) {
            smk_shadow_row_of(access->shadow, &row->more);
        }
        if (row->more == NULL) {
            break;
        }
    }
    if (at == NULL) {
        return; /* no memory */
    }
    at->time[i] = now;
    at->lanes[i] = bit;
    at->instruction_id[i] = access->instruction_id;
}

void smk_race_note_write(const smk_warp_access *access, unsigned lane, uint64_t cell, smk_shadow_line *line, unsigned i,
                         uint32_t time)
{
    uint32_t value = time == SMK_SHADOW_PENDING ? 0 : smk_race_value(access, lane, cell), bit = UINT32_C(1) << i;
    bool again = line->write_time[i] >= access->race->order.begin;
    line->varied = again && line->value[i] != value ? line->varied | bit : again ? line->varied : line->varied & ~bit;
    line->value[i] = value;
    line->write_time[i] = time;
    line->written_most = time > line->written_most ? time : line->written_most;
    smk_shadow_note_written(line, UINT32_C(1) << i, access->race->order.begin);
    line->write_thread[i] = (uint16_t)(access->index * SMK_WARP_SIZE + lane);
    line->write_id[i] = access->instruction_id;
}

/* An atomic operation or a strong store. */
void smk_race_note_change(smk_warp_access *access, unsigned lane, smk_shadow_line *line, unsigned i)
{
    line->changers |= UINT32_C(1) << access->index;
    smk_shadow_row *row = smk_shadow_row_of(access->shadow, &line->atomics[access->index]);
    if (row != NULL) {
        line->atomic_time[i] = line->atomic_most = access->race->order.now;
        smk_race_note_row(access, lane, row, i);
    }
}

/* The last write is about to be replaced by one that may not come after it: it joins the atomic operations and strong
 * stores then. */
void smk_race_note_previous_write(smk_warp_access *access, unsigned lane, smk_shadow_line *line, unsigned i)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t warp = line->write_thread[i] / SMK_WARP_SIZE, of = line->write_thread[i] % SMK_WARP_SIZE,
             time = line->write_time[i];
    if (smk_happens_before_holds(order, warp, of, time, access->index, lane)) {
        return;
    }
    smk_shadow_row **next = &line->atomics[warp], *at = NULL, *row = smk_shadow_row_of(access->shadow, next);
    for (; row != NULL; next = &row->more, row = at == NULL ? smk_shadow_row_of(access->shadow, next) : *next) {
        bool same = row->time[i] == time && row->instruction_id[i] == line->write_id[i];
        if (row->time[i] > order->base && !same &&
            strength_of(access->race->launch->flags[row->instruction_id[i]]) == 0) {
            row->lanes[i] &= ~(UINT32_C(1) << of); /* the lane's later write says as much */
        }
        at = at == NULL && (same || row->time[i] <= order->base || row->lanes[i] == 0) ? row : at;
    }
    row = at;
    if (row != NULL) {
        row->lanes[i] = (row->time[i] == time ? row->lanes[i] : 0) | UINT32_C(1) << of;
        row->time[i] = time;
        row->instruction_id[i] = line->write_id[i];
        line->changers |= UINT32_C(1) << warp;
        line->atomic_time[i] = line->atomic_time[i] > time ? line->atomic_time[i] : time;
        line->atomic_most = line->atomic_most > time ? line->atomic_most : time;
    }
    line->kept_most = line->kept_most > time ? line->kept_most : time;
    for (row = line->atomics[warp]; row != NULL; row = row->more) { /* no row behind it is later */
        row->most = row->most > time ? row->most : time;
    }
}
