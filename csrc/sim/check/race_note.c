/* Records of earlier accesses to a cell, as in FastTrack (Flanagan and Freund, "FastTrack: Efficient and Precise
 * Dynamic Race Detection", 2009): one last write, and all reads that later accesses can race with. */
#include "sim/check/race.h"
#include "sim/code/bits.h"

enum { ROWS_FEW = 8, ROWS_MAX = 256 };

/* The strength of an access: a weak access conflicts with more accesses than a volatile one, and that with more than
 * other strong ones (smk_race_excuses). */
static unsigned strength_of(uint8_t flags)
{
    return (flags & SMK_RACE_STRONG) == 0 ? 0 : (flags & SMK_RACE_VOLATILE) != 0 ? 1 : 2;
}

/* The lanes of a record that must stay: all of them where the new access conflicts with less than theirs, else those
 * whose access does not happen before the new one. The record of the lane itself goes where it repeats the instruction
 * (`tight`: in any case); else it stays, so that both instructions can be reported. */
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
        unsigned other_lane = smk_bits_first(left);
        bool before =
            other_lane != lane && smk_happens_before_holds(order, access->index, other_lane, time, access->index, lane);
        kept &= ~((uint32_t)before << other_lane);
    }
    return tight || row->instruction_id[i] == access->instruction_id ? kept & ~(UINT32_C(1) << lane) : kept;
}

/* Adds a load, atomic operation or strong store of a lane to its warp's records of a cell, one record for each
 * instruction and time. Their number is bounded: beyond ROWS_FEW each lane has one record of each strength. */
void smk_race_note_row(smk_warp_access *access, unsigned lane, smk_shadow_row *first, unsigned i)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t bit = UINT32_C(1) << lane, now = order->now;
    smk_shadow_row *row = first, *at = NULL;
    for (unsigned n = 1;; n++, row = row->more) {
        uint32_t kept = keep(access, row, i, lane, n > ROWS_FEW);
        row->latest = now;
        if (row->time[i] == now && row->instruction_id[i] == access->instruction_id) {
            row->lanes[i] = kept | bit;
            return;
        }
        if (row->time[i] > order->base) { /* an older row holds accesses of an earlier block, which other checks need */
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
    line->latest_write = time > line->latest_write ? time : line->latest_write;
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
        line->atomic_time[i] = line->latest_atomic = access->race->order.now;
        smk_race_note_row(access, lane, row, i);
    }
}

/* The last write is about to be replaced. If it does not happen before the new write, its record moves to the atomic
 * operations and strong stores. */
void smk_race_note_previous_write(smk_warp_access *access, unsigned lane, smk_shadow_line *line, unsigned i)
{
    const smk_happens_before *order = &access->race->order;
    uint32_t warp = line->write_thread[i] / SMK_WARP_SIZE, other_lane = line->write_thread[i] % SMK_WARP_SIZE,
             time = line->write_time[i];
    if (smk_happens_before_holds(order, warp, other_lane, time, access->index, lane)) {
        return;
    }
    smk_shadow_row **next = &line->atomics[warp], *at = NULL, *row = smk_shadow_row_of(access->shadow, next);
    for (; row != NULL; next = &row->more, row = at == NULL ? smk_shadow_row_of(access->shadow, next) : *next) {
        bool same = row->time[i] == time && row->instruction_id[i] == line->write_id[i];
        if (row->time[i] > order->base && !same &&
            strength_of(access->race->launch->flags[row->instruction_id[i]]) == 0) {
            row->lanes[i] &= ~(UINT32_C(1) << other_lane); /* the lane's later write conflicts with the same accesses */
        }
        at = at == NULL && (same || row->time[i] <= order->base || row->lanes[i] == 0) ? row : at;
    }
    row = at;
    if (row != NULL) {
        row->lanes[i] = (row->time[i] == time ? row->lanes[i] : 0) | UINT32_C(1) << other_lane;
        row->time[i] = time;
        row->instruction_id[i] = line->write_id[i];
        line->changers |= UINT32_C(1) << warp;
        line->atomic_time[i] = line->atomic_time[i] > time ? line->atomic_time[i] : time;
        line->latest_atomic = line->latest_atomic > time ? line->latest_atomic : time;
    }
    line->latest_kept = line->latest_kept > time ? line->latest_kept : time;
    for (row = line->atomics[warp]; row != NULL; row = row->more) { /* keeps `latest` valid for all rows behind */
        row->latest = row->latest > time ? row->latest : time;
    }
}
