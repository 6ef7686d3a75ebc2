#include "park.h"

#include "../base/heap.h"
#include "bits.h"
#include "block.h"
#include "exchange.h"
#include "observer.h"

#include <stdio.h>
#include <string.h>

enum { LANES = 32, PLACE_BYTES = 160, MESSAGE_BYTES = 400 };

static const smk_instruction *instruction_of(const smk_warp *warp, const smk_operation *op)
{
    return &warp->control->block->run->image->module->functions[op->function].instructions[op->instruction];
}

static bool is_barrier(const smk_warp *warp, const smk_operation *op)
{
    smk_opcode opcode = (smk_opcode)instruction_of(warp, op)->opcode;
    return opcode == SMK_OPCODE_BAR || opcode == SMK_OPCODE_BARRIER;
}

/* "vote.sync", "bar.warp.sync" */
static void name_operation(const smk_warp *warp, const smk_operation *op, char *text, size_t size)
{
    const char *name = smk_module_opcode_name((smk_opcode)instruction_of(warp, op)->opcode);
    (void)snprintf(text, size, "%s%s.sync", name, is_barrier(warp, op) ? ".warp" : "");
}

void smk_park_describe(const smk_warp *warp, const smk_parked *parked, uint32_t missing, char *text, size_t size)
{
    char name[32], place[PLACE_BYTES] = "elsewhere";
    name_operation(warp, parked->pc, name, sizeof name);
    if (parked->other != NULL) {
        smk_warp_describe(warp, parked->other, place, sizeof place);
    }
    (void)snprintf(text, size,
                   "%s with the mask 0x%08x is reached by lanes 0x%08x of warp %u, while its lanes 0x%08x are on "
                   "another path and wait at %s",
                   name, parked->members, parked->lanes, warp->control->index, missing, place);
}

/* The stack of a level: entries from first_of up to end_of ------------------------------------------------------- */

static uint32_t first_of(const smk_warp_control *control, uint32_t level)
{
    return level < control->frame_count ? control->frame[level].base : control->base;
}

static uint32_t end_of(const smk_warp_control *control, uint32_t level)
{
    return level < control->frame_count ? first_of(control, level + 1) : control->depth;
}

/* Makes room for so many entries at `at`, which belong to `level`. */
static bool open_gap(smk_warp *warp, const smk_parked *parked, uint32_t at, uint32_t count)
{
    smk_warp_control *control = warp->control;
    if (control->depth + count > SMK_WARP_PATHS_MAX) {
        (void)smk_warp_fail(warp, parked->pc, parked->lanes, SMK_INTERNAL, "the stack of diverged paths is full");
        return false;
    }
    memmove(&control->path[at + count], &control->path[at], (control->depth - at) * sizeof *control->path);
    control->depth += count;
    for (uint32_t level = parked->level + 1; level < control->frame_count; level++) {
        control->frame[level].base += count;
    }
    if (parked->level < control->frame_count) {
        control->base += count;
    }
    return true;
}

/* Whether a path that waits at the same operation as `one` has all of its part of the stack, and maybe more: places
 * to meet that lie between there and the next one of `one`, which all paths from that operation come by. */
static bool extends(const smk_parked *more, const smk_parked *one)
{
    const uint32_t count = one->path_count;
    if (more->pc != one->pc || more->level != one->level || more->members != one->members || more->path_count < count) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (more->path[i].pc != one->path[i].pc || more->path[i].meet != one->path[i].meet) {
            return false;
        }
    }
    return one->meet == (more->path_count == count ? more->meet : more->path[count].meet);
}

/* The one among those parked whose places to meet lanes of `one` can share, so that they go on together. */
static const smk_parked *find_company(const smk_warp_control *control, const smk_parked *one)
{
    const smk_parked *best = one;
    for (uint32_t i = 0; i < control->parked_count; i++) {
        const smk_parked *more = &control->parked[i];
        if (extends(more, one) && more->path_count > best->path_count) {
            best = more;
        }
    }
    return best;
}

/* Puts a path that was parked back into the stack: it goes on behind its operation. Entries that both have are one,
 * so lanes that parted here meet again where they would have met. */
