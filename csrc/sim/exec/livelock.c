#include "sim/exec/livelock.h"

#include "base/heap.h"
#include "ptx/opcode.h"
#include "sim/code/bits.h"
#include "sim/exec/access.h"
#include "sim/exec/atomic.h"
#include "sim/exec/control.h"
#include "sim/exec/independent.h"
#include "sim/exec/park.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LOCATION_BYTES = 160, WORD_BYTES = 16, WEAK_STEPS = 256, TIME_JUMPS = 16 };

/* The state in which a warp started its slice. */
typedef struct state {
    smk_warp_control control;
    const smk_operation *pc;
    uint32_t active, carry;
    size_t entry_bytes, callee_bytes, frame_bytes, local_bytes;
    unsigned char *copy; /* of all four, consecutive */
} state;

/* What a warp has read since. */
typedef struct trace {
    bool reads;      /* shared or global memory */
    bool global;     /* global memory */
    bool clock;      /* a clock */
    uint32_t strong; /* number of its atomics, strong loads, and plain loads by which threads wait */
    uint32_t rounds; /* how often it came to its first operation with its first lanes */
} trace;

/* Repeated states -------------------------------------------------------------------------------- */

static bool take_state(const smk_warp *warp, state *s)
{
    const smk_warp_control *control = warp->control;
    const smk_image *image = control->block->run->image;
    s->control = *control;
    s->pc = control->pc;
    s->active = warp->active;
    s->carry = warp->carry;
    s->entry_bytes = image->entry_code->frame_bytes;
    s->callee_bytes = control->frame_count == 0 ? 0 : control->registers_offset + control->code->frame_bytes;
    s->frame_bytes = control->frame_count * sizeof *control->frame;
    s->local_bytes = (size_t)control->local_used * SMK_WARP_SIZE;
    s->copy = smk_heap_allocate(s->entry_bytes + s->callee_bytes + s->frame_bytes + s->local_bytes, 1);
    if (s->copy == NULL) {
        return false;
    }
    unsigned char *to = memcpy(s->copy, control->entry_registers, s->entry_bytes);
    to += s->entry_bytes;
    if (s->frame_bytes > 0) {
        memcpy(to, control->callee_frames, s->callee_bytes);
        memcpy(to + s->callee_bytes, control->frame, s->frame_bytes);
    }
    if (s->local_bytes > 0) {
        memcpy(to + s->callee_bytes + s->frame_bytes, control->local, s->local_bytes);
    }
    return true;
}

static bool has_same_simt_stack(const smk_warp_control *a, const smk_warp_control *b)
{
    bool same = a->depth == b->depth && a->base == b->base && a->reconvergence == b->reconvergence &&
                a->live == b->live && a->park_count == b->park_count;
    for (uint32_t i = 0; same && i < a->depth; i++) {
        same = a->simt_stack[i].pc == b->simt_stack[i].pc &&
               a->simt_stack[i].reconvergence == b->simt_stack[i].reconvergence &&
               a->simt_stack[i].mask == b->simt_stack[i].mask;
    }
    return same;
}

static bool is_back(const smk_warp *warp, const smk_operation *op, const state *s)
{
    const smk_warp_control *now = warp->control, *then = &s->control;
    if (op != s->pc || warp->active != s->active || warp->carry != s->carry || now->code != then->code ||
        now->frame_count != then->frame_count || now->registers_offset != then->registers_offset ||
        now->local_base != then->local_base || now->local_top != then->local_top ||
        now->local_used != then->local_used || now->pending_count != then->pending_count ||
        memcmp(now->group, then->group, sizeof now->group) != 0 || !has_same_simt_stack(now, then)) {
        return false;
    }
    const unsigned char *callee_frames = s->copy + s->entry_bytes;
    const unsigned char *frame = callee_frames + s->callee_bytes, *local = frame + s->frame_bytes;
    return memcmp(now->entry_registers, s->copy, s->entry_bytes) == 0 &&
           (s->frame_bytes == 0 || (memcmp(now->callee_frames, callee_frames, s->callee_bytes) == 0 &&
                                    memcmp(now->frame, frame, s->frame_bytes) == 0)) &&
           (s->local_bytes == 0 || memcmp(now->local, local, s->local_bytes) == 0);
}

