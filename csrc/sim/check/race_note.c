/* What is remembered of accesses to a cell. */
#include "sim/check/race.h"
#include "sim/code/bits.h"

enum { LANES = 32, ROWS_FEW = 8, ROWS_MAX = 256 };

/* How much an access conflicts with: a weak one with more than a volatile one, and that with more than other strong
 * ones (smk_race_excuses). */
static unsigned strength_of(uint8_t flags)
{
    return (flags & SMK_RACE_STRONG) == 0 ? 0 : (flags & SMK_RACE_VOLATILE) != 0 ? 1 : 2;
}

/* The lanes of a record that are still to be remembered: those that this lane does not come after, where the access
 * conflicts with as much as theirs. What the lane itself did there is forgotten where it does the same again
 * (`tight`: or the like), else its lines are told too. */
static uint32_t keep(const smk_race_one *j, const smk_shadow_row *row, unsigned i, unsigned lane, bool tight)
{
    const smk_order *order = &j->race->order;
    uint32_t time = row->time[i], kept = row->lanes[i];
    if (time <= order->base) {
        return 0;
    }
    if (strength_of(j->flags) > strength_of(j->race->launch->flags[row->place[i]])) {
        return kept;
    }
    if (time <= order->full[j->index]) {
        return 0;
    }
    for (uint32_t left = time == order->now ? 0 : kept; left != 0; left &= left - 1) {
        unsigned of = smk_bits_first(left);
        bool before = of != lane && smk_order_before(order, j->index, of, time, j->index, lane);
        kept &= ~((uint32_t)before << of);
    }
    return tight || row->place[i] == j->place ? kept & ~(UINT32_C(1) << lane) : kept;
}

/* A load, atomic operation or strong store of a lane joins its warp's records of a cell: one for each instruction and
 * time. There are never too many, for each lane has one of a strength in all but the first few. */
void smk_race_note_row(smk_race_one *j, unsigned lane, smk_shadow_row *first, unsigned i)
{
    const smk_order *order = &j->race->order;
    uint32_t bit = UINT32_C(1) << lane, now = order->now;
    smk_shadow_row *row = first, *at = NULL;
    for (unsigned n = 1;; n++, row = row->more) {
        uint32_t kept = keep(j, row, i, lane, n > ROWS_FEW);
        row->most = now;
        if (row->time[i] == now && row->place[i] == j->place) {
            row->lanes[i] = kept | bit;
            return;
        }
        if (row->time[i] > order->base) { /* what is older tells of the block as a whole */
            row->lanes[i] = kept;
        }
        at = at == NULL && kept == 0 ? row : at;
        if (row->more == NULL && at == NULL && n < ROWS_MAX) {
            smk_shadow_row_of(j->shadow, &row->more);
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
    at->place[i] = j->place;
}

void smk_race_note_write(const smk_race_one *j, unsigned lane, uint64_t cell, smk_shadow_line *line, unsigned i,
                         uint32_t time)
{
    uint32_t value = time == SMK_SHADOW_PENDING ? 0 : smk_race_value(j, lane, cell), bit = UINT32_C(1) << i;
    bool again = line->wtime[i] >= j->race->order.begin;
    line->varied = again && line->value[i] != value ? line->varied | bit : again ? line->varied : line->varied & ~bit;
    line->value[i] = value;
    line->wtime[i] = time;
    line->written_most = time > line->written_most ? time : line->written_most;
    smk_shadow_note_written(line, UINT32_C(1) << i, j->race->order.begin);
    line->wwho[i] = (uint16_t)(j->index * LANES + lane);
    line->wplace[i] = j->place;
}

/* An atomic operation or a strong store. */
void smk_race_note_change(smk_race_one *j, unsigned lane, smk_shadow_line *line, unsigned i)
{
    line->changers |= UINT32_C(1) << j->index;
    smk_shadow_row *row = smk_shadow_row_of(j->shadow, &line->atomics[j->index]);
    if (row != NULL) {
        line->stime[i] = line->atomic_most = j->race->order.now;
        smk_race_note_row(j, lane, row, i);
    }
}

/* The last write is about to be replaced by one that may not come after it: it joins the atomic operations and strong
 * stores then. */
void smk_race_keep_write(smk_race_one *j, unsigned lane, smk_shadow_line *line, unsigned i)
{
    const smk_order *order = &j->race->order;
    uint32_t warp = line->wwho[i] / LANES, of = line->wwho[i] % LANES, time = line->wtime[i];
    if (smk_order_before(order, warp, of, time, j->index, lane)) {
        return;
    }
    smk_shadow_row **next = &line->atomics[warp], *at = NULL, *row = smk_shadow_row_of(j->shadow, next);
    for (; row != NULL; next = &row->more, row = at == NULL ? smk_shadow_row_of(j->shadow, next) : *next) {
        bool same = row->time[i] == time && row->place[i] == line->wplace[i];
        if (row->time[i] > order->base && !same && strength_of(j->race->launch->flags[row->place[i]]) == 0) {
            row->lanes[i] &= ~(UINT32_C(1) << of); /* the lane's later write says as much */
        }
        at = at == NULL && (same || row->time[i] <= order->base || row->lanes[i] == 0) ? row : at;
    }
    row = at;
    if (row != NULL) {
        row->lanes[i] = (row->time[i] == time ? row->lanes[i] : 0) | UINT32_C(1) << of;
        row->time[i] = time;
        row->place[i] = line->wplace[i];
        line->changers |= UINT32_C(1) << warp;
        line->stime[i] = line->stime[i] > time ? line->stime[i] : time;
        line->atomic_most = line->atomic_most > time ? line->atomic_most : time;
    }
    line->kept_most = line->kept_most > time ? line->kept_most : time;
    for (row = line->atomics[warp]; row != NULL; row = row->more) { /* no row behind it is later */
        row->most = row->most > time ? row->most : time;
    }
}