static bool rejoin(smk_warp *warp, const smk_parked *parked)
{
    smk_warp_control *control = warp->control;
    const smk_operation *next = parked->pc + 1;
    const smk_parked *as = find_company(control, parked);
    uint32_t at = first_of(control, parked->level), end = end_of(control, parked->level), same = 0;
    for (; at < end && same < as->path_count; at++, same++) {
        smk_path *own = &control->path[at];
        if (own->pc != as->path[same].pc || own->meet != as->path[same].meet) {
            break;
        }
        own->mask |= parked->lanes;
    }
    uint32_t left = as->path_count - same;
    if (left == 0 && at < end && control->path[at].pc == next && control->path[at].meet == as->meet) {
        control->path[at].mask |= parked->lanes;
        return true;
    }
    if (!open_gap(warp, parked, at, left + 1)) {
        return false;
    }
    for (uint32_t i = 0; i < left; i++) {
        control->path[at + i] = (smk_path){as->path[same + i].pc, as->path[same + i].meet, parked->lanes};
    }
    control->path[at + left] = (smk_path){next, as->meet, parked->lanes};
    return true;
}

/* Parking --------------------------------------------------------------------------------------------------------- */

static bool park(smk_warp *warp, const smk_operation *op, uint32_t lanes, uint32_t members, uint32_t executing)
{
    smk_warp_control *control = warp->control;
    const uint32_t count = control->depth - control->base;
    if (control->parked == NULL) { /* no more than a lane each */
        control->parked = smk_heap_allocate(LANES, sizeof *control->parked);
    }
    smk_path *path = control->parked == NULL ? NULL : smk_heap_allocate((size_t)count + 1, sizeof *path);
    if (path == NULL) {
        (void)smk_warp_fail(warp, op, lanes, SMK_MEMORY, "no memory for lanes that wait for others");
        return false;
    }
    smk_parked made = {.pc = op,
                       .meet = control->meet,
                       .lanes = lanes,
                       .members = members,
                       .missing = members & control->live & ~executing,
                       .level = control->frame_count,
                       .path = path};
    made.other = smk_warp_waiting(warp, made.missing);
    for (uint32_t i = control->base; i < control->depth; i++) {
        const smk_path *from = &control->path[i];
        if ((from->mask & lanes) != 0) {
            path[made.path_count++] = (smk_path){from->pc, from->meet, lanes};
        }
    }
    control->parked[control->parked_count++] = made;
    return true;
}

const smk_operation *smk_park_lanes(smk_warp *warp, const smk_operation *op, uint32_t executing,
                                    const uint32_t *members)
{
    smk_warp_control *control = warp->control;
    for (uint32_t left = executing; left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left);
        char name[32];
        if ((members[lane] >> lane & 1) == 0) {
            name_operation(warp, op, name, sizeof name);
            return smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_BARRIER,
                                 "%s with the mask 0x%08x is executed by lane %u, which is not in it", name,
                                 members[lane], lane);
        }
    }
    smk_warp_count(control, op, op + 1);
    for (uint32_t left = executing; left != 0;) {
        const uint32_t mask = members[smk_bits_first(left)];
        uint32_t lanes = 0;
        for (unsigned lane = 0; lane < LANES; lane++) {
            lanes |= (uint32_t)(members[lane] == mask) << lane;
        }
        lanes &= left;
        if (!park(warp, op, lanes, mask, executing)) {
            return NULL;
        }
        left &= ~lanes;
    }
    for (uint32_t i = control->base; i < control->depth; i++) {
        control->path[i].mask &= ~executing;
    }
    control->parkings++;
    warp->active &= ~executing;
    if (warp->active != 0) { /* their guard does not hold: they go on behind it, maybe together with those that do */
        if (control->depth == SMK_WARP_PATHS_MAX) {
            return smk_warp_fail(warp, op, executing, SMK_INTERNAL, "the stack of diverged paths is full");
        }
        control->path[control->depth++] = (smk_path){op + 1, control->meet, warp->active};
    }
    return smk_warp_next(warp);
}

/* Going on -------------------------------------------------------------------------------------------------------- */

/* Whether lanes at two operations wait for each other: with one mask, at exchanges of one kind. (On hardware, too,
 * lanes at a vote and lanes at a barrier wait for ever.) */
