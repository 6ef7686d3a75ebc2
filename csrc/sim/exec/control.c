#include "sim/exec/control.h"

#include "sim/code/bits.h"
#include "sim/code/program.h"
#include "sim/exec/block.h"

#include <inttypes.h>
#include <string.h>

enum { FUNCTION_STEP = 16, STACK_ALIGNMENT = 8, FRAME_ALIGNMENT = 16 };

static const smk_operation *reconvergence_of(const smk_warp *warp, const smk_operation *op)
{
    return op->a == SMK_NO_INDEX ? NULL : warp->control->code->operation + op->a;
}

/* Goes on at `next`, or ends the warp's turn where its slice is spent. The steps until here are counted. */
static const smk_operation *continue_at(smk_warp *warp, const smk_operation *next)
{
    smk_warp_control *control = warp->control;
    if (next != NULL && control->steps >= control->slice_end) {
        control->pc = next;
        return NULL;
    }
    return next;
}

static const smk_operation *run_jump(smk_warp *warp, const smk_operation *op)
{
    smk_warp_count(warp->control, op, op->u.target);
    return op->u.target;
}

static const smk_operation *run_jump_back(smk_warp *warp, const smk_operation *op)
{
    smk_warp_count(warp->control, op, op->u.target);
    return continue_at(warp, op->u.target);
}

static const smk_operation *split(smk_warp *warp, const smk_operation *op, uint32_t taken)
{
    smk_warp_control *control = warp->control;
    const smk_operation *next = smk_warp_diverge(warp, op, taken, op->u.target, op + 1, reconvergence_of(warp, op));
    if (next == NULL) {
        return NULL;
    }
    smk_warp_count(control, op, next);
    return continue_at(warp, next);
}

static const smk_operation *run_branch(smk_warp *warp, const smk_operation *op)
{
    uint32_t taken = smk_operation_mask(warp, op);
    if (taken == 0) {
        return op + 1;
    }
    if (taken != warp->active) {
        return split(warp, op, taken);
    }
    smk_warp_count(warp->control, op, op->u.target);
    return op->u.target;
}

static const smk_operation *run_branch_back(smk_warp *warp, const smk_operation *op)
{
    uint32_t taken = smk_operation_mask(warp, op);
    if (taken == 0) {
        return op + 1;
    }
    if (taken != warp->active) {
        return split(warp, op, taken);
    }
    smk_warp_count(warp->control, op, op->u.target);
    return continue_at(warp, op->u.target);
}

smk_handler smk_control_jump(bool backward)
{
    return backward ? run_jump_back : run_jump;
}

smk_handler smk_control_branch(bool backward)
{
    return backward ? run_branch_back : run_branch;
}

/* The lanes of `mask` that have the value of the first of them in a row. */
static uint32_t alike32(const uint32_t *row, uint32_t mask)
{
    uint32_t first = row[smk_bits_first(mask)], same = 0;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        same |= (uint32_t)(row[lane] == first) << lane;
    }
    return same & mask;
}

static uint32_t alike64(const uint64_t *row, uint32_t mask)
{
    uint64_t first = row[smk_bits_first(mask)];
    uint32_t same = 0;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        same |= (uint32_t)(row[lane] == first) << lane;
    }
    return same & mask;
}

const smk_operation *smk_control_branch_table(smk_warp *warp, const smk_operation *op)
{
    smk_warp_control *control = warp->control;
    uint32_t mask = smk_operation_mask(warp, op);
    const uint32_t *row = SMK_ROW(uint32_t, warp, op->b);
    const smk_operation *next = op + 1;
    uint32_t taken = 0;
    if (mask != 0) {
        taken = alike32(row, mask);
        uint32_t index = row[smk_bits_first(taken)];
        if (index >= op->u.detail->target_count) {
            return smk_warp_fail(warp, op, taken, SMK_EXECUTION, "brx.idx: index %u is beyond its table of %u targets",
                                 index, op->u.detail->target_count);
        }
        next = op->u.detail->target[index];
    }
    if (taken != 0 && taken != warp->active) {
        /* the other lanes execute this again, one target after another; lanes whose guard is false fall through last */
        const smk_operation *reconvergence = reconvergence_of(warp, op);
        uint32_t rest = warp->active & ~taken;
        next = smk_warp_diverge(warp, op, rest, op, next, reconvergence);
        if (next == NULL) {
            return NULL;
        }
    }
    smk_warp_count(control, op, next);
    return continue_at(warp, next);
}

