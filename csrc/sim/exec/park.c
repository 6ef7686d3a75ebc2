#include "sim/exec/park.h"

#include "base/heap.h"
#include "sim/code/bits.h"
#include "sim/code/observer.h"
#include "sim/exec/block.h"
#include "sim/exec/warp_exchange.h"

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
static bool open_gap(smk_warp *warp, const smk_operation *op, uint32_t level, uint32_t at, uint32_t count)
{
    smk_warp_control *control = warp->control;
    if (control->depth + count > SMK_WARP_PATHS_MAX) {
        (void)smk_warp_fail(warp, op, control->live, SMK_INTERNAL, "the stack of diverged paths is full");
        return false;
    }
    memmove(&control->path[at + count], &control->path[at], (control->depth - at) * sizeof *control->path);
    control->depth += count;
    for (uint32_t above = level + 1; above < control->frame_count; above++) {
        control->frame[above].base += count;
    }
    if (level < control->frame_count) {
        control->base += count;
    }
    return true;
}

/* Puts lanes' part of the stack back into it, and on top what they run next where that is not NULL. Entries that are
 * there are shared, so that lanes that parted here meet again where they would have met. */
static bool insert(smk_warp *warp, const smk_operation *op, uint32_t level, const smk_path *path, uint32_t count,
                   const smk_path *top, uint32_t lanes)
{
    smk_warp_control *control = warp->control;
    uint32_t at = first_of(control, level), end = end_of(control, level), same = 0;
    for (; at < end && same < count; at++, same++) {
        smk_path *own = &control->path[at];
        if (own->pc != path[same].pc || own->meet != path[same].meet) {
            break;
        }
        own->mask |= lanes;
    }
    uint32_t left = count - same;
    if (top != NULL && left == 0 && at < end && control->path[at].pc == top->pc &&
        control->path[at].meet == top->meet) {
        control->path[at].mask |= lanes;
        return true;
    }
    if (!open_gap(warp, op, level, at, left + (top != NULL))) {
        return false;
    }
    for (uint32_t i = 0; i < left; i++) {
        control->path[at + i] = (smk_path){path[same + i].pc, path[same + i].meet, lanes};
    }
    if (top != NULL) {
        control->path[at + left] = *top;
    }
    return true;
}

/* Copies what of the present level's stack belongs to lanes, and takes them out of it. NULL: there is no memory. */
static smk_path *take_out(smk_warp_control *control, uint32_t lanes, uint32_t *count)
{
    smk_path *path = smk_heap_allocate((size_t)(control->depth - control->base) + 1, sizeof *path);
    *count = 0;
    for (uint32_t i = control->base; path != NULL && i < control->depth; i++) {
        smk_path *from = &control->path[i];
        if ((from->mask & lanes) != 0) {
            path[(*count)++] = (smk_path){from->pc, from->meet, lanes};
            from->mask &= ~lanes;
        }
    }
    return path;
}

/* Whether a path that waits at the same operation as `one` has all of its part of the stack, and maybe more: places
 * to meet that lie between there and the next one of `one`, which all paths from that operation come by. */
