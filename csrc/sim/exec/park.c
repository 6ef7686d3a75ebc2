#include "sim/exec/park.h"

#include "base/heap.h"
#include "ptx/opcode.h"
#include "sim/code/bits.h"
#include "sim/code/observer.h"
#include "sim/exec/block.h"
#include "sim/exec/warp_exchange.h"

#include <stdio.h>
#include <string.h>

enum { LOCATION_BYTES = 160, MESSAGE_BYTES = 400 };

static const smk_instruction *instruction_of(const smk_warp *warp, const smk_operation *op)
{
    return &warp->control->block->run->image->module->functions[op->function].instructions[op->instruction];
}

static bool is_barrier(const smk_warp *warp, const smk_operation *op)
{
    return smk_opcode_class(instruction_of(warp, op)) == SMK_CLASS_BARRIER;
}

/* "vote.sync", "bar.warp.sync" */
static void name_operation(const smk_warp *warp, const smk_operation *op, char *text, size_t size)
{
    const char *name = smk_module_opcode_name((smk_opcode)instruction_of(warp, op)->opcode);
    (void)snprintf(text, size, "%s%s.sync", name, is_barrier(warp, op) ? ".warp" : "");
}

void smk_park_describe(const smk_warp *warp, const smk_parked *parked, uint32_t missing, char *text, size_t size)
{
    char name[32], here[LOCATION_BYTES], location[LOCATION_BYTES] = "elsewhere";
    name_operation(warp, parked->pc, name, sizeof name);
    if (parked->other != NULL) {
        smk_warp_describe(warp, parked->other, location, sizeof location);
    }
    if (parked->kind == SMK_PARKED_BLOCK) {
        smk_warp_describe(warp, parked->pc, here, sizeof here);
        (void)snprintf(text, size,
                       "the barrier at %s is reached by lanes 0x%08x of warp %u, while its lanes 0x%08x are on another "
                       "path and wait at %s",
                       here, parked->lanes, warp->control->index, missing, location);
        return;
    }
    (void)snprintf(text, size,
                   "%s with the mask 0x%08x is reached by lanes 0x%08x of warp %u, while its lanes 0x%08x are on "
                   "another path and wait at %s",
                   name, parked->members, parked->lanes, warp->control->index, missing, location);
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
    if (control->depth + count > SMK_WARP_SIMT_STACK_MAX) {
        (void)smk_warp_fail(warp, op, control->live, SMK_INTERNAL, "the SIMT stack of the warp is full");
        return false;
    }
    memmove(&control->simt_stack[at + count], &control->simt_stack[at],
            (control->depth - at) * sizeof *control->simt_stack);
    control->depth += count;
    for (uint32_t above = level + 1; above < control->frame_count; above++) {
        control->frame[above].base += count;
    }
    if (level < control->frame_count) {
        control->base += count;
    }
    return true;
}

/* Returns entries of parked lanes to the stack, and above them the entry that they run next, unless that is NULL.
 * Equal entries are shared, so that lanes that diverged here reconverge where they would have without parking. */
static bool insert(smk_warp *warp, const smk_operation *op, uint32_t level, const smk_simt_entry *entries,
                   uint32_t count, const smk_simt_entry *top, uint32_t lanes)
{
    smk_warp_control *control = warp->control;
    uint32_t at = first_of(control, level), end = end_of(control, level), same = 0;
    for (; at < end && same < count; at++, same++) {
        smk_simt_entry *own = &control->simt_stack[at];
        if (own->pc != entries[same].pc || own->reconvergence != entries[same].reconvergence) {
            break;
        }
        own->mask |= lanes;
    }
    uint32_t left = count - same;
    if (top != NULL && left == 0 && at < end && control->simt_stack[at].pc == top->pc &&
        control->simt_stack[at].reconvergence == top->reconvergence) {
        control->simt_stack[at].mask |= lanes;
        return true;
    }
    if (!open_gap(warp, op, level, at, left + (top != NULL))) {
        return false;
    }
    for (uint32_t i = 0; i < left; i++) {
        control->simt_stack[at + i] = (smk_simt_entry){entries[same + i].pc, entries[same + i].reconvergence, lanes};
    }
    if (top != NULL) {
        control->simt_stack[at + left] = *top;
    }
    return true;
}