/* Ends the slice at calls, too: recursion loops without a backward branch. */
static bool is_spent(smk_warp *warp, const smk_operation *op)
{
    smk_warp_control *control = warp->control;
    if (control->steps + (op->instruction - control->since) < control->slice_end) {
        return false;
    }
    smk_warp_count_before(control, op);
    control->pc = op;
    return true;
}

const smk_operation *smk_control_call(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    if (is_spent(warp, op)) {
        return NULL;
    }
    return smk_warp_call(warp, op, op->u.detail->callee, mask);
}

const smk_operation *smk_control_call_pointer(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    if (is_spent(warp, op)) {
        return NULL;
    }
    const uint64_t *row = SMK_ROW(uint64_t, warp, op->b);
    uint32_t taken = alike64(row, mask);
    uint64_t address = row[smk_bits_first(mask)], offset = address - SMK_WINDOW_FUNCTION;
    const smk_image *image = warp->control->block->run->image;
    const smk_code *callee = NULL;
    if (offset % FUNCTION_STEP == 0 && offset / FUNCTION_STEP < image->module->function_count) {
        callee = smk_image_code(image, (uint32_t)(offset / FUNCTION_STEP));
    }
    if (callee == NULL || callee->function->is_entry) {
        return smk_warp_fail(warp, op, taken, SMK_EXECUTION,
                             "an indirect call of 0x%" PRIx64 ", which is not a function", address);
    }
    if (taken != warp->active) {
        /* the other lanes execute this again; all reconverge behind the call */
        const smk_operation *next = smk_warp_diverge(warp, op, warp->active & ~taken, op, op, op + 1);
        if (next == NULL) {
            return NULL;
        }
    }
    return smk_warp_call(warp, op, callee, taken);
}

const smk_operation *smk_control_return(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    warp->active &= ~mask;
    if (warp->active != 0) {
        return op + 1;
    }
    smk_warp_count(warp->control, op, op + 1);
    return smk_warp_next(warp);
}

const smk_operation *smk_control_exit(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    warp->control->live &= ~mask;
    return smk_control_return(warp, op);
}

const smk_operation *smk_control_end(smk_warp *warp, const smk_operation *op)
{
    smk_warp_count_before(warp->control, op);
    if (warp->control->frame_count == 0) {
        warp->control->live &= ~warp->active;
    }
    warp->active = 0;
    return smk_warp_next(warp);
}

const smk_operation *smk_control_reconverge(smk_warp *warp, const smk_operation *op)
{
    if (warp->control->reconvergence != op) {
        return op + 1;
    }
    smk_warp_count_before(warp->control, op);
    return smk_warp_next(warp);
}

const smk_operation *smk_control_nothing(smk_warp *warp, const smk_operation *op)
{
    (void)warp;
    return op + 1;
}

/* Does the function ask for the barrier of a cooperative launch? */
static bool waits_for_grid(const smk_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const smk_operand *source = &function->instructions[i].operands[1];
        if (source->kind == SMK_OPERAND_SPECIAL && source->index == SMK_SPECIAL_ENVREG2) {
            return true;
        }
    }
    return false;
}

const smk_operation *smk_control_trap(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    const smk_function *function = warp->control->code->function;
    bool breaks = function->instructions[op->instruction].opcode == SMK_OPCODE_BRKPT;
    if (function->refusal != NULL) { /* only calls by pointer get here: other callers are refused, too */
        return smk_warp_fail(warp, op, mask, function->refusal->status, "%.*s, called by its address: %s",
                             SMK_TEXT_PRINT(function->name), function->refusal->message);
    }
    if (!breaks && warp->control->block->run->grid_barrier == 0 && waits_for_grid(function)) {
        return smk_warp_fail(warp, op, mask, SMK_TRAP,
                             "the kernel executed trap: grid.sync() needs a cooperative launch, as by "
                             "cudaLaunchCooperativeKernel or RawKernel(..., enable_cooperative_groups=True)");
    }
    return smk_warp_fail(warp, op, mask, SMK_TRAP, breaks ? "the kernel executed brkpt" : "the kernel executed trap");
}

/* A sleeping warp usually waits for others, or for copies, so its turn ends. */
const smk_operation *smk_control_sleep(smk_warp *warp, const smk_operation *op)
{
    if (smk_operation_mask(warp, op) == 0) {
        return op + 1;
    }
    return smk_bulk_land(warp, op) ? smk_warp_yield(warp, op, op + 1) : NULL;
}

/* In a loop that does nothing but wait, time passes faster the longer it has waited, by a quarter a turn: it ends after
 * few turns, and no more than a quarter too late. */
