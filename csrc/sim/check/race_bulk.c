/* Checks cp.async.bulk. A copy loads its source when it is issued; from then on its target is pending.
 *
 * A copy with an mbarrier is complete for a thread that has acquired its completion, whichever barriers of the block it
 * has passed: each mbarrier has a component of its own in vector clocks, as if a thread of a block behind the last one
 * wrote what the copies of the mbarrier write. A copy of a bulk group is complete when its thread has waited. */
#include "base/heap.h"
#include "ptx/bulk_form.h"
#include "sim/check/race.h"
#include "sim/exec/bulk.h"

enum { CELLS = SMK_SHADOW_CELLS, BARRIER_BYTES = 8, LANDINGS_FIRST = 64 };

static uint32_t thread_of(const smk_bulk_copy *copy)
{
    return copy->warp * SMK_WARP_SIZE + copy->lane;
}

static uint32_t id_of(const smk_race *race, const smk_bulk_copy *copy)
{
    return smk_finding_instruction_id(&race->launch->ids, copy->op->function, copy->op->instruction);
}

static smk_finding_event side_of(const smk_race *race, const smk_bulk_copy *copy, smk_access_kind kind, smk_space space,
                                 uint64_t address)
{
    return (smk_finding_event){.instruction_id = id_of(race, copy),
                               .kind = (uint8_t)kind,
                               .space = space,
                               .address = address,
                               .bytes = SMK_BULK_CHUNK,
                               .block = race->block->number,
                               .thread = thread_of(copy)};
}

/* Reports an mbarrier that no thread has initialised. */
static void check_barrier(smk_race *race, const smk_bulk_copy *copy)
{
    const uint64_t cell = copy->barrier >> race->shared.shift;
    const smk_shadow_line *line = smk_shadow_find(&race->shared, cell / CELLS);
    if (line != NULL && line->write_time[cell % CELLS] < race->order.begin &&
        line->atomic_time[cell % CELLS] < race->order.begin) {
        smk_finding_event first = side_of(race, copy, SMK_ACCESS_ATOMIC, SMK_SPACE_SHARED, copy->barrier);
        first.bytes = BARRIER_BYTES;
        smk_finding_add(&race->launch->sink, SMK_FINDING_UNINITIALIZED, &first, NULL, race->block->number,
                        race->sequence++, NULL);
    }
}

static bool check_side(smk_race *race, const smk_warp *warp, const smk_bulk_copy *copy, smk_access_kind kind,
                       bool global, uint64_t address)
{
    uint8_t used[SMK_WARP_SIZE] = {0};
    const uint32_t mask = UINT32_C(1) << copy->lane;
    bool good = true;
    smk_access_event event = {.op = copy->op,
                              .kind = kind,
                              .space = global ? SMK_SPACE_GLOBAL : SMK_SPACE_SHARED,
                              .bytes = SMK_BULK_CHUNK,
                              .mask = mask,
                              .used = kind == SMK_ACCESS_LOAD ? used : NULL};
    used[copy->lane] = SMK_BULK_CHUNK;
    for (uint32_t at = 0; at < copy->bytes && good; at += SMK_BULK_CHUNK) {
        event.address[copy->lane] = address + at;
        good = smk_race_check(race, warp, &event) != 0;
    }
    return good;
}

bool smk_race_bulk_issue(void *state, const smk_warp *warp, smk_bulk_copy *copy)
{
    smk_race *race = state;
    const bool updates = copy->to_global && copy->op->count != SMK_MODIFIER_COUNT;
    if (!copy->to_global) {
        check_barrier(race, copy);
    }
    const bool good =
        check_side(race, warp, copy, SMK_ACCESS_LOAD, copy->from_global, copy->from_address) &&
        check_side(race, warp, copy, updates ? SMK_ACCESS_ATOMIC : SMK_ACCESS_COPY, copy->to_global, copy->to_address);
    copy->issued = race->order.now;
    smk_happens_before_tick(&race->order);
    return good;
}