/* Instructions without visible effects --------------------------------------------------------------- */

static void note_read(trace *t, smk_space space)
{
    bool global = space == SMK_SPACE_GLOBAL || space == SMK_SPACE_GENERIC;
    t->global = t->global || global;
    t->reads = t->reads || global || space == SMK_SPACE_SHARED;
}

bool smk_livelock_is_strong_read(const smk_instruction *in)
{
    return smk_opcode_class(in) == SMK_CLASS_ATOMIC ||
           (smk_opcode_class(in) == SMK_CLASS_LOAD &&
            (smk_module_has(in, SMK_MODIFIER_VOLATILE) || smk_module_has(in, SMK_MODIFIER_RELAXED) ||
             smk_module_has(in, SMK_MODIFIER_ACQUIRE)));
}

/* Does the present function wait by this load, although it is a plain one? */
static bool polls(const smk_warp *warp, const smk_operation *op)
{
    const smk_code *code = warp->control->code;
    return code->polls != NULL && code->index == op->function &&
           (code->polls[op->instruction / 64] >> op->instruction % 64 & 1) != 0;
}

/* The instruction of an operation that changes nothing but the warp; else NULL. Atomics are decided after they have
 * run. */
static const smk_instruction *find_quiet(const smk_warp *warp, const smk_operation *op, trace *t)
{
    const smk_function *function = &warp->control->block->run->image->module->functions[op->function];
    if (op->instruction >= function->instruction_count) {
        return NULL;
    }
    const smk_instruction *in = &function->instructions[op->instruction];
    t->clock = t->clock || op->run == smk_control_clock;
    const smk_space space = (smk_space)in->space;
    bool quiet = false;
    switch (smk_opcode_class(in)) {
    case SMK_CLASS_ALU: /* they change registers, local memory and the warp's SIMT stack only */
    case SMK_CLASS_ADDRESS:
    case SMK_CLASS_EXCHANGE:
    case SMK_CLASS_FENCE:
    case SMK_CLASS_BRANCH:
    case SMK_CLASS_HINT:
        quiet = true;
        break;
    case SMK_CLASS_LOAD:
    case SMK_CLASS_ATOMIC:
        note_read(t, space);
        t->strong += smk_livelock_is_strong_read(in) || polls(warp, op);
        quiet = true;
        break;
    case SMK_CLASS_STORE: /* stores of parameters prepare a call */
        quiet = space == SMK_SPACE_LOCAL || space == SMK_SPACE_PARAM;
        break;
    case SMK_CLASS_BARRIER:
        quiet = smk_module_has(in, SMK_MODIFIER_WARP);
        break;
    case SMK_CLASS_CALL:
        quiet = op->run == smk_control_call || op->run == smk_control_call_pointer;
        break;
    case SMK_CLASS_END:
        quiet = in->opcode == SMK_OPCODE_RET && warp->control->frame_count > 0;
        break;
    case SMK_CLASS_PAUSE:
        quiet = in->opcode == SMK_OPCODE_NANOSLEEP;
        break;
    case SMK_CLASS_COPY:
    case SMK_CLASS_TEXTURE:
    case SMK_CLASS_MATRIX:
        break;
    }
    return quiet ? in : NULL;
}

/* The host address of the word that an atomic updates; NULL where the address is invalid. */
static const unsigned char *find_word(const smk_warp *warp, const smk_operation *op, unsigned lane, unsigned bytes)
{
    const smk_warp_control *control = warp->control;
    uint64_t address = SMK_ROW(uint64_t, warp, op->a)[lane] + op->u.immediate;
    smk_space space = smk_access_settle((smk_space)op->d2, &address);
    if (space == SMK_SPACE_SHARED) {
        bool inside = address < control->shared_bytes && control->shared_bytes - address >= bytes;
        return inside ? control->shared + address : NULL;
    }
    const smk_allocation *allocation = smk_memory_view_find(control->block->run->view, address);
    bool inside = allocation != NULL && allocation->bytes - (address - allocation->address) >= bytes;
    return inside && space == SMK_SPACE_GLOBAL ? allocation->host + (address - allocation->address) : NULL;
}