static void pass_time(smk_warp_control *control, const smk_operation *op, uint64_t own, uint64_t now)
{
    enum { SHARE = 4, LOOP_STEPS = 128 };
    const uint64_t loop = (uint64_t)op->function << 32 | op->slot;
    if (control->wait_loop != loop || own - control->wait_steps > LOOP_STEPS) {
        control->wait_loop = loop;
        control->wait_begin = now;
    }
    control->wait_steps = own;
    control->block->clock_ahead += (now - control->wait_begin) / SHARE;
}

const smk_operation *smk_control_clock(smk_warp *warp, const smk_operation *op)
{
    smk_warp_control *control = warp->control;
    smk_block *block = control->block;
    /* the block's count is current up to the start of this warp's turn; the warp's steps since then are added */
    const uint64_t own = control->steps + (op->instruction - control->since);
    const uint64_t steps = block->steps + own - control->turn_begin;
    if (op->slot != SMK_NO_INDEX && block->clock_stopped == 0) {
        pass_time(control, op, own, steps + block->clock_ahead);
    }
    const uint64_t now = block->clock_stopped != 0 ? block->clock_stopped : steps + block->clock_ahead;
    smk_special special = (smk_special)op->element;
    bool high = special == SMK_SPECIAL_CLOCK_HI || special == SMK_SPECIAL_GLOBALTIMER_HI;
    uint64_t value = high ? now >> 32 : now;
    bool wide = smk_module_special_bits(special) == 64;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        if (wide) {
            SMK_ROW(uint64_t, warp, op->d)[lane] = value;
        } else {
            SMK_ROW(uint32_t, warp, op->d)[lane] = (uint32_t)value;
        }
    }
    return op + 1;
}

const smk_operation *smk_control_local_address(smk_warp *warp, const smk_operation *op)
{
    uint64_t address = warp->control->local_base + op->u.immediate;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        if (op->count == 64) {
            SMK_ROW(uint64_t, warp, op->d)[lane] = address;
        } else {
            SMK_ROW(uint32_t, warp, op->d)[lane] = (uint32_t)address;
        }
    }
    return op + 1;
}

const smk_operation *smk_control_clear(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    uint64_t *d = SMK_ROW(uint64_t, warp, op->d);
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        d[lane] = (mask >> lane & 1) != 0 ? 0 : d[lane];
    }
    return op + 1;
}

const smk_operation *smk_control_convert_address(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    const uint64_t *a = SMK_ROW(uint64_t, warp, op->a);
    uint64_t *d = SMK_ROW(uint64_t, warp, op->d);
    if (mask == UINT32_MAX && op->u.immediate == 0) {
        memmove(d, a, SMK_WARP_SIZE * sizeof *d);
        return op + 1;
    }
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        uint64_t value = a[lane] + op->u.immediate;
        d[lane] = (mask >> lane & 1) != 0 ? value : d[lane];
    }
    return op + 1;
}

const smk_operation *smk_control_widen_address(smk_warp *warp, const smk_operation *op)
{
    const uint32_t *a = SMK_ROW(uint32_t, warp, op->a);
    uint64_t *d = SMK_ROW(uint64_t, warp, op->d);
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        d[lane] = a[lane];
    }
    return op + 1;
}

/* The lanes whose address is in a constant variable. The simulator keeps constants among global allocations, without a
 * window of their own. */
static uint32_t find_constants(const smk_warp *warp, const uint64_t *a)
{
    const smk_program *program = warp->control->block->run->image->program;
    const smk_module *module = program->module;
    uint32_t inside = 0;
    for (uint32_t i = 0; i < module->variable_count; i++) {
        const smk_variable *variable = &module->variables[i];
        if (variable->space != SMK_SPACE_CONST || program->addresses[i] == 0) {
            continue;
        }
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            inside |= (uint32_t)(a[lane] - program->addresses[i] < variable->bytes) << lane;
        }
    }
    return inside;
}

const smk_operation *smk_control_is_constant(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    uint32_t inside = find_constants(warp, SMK_ROW(uint64_t, warp, op->a));
    uint32_t *d = SMK_ROW(uint32_t, warp, op->d);
    *d = (*d & ~mask) | (inside & mask);
    return op + 1;
}

const smk_operation *smk_control_is_space(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op), inside = 0;
    const uint64_t *a = SMK_ROW(uint64_t, warp, op->a);
    uint64_t low = op->u.immediate, bytes = low == 0 ? SMK_WINDOW_SHARED : SMK_WINDOW_BYTES;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        inside |= (uint32_t)(a[lane] - low < bytes) << lane;
    }
    if (low == 0) {
        inside &= ~find_constants(warp, a);
    }
    uint32_t *d = SMK_ROW(uint32_t, warp, op->d);
    *d = (*d & ~mask) | (inside & mask);
    return op + 1;
}