/* Copies the entries of some lanes of the present level and removes the lanes from the stack. NULL: there is no
 * memory. */
static smk_simt_entry *extract_entries(smk_warp_control *control, uint32_t lanes, uint32_t *count)
{
    smk_simt_entry *entries = smk_heap_allocate((size_t)(control->depth - control->base) + 1, sizeof *entries);
    *count = 0;
    for (uint32_t i = control->base; entries != NULL && i < control->depth; i++) {
        smk_simt_entry *from = &control->simt_stack[i];
        if ((from->mask & lanes) != 0) {
            entries[(*count)++] = (smk_simt_entry){from->pc, from->reconvergence, lanes};
            from->mask &= ~lanes;
        }
    }
    return entries;
}

/* Does a path that waits at the same operation as `parked` have all of its entries, and possibly more? The additional
 * reconvergence points lie between that operation and the next one of `parked`, so every path from there reaches them.
 */
static bool extends(const smk_parked *more, const smk_parked *parked)
{
    const uint32_t count = parked->entry_count;
    if (more->pc != parked->pc || more->level != parked->level || more->suspended != parked->suspended ||
        more->members != parked->members || more->entry_count < count) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (more->entries[i].pc != parked->entries[i].pc ||
            more->entries[i].reconvergence != parked->entries[i].reconvergence) {
            return false;
        }
    }
    return parked->reconvergence ==
           (more->entry_count == count ? more->reconvergence : more->entries[count].reconvergence);
}

/* The parked path whose entries the lanes of `parked` can share, so that they go on together. */
static const smk_parked *find_shared_path(const smk_warp_control *control, const smk_parked *parked)
{
    const smk_parked *best = parked;
    for (uint32_t i = 0; i < control->parked_count; i++) {
        const smk_parked *more = &control->parked[i];
        if (extends(more, parked) && more->entry_count > best->entry_count) {
            best = more;
        }
    }
    return best;
}

/* Returns a parked path to the stack, behind its operation. */
static bool rejoin(smk_warp *warp, const smk_parked *parked)
{
    const bool aside = parked->kind == SMK_PARKED_ASIDE;
    const smk_parked *as = aside ? parked : find_shared_path(warp->control, parked);
    const smk_simt_entry top = {aside ? parked->pc : parked->pc + 1, as->reconvergence, parked->lanes};
    return insert(warp, parked->pc, parked->level, as->entries, as->entry_count, &top, parked->lanes);
}

/* Parking --------------------------------------------------------------------------------------------------------- */

static bool park(smk_warp *warp, const smk_operation *op, smk_parked_kind kind, uint32_t lanes, uint32_t members,
                 uint32_t executing)
{
    smk_warp_control *control = warp->control;
    const uint32_t missing = members & control->live & ~executing;
    const smk_operation *other = smk_warp_waiting(warp, missing);
    uint32_t count = 0;
    if (control->parked == NULL) { /* at most one path for each lane */
        control->parked = smk_heap_allocate(SMK_WARP_SIZE, sizeof *control->parked);
    }
    smk_simt_entry *entries = control->parked == NULL ? NULL : extract_entries(control, lanes, &count);
    if (entries == NULL) {
        (void)smk_warp_fail(warp, op, lanes, SMK_MEMORY, "no memory for lanes that wait for others");
        return false;
    }
    control->parked[control->parked_count++] = (smk_parked){.kind = kind,
                                                            .pc = op,
                                                            .reconvergence = control->reconvergence,
                                                            .other = other,
                                                            .lanes = lanes,
                                                            .members = members,
                                                            .missing = missing,
                                                            .level = control->frame_count,
                                                            .entries = entries,
                                                            .entry_count = count};
    return true;
}