/* Runs an atomic; false where it has changed memory, or may have. */
static bool run_atomic(smk_warp *warp, const smk_operation *op, const smk_operation **next)
{
    const smk_instruction *in = &warp->control->code->function->instructions[op->instruction];
    const unsigned char *target[SMK_WARP_SIZE] = {NULL};
    unsigned char before[SMK_WARP_SIZE][WORD_BYTES];
    unsigned bytes = smk_module_type_bits((smk_type)op->element) / 8 * in->vector;
    uint32_t mask = smk_operation_mask(warp, op);
    bool same = bytes <= WORD_BYTES;
    for (unsigned lane = 0; same && lane < SMK_WARP_SIZE; lane++) {
        if ((mask >> lane & 1) != 0) {
            target[lane] = find_word(warp, op, lane, bytes);
            same = target[lane] != NULL;
        }
        if (target[lane] != NULL) {
            memcpy(before[lane], target[lane], bytes);
        }
    }
    *next = op->run(warp, op);
    for (unsigned lane = 0; same && lane < SMK_WARP_SIZE; lane++) {
        same = target[lane] == NULL || memcmp(before[lane], target[lane], bytes) == 0;
    }
    return same && *next != NULL;
}

/* Runs one operation; false where it may have had a visible effect, or the warp has stopped. */
static bool run_quietly(smk_warp *warp, const smk_operation **op, const smk_instruction *in)
{
    const smk_operation *at = *op;
    bool changes = smk_opcode_class(in) == SMK_CLASS_ATOMIC;
    if (changes && at->run == smk_atomic_run) {
        return run_atomic(warp, at, op);
    }
    *op = at->run(warp, at);
    if (changes && *op != at + 1) { /* an observer's operation has run the atomic */
        return false;
    }
    if (*op == NULL && warp->control->state == SMK_WARP_READY) { /* it sleeps, or its slice is spent */
        *op = warp->control->pc;
    }
    return *op != NULL;
}

/* Runs for `steps`, or until a visible effect, or for WEAK_STEPS without a read by which threads wait where `strong`. */
static smk_livelock_wait check_warp(smk_warp *warp, trace *t, uint64_t steps, bool strong)
{
    smk_warp_control *control = warp->control;
    const smk_operation *op = control->pc;
    state began;
    if (!take_state(warp, &began)) {
        return SMK_LIVELOCK_NO_WAIT;
    }
    bool back = false, quiet = true;
    const uint64_t stop = control->steps + steps, weak_stop = strong ? control->steps + WEAK_STEPS : stop;
    control->slice_end = stop;
    while (quiet && !back && control->steps < (t->strong > 0 ? stop : weak_stop)) {
        const smk_instruction *in = find_quiet(warp, op, t);
        quiet = in != NULL && run_quietly(warp, &op, in);
        back = quiet && (!t->clock || control->block->clock_stopped != 0) && is_back(warp, op, &began);
        t->rounds += quiet && op == began.pc && warp->active == began.active;
    }
    if (op != NULL) {
        smk_warp_count_before(control, op);
        control->pc = op;
    }
    const bool same_path = (warp->active & ~began.active) == 0;
    smk_heap_free(began.copy);
    return back                                                             ? SMK_LIVELOCK_FOREVER
           : quiet && same_path && t->rounds >= 2 && t->strong >= t->rounds ? SMK_LIVELOCK_TIMED
                                                                            : SMK_LIVELOCK_NO_WAIT;
}

smk_livelock_wait smk_livelock_watch(smk_warp *warp, uint64_t steps)
{
    trace t = {0};
    return check_warp(warp, &t, steps, true);
}

/* Does every path of a warp spin? *global: one of them reads global memory. */
static bool waits_on_all_paths(smk_warp *warp, bool *global)
{
    for (unsigned paths = 0; paths <= SMK_WARP_SIZE; paths++) {
        trace t = {0};
        smk_livelock_wait wait = check_warp(warp, &t, SMK_WARP_SLICE_STEPS, false);
        if (wait == SMK_LIVELOCK_TIMED && t.clock) { /* its registers hold the stopped clock now: is that all? */
            t.rounds = t.strong = 0;
            wait = check_warp(warp, &t, SMK_WARP_SLICE_STEPS, false);
        }
        *global = *global || t.global;
        warp->control->block->clock_waits |= t.clock;
        if (wait != SMK_LIVELOCK_FOREVER || warp->control->state != SMK_WARP_READY) {
            return false;
        }
        if (!smk_independent_has_other_paths(warp)) {
            return true;
        }
        smk_park_step_aside(warp);
        if (warp->control->state != SMK_WARP_READY) {
            return false;
        }
    }
    return true;
}