static bool extends(const smk_parked *more, const smk_parked *one)
{
    const uint32_t count = one->path_count;
    if (more->pc != one->pc || more->level != one->level || more->absence != one->absence ||
        more->members != one->members || more->path_count < count) {
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

/* A path that was parked goes on behind its operation. */
static bool rejoin(smk_warp *warp, const smk_parked *parked)
{
    const smk_parked *as = find_company(warp->control, parked);
    const smk_path top = {parked->pc + 1, as->meet, parked->lanes};
    return insert(warp, parked->pc, parked->level, as->path, as->path_count, &top, parked->lanes);
}

/* Parking --------------------------------------------------------------------------------------------------------- */

static bool park(smk_warp *warp, const smk_operation *op, uint32_t lanes, uint32_t members, uint32_t executing)
{
    smk_warp_control *control = warp->control;
    const uint32_t missing = members & control->live & ~executing;
    const smk_operation *other = smk_warp_waiting(warp, missing);
    uint32_t count = 0;
    if (control->parked == NULL) { /* no more than a lane each */
        control->parked = smk_heap_allocate(LANES, sizeof *control->parked);
    }
    smk_path *path = control->parked == NULL ? NULL : take_out(control, lanes, &count);
    if (path == NULL) {
        (void)smk_warp_fail(warp, op, lanes, SMK_MEMORY, "no memory for lanes that wait for others");
        return false;
    }
    control->parked[control->parked_count++] = (smk_parked){.pc = op,
                                                            .meet = control->meet,
                                                            .other = other,
                                                            .lanes = lanes,
                                                            .members = members,
                                                            .missing = missing,
                                                            .level = control->frame_count,
                                                            .path = path,
                                                            .path_count = count};
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
    if (one->members != other->members || one->released || other->released ||
        is_barrier(warp, one->pc) != is_barrier(warp, other->pc)) {
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

static unsigned char *find_registers(const smk_warp *warp, const smk_parked *one)
{
    const smk_warp_control *control = warp->control;
    if (one->absence != NULL) {
        return one->absence->registers;
    }
    if (one->level == control->frame_count) {
        return warp->registers;
    }
    return one->level == 0 ? control->entry_registers : control->stack + control->frame[one->level].registers_offset;
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

/* Paths that go on where they waited, or as soon as that is entered again. */
static bool rejoin_all(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < control->parked_count; i++) {
        const smk_parked *one = &control->parked[i];
        if (one->released && one->absence == NULL && !rejoin(warp, one)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_parked *one = &control->parked[i];
        if (one->released && one->absence == NULL) {
            smk_heap_free(one->path);
        } else {
            control->parked[kept++] = *one;
        }
    }
    control->parked_count = kept;
    return true;
}

/* Lets all go on that wait like the first of them. */
static bool release(smk_warp *warp, uint32_t first)
{
    smk_warp_control *control = warp->control;
    smk_exchange_part part[LANES];
    uint32_t count = 0;
    const smk_parked like = control->parked[first];
    const uint32_t together = find_lanes(warp, &like);
    for (uint32_t i = first; i < control->parked_count; i++) {
        smk_parked *one = &control->parked[i];
        if (are_alike(warp, &like, one)) {
            tell(warp, one, together, count == 0);
            part[count++] = (smk_exchange_part){one->pc, find_registers(warp, one), one->lanes};
            one->released = true;
        }
    }
    if (!is_barrier(warp, like.pc)) {
        smk_exchange_join(instruction_of(warp, like.pc), part, count);
    }
    return rejoin_all(warp);
}

bool smk_park_release(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    for (uint32_t i = 0; i < control->parked_count;) {
        const smk_parked *one = &control->parked[i];
        if (one->released || (one->members & control->live & ~find_lanes(warp, one)) != 0) {
            i++;
        } else if (!release(warp, i)) {
            return false;
        } else {
            i = 0;
        }
    }
    return true;
}

/* Functions that are left for a while ------------------------------------------------------------------------------ */

/* Is `outer` the function, or one of those that called it? */
static bool is_within(const smk_absence *inner, const smk_absence *outer)
{
    while (inner != NULL && inner != outer) {
        inner = inner->parent;
    }
    return inner == outer;
}

static void free_absence(smk_absence *absence)
{
    if (absence != NULL) {
        smk_heap_free(absence->registers);
        smk_heap_free(absence->local);
        smk_heap_free(absence->path);
        smk_heap_free(absence);
    }
}

/* One that the present function has called, and in which lanes can go on; NULL: none. */
static smk_absence *find_wanted(const smk_warp_control *control)
{
    for (smk_absence *absence = control->absence; absence != NULL; absence = absence->next) {
        if (absence->parent != NULL || absence->level != control->frame_count + 1) {
            continue;
        }
        for (uint32_t i = 0; i < control->parked_count; i++) {
            const smk_parked *one = &control->parked[i];
            if (one->released && is_within(one->absence, absence)) {
                return absence;
            }
        }
    }
    return NULL;
}

/* Enters a function again. */
static bool go_back(smk_warp *warp, smk_absence *absence)
{
    smk_warp_control *control = warp->control;
    smk_error error;
    if (!insert(warp, absence->call, control->frame_count, absence->path, absence->path_count, NULL, absence->lanes)) {
        return false;
    }
    smk_status status = smk_warp_enter(warp, absence->code, absence->call, absence->meet, absence->lanes, &error);
    if (status != SMK_OK) {
        (void)smk_warp_fail(warp, absence->call, absence->lanes, status, "%s", error.message);
        return false;
    }
    memcpy(warp->registers, absence->registers, absence->registers_bytes);
    if (absence->local_bytes > 0) {
        memcpy(control->local + (size_t)control->local_base * LANES, absence->local, absence->local_bytes);
    }
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_parked *one = &control->parked[i];
        one->absence = one->absence == absence ? NULL : one->absence;
    }
    for (smk_absence **other = &control->absence; *other != NULL;) {
        if (*other == absence) {
            *other = absence->next;
            continue;
        }
        (*other)->parent = (*other)->parent == absence ? NULL : (*other)->parent;
        other = &(*other)->next;
    }
    control->level[control->frame_count] = (smk_level){absence->code, control->registers_offset};
    control->level_count = control->frame_count + 1; /* its rows hold its own constants, those above nobody's */
    free_absence(absence);
    control->parkings++;
    return rejoin_all(warp);
}

/* The lanes that wait in the present function, or in those that it called. */
static uint32_t find_waiting(const smk_warp_control *control)
{
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < control->parked_count; i++) {
        const smk_parked *one = &control->parked[i];
        lanes |= one->absence == NULL && one->level == control->frame_count ? one->lanes : 0;
    }
    for (const smk_absence *absence = control->absence; absence != NULL; absence = absence->next) {
        bool here = absence->parent == NULL && absence->level == control->frame_count + 1;
        lanes |= here ? absence->lanes : 0;
    }
    return lanes & control->live;
}

/* A copy of the present frame, for lanes that wait in it. */
static smk_absence *copy_frame(const smk_warp *warp, uint32_t lanes)
{
    const smk_warp_control *control = warp->control;
    const smk_frame *frame = &control->frame[control->frame_count - 1];
    smk_absence *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    *made = (smk_absence){.code = control->code,
                          .call = frame->call,
                          .meet = frame->meet,
                          .level = control->frame_count,
                          .lanes = lanes,
                          .registers_bytes = control->code->frame_bytes,
                          .local_bytes = (size_t)(control->local_top - control->local_base) * LANES};
    made->registers = smk_heap_allocate(made->registers_bytes + 1, 1);
    made->local = smk_heap_allocate(made->local_bytes + 1, 1);
    if (made->registers == NULL || made->local == NULL) {
        free_absence(made);
        return NULL;
    }
    memcpy(made->registers, warp->registers, made->registers_bytes);
    if (made->local_bytes > 0) {
        memcpy(made->local, control->local + (size_t)control->local_base * LANES, made->local_bytes);
    }
    return made;
}

/* Leaves the present function, in which `lanes` wait; others have returned. Returns where its caller goes on with
 * them, NULL where there are none, or the warp has failed. */
static const smk_operation *go_away(smk_warp *warp, uint32_t lanes)
{
    smk_warp_control *control = warp->control;
    const uint32_t level = control->frame_count;
    smk_absence *absence = copy_frame(warp, lanes);
    const smk_operation *op = control->frame[level - 1].call, *next = NULL;
    if (absence != NULL) {
        next = smk_warp_leave(warp);
        warp->active &= ~lanes;
        absence->path = take_out(control, lanes, &absence->path_count);
    }
    if (absence == NULL || absence->path == NULL) {
        free_absence(absence);
        return smk_warp_fail(warp, op, lanes, SMK_MEMORY, "no memory for lanes that wait for others");
    }
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_parked *one = &control->parked[i];
        one->absence = one->absence == NULL && one->level == level ? absence : one->absence;
    }
    for (smk_absence *other = control->absence; other != NULL; other = other->next) {
        other->parent = other->parent == NULL && other->level == level + 1 ? absence : other->parent;
    }
    absence->next = control->absence;
    control->absence = absence;
    control->parkings++;
    return warp->active == 0 ? NULL : next;
}

/* Nobody can go on: who waits where for whom. */
static void fail(smk_warp *warp)
{
    const smk_warp_control *control = warp->control;
    smk_parked one = control->parked[0];
    char text[MESSAGE_BYTES];
    const uint32_t missing = one.members & control->live & ~find_lanes(warp, &one);
    one.other = smk_warp_waiting(warp, missing);
    smk_park_describe(warp, &one, missing, text, sizeof text);
    warp->active = one.lanes;
    (void)smk_warp_fail(warp, one.pc, one.lanes, SMK_DEADLOCK, "%s, so that none of them can go on", text);
}

smk_park_turn smk_park_next(smk_warp *warp, const smk_operation **next)
{
    smk_warp_control *control = warp->control;
    smk_absence *wanted = find_wanted(control);
    if (wanted != NULL) {
        return go_back(warp, wanted) ? SMK_PARK_MOVED : SMK_PARK_FAILED;
    }
    const uint32_t waiting = find_waiting(control);
    if (waiting == 0) {
        return SMK_PARK_NOTHING;
    }
    if (control->frame_count == 0) {
        fail(warp);
        return SMK_PARK_FAILED;
    }
    *next = go_away(warp, waiting);
    return control->state == SMK_WARP_FAILED ? SMK_PARK_FAILED : SMK_PARK_MOVED;
}

void smk_park_clear(smk_warp_control *control)
{
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_heap_free(control->parked[i].path);
    }
    control->parked_count = 0;
    while (control->absence != NULL) {
        smk_absence *absence = control->absence;
        control->absence = absence->next;
        free_absence(absence);
    }
}