/* Goes on without the lanes in `executing`, which have been parked at `op`. */
static const smk_operation *run_others(smk_warp *warp, const smk_operation *op, uint32_t executing)
{
    smk_warp_control *control = warp->control;
    control->park_count++;
    warp->active &= ~executing;
    if (warp->active != 0) { /* lanes whose guard is false go on behind it, possibly together with parked ones */
        if (control->depth == SMK_WARP_SIMT_STACK_MAX) {
            return smk_warp_fail(warp, op, executing, SMK_INTERNAL, "the SIMT stack of the warp is full");
        }
        control->simt_stack[control->depth++] = (smk_simt_entry){op + 1, control->reconvergence, warp->active};
    }
    return smk_warp_next(warp);
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
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            lanes |= (uint32_t)(members[lane] == mask) << lane;
        }
        lanes &= left;
        if (!park(warp, op, SMK_PARKED_SYNC, lanes, mask, executing)) {
            return NULL;
        }
        left &= ~lanes;
    }
    return run_others(warp, op, executing);
}

const smk_operation *smk_park_at_barrier(smk_warp *warp, const smk_operation *op, uint32_t executing)
{
    smk_warp_count(warp->control, op, op + 1);
    return park(warp, op, SMK_PARKED_BLOCK, executing, UINT32_MAX, executing) ? run_others(warp, op, executing) : NULL;
}

void smk_park_step_aside(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    const smk_operation *next = NULL;
    if (park(warp, control->pc, SMK_PARKED_ASIDE, warp->active, warp->active, warp->active)) {
        control->park_count++;
        control->aside_count++;
        control->apart = true;
        control->block->apart = true;
        warp->active = 0;
        next = smk_warp_next(warp);
    }
    if (next != NULL) {
        control->pc = next;
    }
}

/* Releasing ------------------------------------------------------------------------------------------------------- */

/* Do lanes at two operations wait for each other? They have one mask, and exchanges of one kind. (On hardware, too,
 * lanes at a vote and lanes at a barrier wait for ever.) */
static bool can_exchange(const smk_warp *warp, const smk_parked *parked, const smk_parked *other)
{
    const smk_instruction *a = instruction_of(warp, parked->pc), *b = instruction_of(warp, other->pc);
    if (parked->kind != other->kind || parked->members != other->members || parked->released || other->released ||
        is_barrier(warp, parked->pc) != is_barrier(warp, other->pc)) {
        return false;
    }
    if (parked->kind == SMK_PARKED_BLOCK) { /* they will execute it together */
        return parked->pc == other->pc && parked->level == other->level && parked->suspended == other->suspended;
    }
    if (is_barrier(warp, parked->pc)) {
        return true;
    }
    bool same = a->opcode == b->opcode && a->word_count == b->word_count;
    for (unsigned i = 0; same && i < a->word_count; i++) {
        same = a->words[i].is_type == b->words[i].is_type && a->words[i].value == b->words[i].value;
    }
    return same;
}

/* The lanes that wait for the same as `parked`, including its own. */
static uint32_t find_matching_lanes(const smk_warp *warp, const smk_parked *parked)
{
    const smk_warp_control *control = warp->control;
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < control->parked_count; i++) {
        lanes |= can_exchange(warp, parked, &control->parked[i]) ? control->parked[i].lanes : 0;
    }
    return lanes;
}

static unsigned char *find_registers(const smk_warp *warp, const smk_parked *parked)
{
    const smk_warp_control *control = warp->control;
    if (parked->suspended != NULL) {
        return parked->suspended->registers;
    }
    if (parked->level == control->frame_count) {
        return warp->registers;
    }
    return parked->level == 0 ? control->entry_registers
                              : control->callee_frames + control->frame[parked->level].registers_offset;
}

/* Reports missing and synchronised lanes to the observer. */
static void notify_observer(const smk_warp *warp, const smk_parked *parked, uint32_t together, bool first)
{
    const smk_block *block = warp->control->block;
    const smk_observer *observer = block->run->observer;
    if (observer == NULL || (observer->wants & SMK_OBSERVE_SYNCHRONIZATION) == 0) {
        return;
    }
    if (first && is_barrier(warp, parked->pc)) {
        observer->warp_sync(block->observer_state, warp, parked->pc, together);
    }
    if ((parked->missing & ~together) != 0) {
        observer->missing_lanes(block->observer_state, warp, parked, parked->missing & ~together);
    }
}