smk_block_state smk_livelock_find(smk_block *block, bool alone, bool *livelocked)
{
    *livelocked = block->ready != 0;
    block->clock_waits = false;
    block->clock_stopped = block->steps + block->clock_ahead + 1;
    for (uint32_t left = block->ready; *livelocked && left != 0; left &= left - 1) {
        const uint32_t index = smk_bits_first(left);
        smk_warp_control *control = &block->control[index];
        const uint64_t before = control->steps;
        bool global = false;
        const bool waits = waits_on_all_paths(&block->warp[index], &global);
        block->steps += control->steps - before;
        if (control->state == SMK_WARP_FAILED) {
            *livelocked = false;
            block->clock_stopped = 0;
            return SMK_BLOCK_FAILED;
        }
        *livelocked = waits && (alone || !global);
    }
    block->clock_stopped = 0;
    return block->live == 0 ? SMK_BLOCK_DONE : SMK_BLOCK_RUNNING;
}

bool smk_livelock_pass_time(smk_block *block, unsigned turn)
{
    if (!block->clock_waits || turn >= TIME_JUMPS) {
        return false;
    }
    /* the shorter jump ends waits that compare 32 bits of a clock with a sign; the longer one is 18 minutes at 1 GHz */
    block->clock_ahead += UINT64_C(1) << (turn % 2 == 0 ? 30 : 40);
    return true;
}

/* Errors --------------------------------------------------------------------------------------------- */

/* The warp that the message names: the first with lanes that wait for its spinning lanes, else the first that spins. */
static uint32_t choose_warp(const smk_block *block)
{
    for (uint32_t left = block->ready; left != 0; left &= left - 1) {
        const uint32_t index = smk_bits_first(left);
        if ((block->control[index].live & ~block->warp[index].active) != 0) {
            return index;
        }
    }
    return smk_bits_first(block->ready);
}

/* Does a warp that spins read memory? It runs for one more turn of its loop, which changes nothing. */
static bool reads_memory(smk_warp *warp)
{
    trace t = {0};
    return check_warp(warp, &t, SMK_WARP_SLICE_STEPS, false) != SMK_LIVELOCK_FOREVER || t.reads;
}

void smk_livelock_fail(smk_block *block, uint64_t later)
{
    const uint32_t index = choose_warp(block), barrier = block->live & ~block->ready;
    smk_warp *warp = &block->warp[index];
    const smk_warp_control *control = warp->control;
    const uint32_t aside = control->live & ~warp->active;
    char location[LOCATION_BYTES], lanes[256] = "", others[128] = "", blocks[96] = "";
    smk_warp_describe(warp, control->pc, location, sizeof location);
    if (aside != 0) {
        (void)snprintf(lanes, sizeof lanes, ", with %u lanes in the loop and %u not%s", smk_bits_count(warp->active),
                       smk_bits_count(aside),
                       block->run->options->lockstep
                           ? ": lanes of a warp run in lock step here (independent=False) and reconverge behind a "
                             "loop, so that what a lane does after its wait comes too late for the others"
                           : ", which wait, too");
    }
    if (barrier != 0) {
        (void)snprintf(others, sizeof others, "; %u of its warps wait at a barrier", smk_bits_count(barrier));
    }
    if (later > 0) {
        (void)snprintf(blocks, sizeof blocks, "; %" PRIu64 " of the blocks have not begun, for want of room", later);
    }
    const char *loop = "read the same values again and again, and no other warp can change them", *advice = "";
    if (!reads_memory(warp)) {
        loop = "repeat the same steps again and again, and no other warp can end them";
        advice = ". Its loop reads nothing: if it should wait for memory, the read stands before the loop (one of a "
                 "volatile variable, or an atomic, stays in it)";
    }
    (void)smk_warp_fail(warp, control->pc, warp->active, SMK_DEADLOCK,
                        "the block waits for ever: %u of its warps %s: warp %u at %s%s%s%s%s",
                        smk_bits_count(block->ready), loop, index, location, lanes, others, blocks, advice);
}