static bool are_alike(const smk_warp *warp, const smk_parked *one, const smk_parked *other)
{
    const smk_instruction *a = instruction_of(warp, one->pc), *b = instruction_of(warp, other->pc);
    if (one->members != other->members || is_barrier(warp, one->pc) != is_barrier(warp, other->pc)) {
        return false;
    }
    if (is_barrier(warp, one->pc)) {
        return true;
    }
    bool same = a->opcode == b->opcode && a->word_count == b->word_count;
    for (unsigned i = 0; same && i < a->word_count; i++) {
        same = a->words[i].is_type == b->words[i].is_type && a->words[i].value == b->words[i].value;
    }
    return same;
}

/* The lanes that wait like `one`, itself among them. */
static uint32_t find_lanes(const smk_warp *warp, const smk_parked *one)
{
    const smk_warp_control *control = warp->control;
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < control->parked_count; i++) {
        lanes |= are_alike(warp, one, &control->parked[i]) ? control->parked[i].lanes : 0;
    }
    return lanes;
}

static unsigned char *find_registers(const smk_warp *warp, uint32_t level)
{
    const smk_warp_control *control = warp->control;
    if (level == control->frame_count) {
        return warp->registers;
    }
    return level == 0 ? control->entry_registers : control->stack + control->frame[level].registers_offset;
}

/* Tells the observer who never came, and who met. */
static void tell(const smk_warp *warp, const smk_parked *one, uint32_t together, bool first)
{
    const smk_block *block = warp->control->block;
    const smk_observer *observer = block->run->observer;
    if (observer == NULL || (observer->wants & SMK_WATCH_ORDER) == 0) {
        return;
    }
    if (first && is_barrier(warp, one->pc)) {
        observer->meet(block->watch, warp, one->pc, together);
    }
    if ((one->missing & ~together) != 0) {
        observer->miss(block->watch, warp, one, one->missing & ~together);
    }
}

/* Lets all go on that wait like the first of them. */
static bool release(smk_warp *warp, uint32_t first)
{
    smk_warp_control *control = warp->control;
    smk_exchange_part part[LANES];
    uint32_t count = 0, kept = 0;
    const smk_parked like = control->parked[first];
    const uint32_t together = find_lanes(warp, &like);
    for (uint32_t i = first; i < control->parked_count; i++) {
        const smk_parked *one = &control->parked[i];
        if (are_alike(warp, &like, one)) {
            tell(warp, one, together, count == 0);
            part[count++] = (smk_exchange_part){one->pc, find_registers(warp, one->level), one->lanes};
        }
    }
    if (!is_barrier(warp, like.pc)) {
        smk_exchange_join(instruction_of(warp, like.pc), part, count);
    }
    for (uint32_t i = first; i < control->parked_count; i++) {
        if (are_alike(warp, &like, &control->parked[i]) && !rejoin(warp, &control->parked[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_parked *one = &control->parked[i];
        if ((one->lanes & together) != 0) {
            smk_heap_free(one->path);
        } else {
            control->parked[kept++] = *one;
        }
    }
    control->parked_count = kept;
    return true;
}

bool smk_park_release(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    for (uint32_t i = 0; i < control->parked_count;) {
        const smk_parked *one = &control->parked[i];
        if ((one->members & control->live & ~find_lanes(warp, one)) != 0) {
            i++;
        } else if (!release(warp, i)) {
            return false;
        }
    }
    return true;
}

bool smk_park_fail(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_parked *one = &control->parked[i];
        if (one->level != control->frame_count) {
            continue;
        }
        char text[MESSAGE_BYTES];
        const uint32_t missing = one->members & control->live & ~find_lanes(warp, one);
        bool all_wait = true;
        for (uint32_t left = missing; left != 0; left &= left - 1) {
            const uint32_t lane = left & (~left + 1);
            bool waits = false;
            for (uint32_t k = 0; k < control->parked_count; k++) {
                waits = waits || (control->parked[k].lanes & lane) != 0;
            }
            all_wait = all_wait && waits;
        }
        one->other = smk_warp_waiting(warp, missing);
        smk_park_describe(warp, one, missing, text, sizeof text);
        warp->active = one->lanes;
        (void)smk_warp_fail(warp, one->pc, one->lanes, all_wait ? SMK_DEADLOCK : SMK_BARRIER, "%s%s", text,
                            all_wait ? ", so that none of them can go on" : "");
        return true;
    }
    return false;
}

void smk_park_clear(smk_warp_control *control)
{
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_heap_free(control->parked[i].path);
    }
    control->parked_count = 0;
}