/* Returns released paths of the present call to the stack; those of suspended calls stay parked. */
static bool rejoin_all(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < control->parked_count; i++) {
        const smk_parked *parked = &control->parked[i];
        if (parked->released && parked->suspended == NULL && !rejoin(warp, parked)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_parked *parked = &control->parked[i];
        if (parked->released && parked->suspended == NULL) {
            smk_heap_free(parked->entries);
        } else {
            control->parked[kept++] = *parked;
        }
    }
    control->parked_count = kept;
    return true;
}

/* Releases all paths that wait for the same as the first of them. */
static bool release(smk_warp *warp, uint32_t first)
{
    smk_warp_control *control = warp->control;
    smk_warp_exchange_part part[SMK_WARP_SIZE];
    uint32_t count = 0;
    const smk_parked matching = control->parked[first];
    const uint32_t together = find_matching_lanes(warp, &matching);
    for (uint32_t i = first; i < control->parked_count; i++) {
        smk_parked *parked = &control->parked[i];
        if (can_exchange(warp, &matching, parked)) {
            notify_observer(warp, parked, together, count == 0);
            part[count++] = (smk_warp_exchange_part){parked->pc, find_registers(warp, parked), parked->lanes};
            parked->released = true;
        }
    }
    if (!is_barrier(warp, matching.pc)) {
        smk_warp_exchange_join(instruction_of(warp, matching.pc), part, count);
    }
    return rejoin_all(warp);
}

/* Puts all lanes of the warp, which wait at one barrier of the block, on the stack in front of it. */
static bool release_at_barrier(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    const smk_parked *longest = &control->parked[0];
    for (uint32_t i = 1; i < control->parked_count; i++) {
        longest = control->parked[i].entry_count > longest->entry_count ? &control->parked[i] : longest;
    }
    const smk_simt_entry top = {longest->pc, longest->reconvergence, control->live};
    control->depth = control->base;
    if (!insert(warp, top.pc, control->frame_count, longest->entries, longest->entry_count, &top, top.mask)) {
        return false;
    }
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_heap_free(control->parked[i].entries);
    }
    control->parked_count = 0;
    return true;
}

/* Lets the path that stepped aside first go on; false where there is none. */
static bool recall(smk_warp_control *control)
{
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_parked *parked = &control->parked[i];
        if (parked->kind == SMK_PARKED_ASIDE && !parked->released) {
            parked->released = true;
            control->aside_count--;
            return true;
        }
    }
    return false;
}

bool smk_park_release(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    for (uint32_t i = 0; i < control->parked_count;) {
        const smk_parked *parked = &control->parked[i];
        const bool whole = parked->kind == SMK_PARKED_BLOCK && parked->suspended == NULL &&
                           parked->level == control->frame_count &&
                           (control->live & ~find_matching_lanes(warp, parked)) == 0;
        if (whole) {
            return release_at_barrier(warp);
        }
        if (parked->kind != SMK_PARKED_SYNC || parked->released ||
            (parked->members & control->live & ~find_matching_lanes(warp, parked)) != 0) {
            i++;
        } else if (!release(warp, i)) {
            return false;
        } else {
            i = 0;
        }
    }
    return true;
}

/* Suspended calls -------------------------------------------------------------------------------------------------- */

/* Is `outer` the call itself, or one of its callers? */
static bool is_within(const smk_suspended_call *inner, const smk_suspended_call *outer)
{
    while (inner != NULL && inner != outer) {
        inner = inner->parent;
    }
    return inner == outer;
}

static void free_suspended(smk_suspended_call *suspended)
{
    if (suspended != NULL) {
        smk_heap_free(suspended->registers);
        smk_heap_free(suspended->local);
        smk_heap_free(suspended->entries);
        smk_heap_free(suspended);
    }
}