/* Stack ------------------------------------------------------------------------------------------------ */

static uint64_t lane_value(const smk_warp *warp, uint32_t row, uint32_t bits, unsigned lane)
{
    return bits == 64 ? SMK_ROW(const uint64_t, warp, row)[lane] : SMK_ROW(const uint32_t, warp, row)[lane];
}

static void put_lane(const smk_warp *warp, const smk_operation *op, unsigned lane, uint64_t value)
{
    if (op->count == 64) {
        SMK_ROW(uint64_t, warp, op->d)[lane] = value;
    } else {
        SMK_ROW(uint32_t, warp, op->d)[lane] = (uint32_t)value;
    }
}

/* The end of the variables of the present frame. Behind it each lane has a stack of its own, as registers of an H200
 * have it; row `b` has how many bytes it takes. The frame ends behind the highest of them. */
static uint64_t end_of_variables(const smk_warp *warp)
{
    return (uint64_t)warp->control->local_base + warp->control->code->local_bytes;
}

static uint64_t start_of(uint64_t top, uint64_t alignment)
{
    return (top + alignment - 1) / alignment * alignment;
}

const smk_operation *smk_control_allocate(smk_warp *warp, const smk_operation *op)
{
    smk_warp_control *control = warp->control;
    const uint32_t mask = smk_operation_mask(warp, op);
    const uint64_t first = end_of_variables(warp), alignment = op->u.immediate;
    uint32_t *taken = SMK_ROW(uint32_t, warp, op->b);
    uint64_t most = control->local_top;
    smk_error error;
    for (uint32_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
        const unsigned lane = smk_bits_first(lanes);
        const uint64_t size = lane_value(warp, op->a, op->count, lane);
        const uint64_t start = start_of(first + taken[lane], alignment);
        if (size > SMK_WARP_LOCAL_BYTES_MAX || start + size > SMK_WARP_LOCAL_BYTES_MAX) {
            return smk_warp_fail(warp, op, mask, SMK_EXECUTION,
                                 "alloca of %" PRIu64 " bytes: the thread has %" PRIu64
                                 " bytes of local memory in use, and the "
                                 "limit is %d",
                                 size, first + taken[lane], SMK_WARP_LOCAL_BYTES_MAX);
        }
        const uint64_t top = start_of(start + size, STACK_ALIGNMENT);
        most = top > most ? top : most;
    }
    most = start_of(most, FRAME_ALIGNMENT);
    const smk_status status = smk_warp_reserve_local(warp, (uint32_t)most, &error);
    if (status != SMK_OK) {
        return smk_warp_fail(warp, op, mask, status, "%s", error.message);
    }
    control->local_top = (uint32_t)most;
    control->local_used = most > control->local_used ? (uint32_t)most : control->local_used;
    for (uint32_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
        const unsigned lane = smk_bits_first(lanes);
        const uint64_t start = start_of(first + taken[lane], alignment);
        taken[lane] = (uint32_t)(start_of(start + lane_value(warp, op->a, op->count, lane), STACK_ALIGNMENT) - first);
        put_lane(warp, op, lane, start);
    }
    return op + 1;
}

const smk_operation *smk_control_save_stack(smk_warp *warp, const smk_operation *op)
{
    const uint32_t *taken = SMK_ROW(const uint32_t, warp, op->b);
    for (uint32_t lanes = smk_operation_mask(warp, op); lanes != 0; lanes &= lanes - 1) {
        const unsigned lane = smk_bits_first(lanes);
        put_lane(warp, op, lane, end_of_variables(warp) + taken[lane]);
    }
    return op + 1;
}

/* Where all lanes in the function execute it, the frame becomes smaller too. */
const smk_operation *smk_control_restore_stack(smk_warp *warp, const smk_operation *op)
{
    smk_warp_control *control = warp->control;
    const uint32_t mask = smk_operation_mask(warp, op);
    const uint64_t first = end_of_variables(warp);
    uint32_t *taken = SMK_ROW(uint32_t, warp, op->b);
    uint64_t most = 0;
    for (uint32_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
        const unsigned lane = smk_bits_first(lanes);
        const uint64_t top = lane_value(warp, op->a, op->count, lane);
        if (top >= first && top <= control->local_top) {
            taken[lane] = (uint32_t)(top - first);
        }
        most = taken[lane] > most ? taken[lane] : most;
    }
    if (mask != 0 && mask == warp->active && control->depth == control->base && control->parked_count == 0) {
        control->local_top = (uint32_t)start_of(first + most, FRAME_ALIGNMENT);
    }
    return op + 1;
}