/* Reports writes to the source since the copy was issued. */
static void check_source(smk_race *race, const smk_bulk_copy *copy)
{
    smk_shadow *shadow = copy->from_global ? &race->global : &race->shared;
    const smk_space space = copy->from_global ? SMK_SPACE_GLOBAL : SMK_SPACE_SHARED;
    const uint64_t end = copy->from_address + copy->bytes;
    for (uint64_t cell = copy->from_address >> shadow->shift; cell << shadow->shift < end; cell++) {
        const smk_shadow_line *line = smk_shadow_find(shadow, cell / CELLS);
        const unsigned i = (unsigned)(cell % CELLS);
        const uint32_t time = line == NULL                                ? 0
                              : line->write_time[i] == SMK_SHADOW_PENDING ? line->issue_time[i]
                                                                          : line->write_time[i];
        if (time > copy->issued) {
            const uint64_t address = cell << shadow->shift;
            smk_finding_event first = smk_race_report_event(race->launch, line->write_id[i], false, space, address,
                                                            race->block->number, line->write_thread[i]);
            smk_finding_event second = side_of(race, copy, SMK_ACCESS_LOAD, space, address);
            smk_finding_add(&race->launch->sink, SMK_FINDING_ASYNC_READ, &first, &second, race->block->number,
                            race->sequence++, NULL);
            return;
        }
    }
}

/* The number of a landing, above 0; 0 where there is no memory. */
static uint32_t note_landing(smk_race *race, const smk_bulk_copy *copy)
{
    smk_race_landings *landings = &race->landings;
    if (landings->count == landings->capacity) {
        const uint32_t capacity = landings->capacity == 0 ? LANDINGS_FIRST : 2 * landings->capacity;
        smk_race_landing *grown =
            smk_heap_resize(landings->landing, landings->capacity * sizeof *grown, (size_t)capacity * sizeof *grown);
        if (grown == NULL) {
            race->shared.failed = true;
            return 0;
        }
        landings->landing = grown;
        landings->capacity = capacity;
    }
    landings->landing[landings->count++] = (smk_race_landing){race->order.now, copy->barrier};
    return landings->count;
}

/* The copies of an mbarrier stay pending, with the number of their landing; others become writes of their thread. */
static void complete_target(smk_race *race, const smk_bulk_copy *copy, uint32_t landing)
{
    smk_shadow *shadow = copy->to_global ? &race->global : &race->shared;
    const uint64_t end = copy->to_address + copy->bytes;
    const uint32_t id = id_of(race, copy);
    for (uint64_t cell = copy->to_address >> shadow->shift; cell << shadow->shift < end; cell++) {
        smk_shadow_line *line = smk_shadow_find(shadow, cell / CELLS);
        const unsigned i = (unsigned)(cell % CELLS);
        if (line == NULL || line->write_time[i] != SMK_SHADOW_PENDING || line->write_id[i] != id ||
            line->write_thread[i] != thread_of(copy)) {
            continue;
        }
        if (copy->to_global) {
            line->write_time[i] = race->order.now;
            line->issue_time[i] = 0;
        } else {
            line->value[i] = landing;
        }
    }
}

void smk_race_bulk_done(void *state, const smk_bulk_copy *copy, smk_bulk_stage stage)
{
    smk_race *race = state;
    if (copy->to == NULL) {
        return; /* it was left out, or has no bytes */
    }
    if (stage != SMK_BULK_WRITTEN || !copy->to_global) {
        check_source(race, copy);
    }
    if (stage != SMK_BULK_WRITTEN) {
        return;
    }
    complete_target(race, copy, copy->to_global ? 0 : note_landing(race, copy));
    if (!copy->to_global && race->order.lane != NULL) {
        smk_happens_before_land(&race->order, copy->barrier);
    }
    smk_happens_before_tick(&race->order);
}

bool smk_race_bulk_has_landed(const smk_race *race, const smk_shadow_line *line, unsigned i, uint32_t warp,
                              uint32_t lane)
{
    const uint32_t landing = line->value[i];
    if (landing == 0) {
        return false;
    }
    const smk_race_landing *at = &race->landings.landing[landing - 1];
    return smk_happens_before_is_landed(&race->order, at->barrier, at->time, warp, lane);
}