/* A suspended call of the present function in which lanes can go on; NULL: none. */
static smk_suspended_call *find_resumable(const smk_warp_control *control)
{
    for (smk_suspended_call *suspended = control->suspended; suspended != NULL; suspended = suspended->next) {
        if (suspended->parent != NULL || suspended->level != control->frame_count + 1) {
            continue;
        }
        for (uint32_t i = 0; i < control->parked_count; i++) {
            const smk_parked *parked = &control->parked[i];
            if (parked->released && is_within(parked->suspended, suspended)) {
                return suspended;
            }
        }
    }
    return NULL;
}

/* Resumes a suspended call. */
static bool resume_call(smk_warp *warp, smk_suspended_call *suspended)
{
    smk_warp_control *control = warp->control;
    smk_error error;
    if (!insert(warp, suspended->call, control->frame_count, suspended->entries, suspended->entry_count, NULL,
                suspended->lanes)) {
        return false;
    }
    smk_status status =
        smk_warp_enter(warp, suspended->code, suspended->call, suspended->reconvergence, suspended->lanes, &error);
    if (status != SMK_OK) {
        (void)smk_warp_fail(warp, suspended->call, suspended->lanes, status, "%s", error.message);
        return false;
    }
    /* with what alloca has taken */
    control->local_top = control->local_base + suspended->local_bytes / SMK_WARP_SIZE;
    status = smk_warp_reserve_local(warp, (uint32_t)control->local_top, &error);
    if (status != SMK_OK) {
        (void)smk_warp_fail(warp, suspended->call, suspended->lanes, status, "%s", error.message);
        return false;
    }
    control->local_used = control->local_top > control->local_used ? (uint32_t)control->local_top : control->local_used;
    memcpy(warp->registers, suspended->registers, suspended->registers_bytes);
    if (suspended->local_bytes > 0) {
        memcpy(control->local + (size_t)control->local_base * SMK_WARP_SIZE, suspended->local, suspended->local_bytes);
    }
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_parked *parked = &control->parked[i];
        parked->suspended = parked->suspended == suspended ? NULL : parked->suspended;
    }
    for (smk_suspended_call **other = &control->suspended; *other != NULL;) {
        if (*other == suspended) {
            *other = suspended->next;
            continue;
        }
        (*other)->parent = (*other)->parent == suspended ? NULL : (*other)->parent;
        other = &(*other)->next;
    }
    control->level[control->frame_count] = (smk_level){suspended->code, control->registers_offset};
    control->level_count = control->frame_count + 1; /* its rows hold its constants; rows above it are not filled */
    free_suspended(suspended);
    control->park_count++;
    return rejoin_all(warp);
}

/* The lanes that wait in the present function, or in suspended calls that it made. */
static uint32_t find_waiting(const smk_warp_control *control)
{
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < control->parked_count; i++) {
        const smk_parked *parked = &control->parked[i];
        lanes |= parked->suspended == NULL && parked->level == control->frame_count ? parked->lanes : 0;
    }
    for (const smk_suspended_call *suspended = control->suspended; suspended != NULL; suspended = suspended->next) {
        bool here = suspended->parent == NULL && suspended->level == control->frame_count + 1;
        lanes |= here ? suspended->lanes : 0;
    }
    return lanes & control->live;
}

/* A copy of the present frame, for lanes that wait in it. */
static smk_suspended_call *copy_frame(const smk_warp *warp, uint32_t lanes)
{
    const smk_warp_control *control = warp->control;
    const smk_frame *frame = &control->frame[control->frame_count - 1];
    smk_suspended_call *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    *made = (smk_suspended_call){.code = control->code,
                                 .call = frame->call,
                                 .reconvergence = frame->reconvergence,
                                 .level = control->frame_count,
                                 .lanes = lanes,
                                 .registers_bytes = control->code->frame_bytes,
                                 .local_bytes = (size_t)(control->local_top - control->local_base) * SMK_WARP_SIZE};
    made->registers = smk_heap_allocate(made->registers_bytes + 1, 1);
    made->local = smk_heap_allocate(made->local_bytes + 1, 1);
    if (made->registers == NULL || made->local == NULL) {
        free_suspended(made);
        return NULL;
    }
    memcpy(made->registers, warp->registers, made->registers_bytes);
    if (made->local_bytes > 0) {
        memcpy(made->local, control->local + (size_t)control->local_base * SMK_WARP_SIZE, made->local_bytes);
    }
    return made;
}

/* Suspends the present call, in which `lanes` wait; the others have returned. Returns where the caller goes on with
 * those, NULL where there are none, or the warp has failed. */
static const smk_operation *suspend_call(smk_warp *warp, uint32_t lanes)
{
    smk_warp_control *control = warp->control;
    const uint32_t level = control->frame_count;
    smk_suspended_call *suspended = copy_frame(warp, lanes);
    const smk_operation *op = control->frame[level - 1].call, *next = NULL;
    if (suspended != NULL) {
        next = smk_warp_leave(warp);
        warp->active &= ~lanes;
        suspended->entries = extract_entries(control, lanes, &suspended->entry_count);
    }
    if (suspended == NULL || suspended->entries == NULL) {
        free_suspended(suspended);
        return smk_warp_fail(warp, op, lanes, SMK_MEMORY, "no memory for lanes that wait for others");
    }
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_parked *parked = &control->parked[i];
        parked->suspended = parked->suspended == NULL && parked->level == level ? suspended : parked->suspended;
    }
    for (smk_suspended_call *other = control->suspended; other != NULL; other = other->next) {
        other->parent = other->parent == NULL && other->level == level + 1 ? suspended : other->parent;
    }
    suspended->next = control->suspended;
    control->suspended = suspended;
    control->park_count++;
    return warp->active == 0 ? NULL : next;
}

/* Fails the warp: no lane can go on. Names waiting and missing lanes. */
static void fail_deadlock(smk_warp *warp)
{
    const smk_warp_control *control = warp->control;
    smk_parked parked = control->parked[0];
    char text[MESSAGE_BYTES];
    const uint32_t missing = parked.members & control->live & ~find_matching_lanes(warp, &parked);
    parked.other = smk_warp_waiting(warp, missing);
    smk_park_describe(warp, &parked, missing, text, sizeof text);
    warp->active = parked.lanes;
    if (parked.kind == SMK_PARKED_BLOCK) {
        (void)smk_warp_fail(warp, parked.pc, parked.lanes, SMK_BARRIER, "%s", text);
        return;
    }
    (void)smk_warp_fail(warp, parked.pc, parked.lanes, SMK_DEADLOCK, "%s, so that none of them can go on", text);
}

smk_park_outcome smk_park_next(smk_warp *warp, const smk_operation **next)
{
    smk_warp_control *control = warp->control;
    smk_suspended_call *resumable = find_resumable(control);
    if (resumable != NULL) {
        return resume_call(warp, resumable) ? SMK_PARK_MOVED : SMK_PARK_FAILED;
    }
    const uint32_t waiting = find_waiting(control);
    if (waiting == 0) {
        return SMK_PARK_NOTHING;
    }
    if (control->frame_count == 0) {
        if (recall(control)) {
            return rejoin_all(warp) ? SMK_PARK_MOVED : SMK_PARK_FAILED;
        }
        fail_deadlock(warp);
        return SMK_PARK_FAILED;
    }
    *next = suspend_call(warp, waiting);
    return control->state == SMK_WARP_FAILED ? SMK_PARK_FAILED : SMK_PARK_MOVED;
}

void smk_park_clear(smk_warp_control *control)
{
    for (uint32_t i = 0; i < control->parked_count; i++) {
        smk_heap_free(control->parked[i].entries);
    }
    control->parked_count = 0;
    while (control->suspended != NULL) {
        smk_suspended_call *suspended = control->suspended;
        control->suspended = suspended->next;
        free_suspended(suspended);
    }
}
