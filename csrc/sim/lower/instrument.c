#include "sim/lower/instrument.h"

#include "ptx/opcode.h"
#include "sim/lower/link.h"

#include "sim/code/bits.h"
#include "sim/code/program.h"
#include "sim/exec/access.h"
#include "sim/exec/block.h"
#include "sim/exec/control.h"
#include "sim/exec/cp_async.h"
#include "sim/exec/grid.h"
#include "sim/lower/lowering.h"

#include <string.h>

enum { HALF = 16, USED_SHIFT = 16 };

static const smk_observer *observer_of(const smk_warp *warp)
{
    return warp->control->block->run->observer;
}

static void *state_of(const smk_warp *warp)
{
    return warp->control->block->observer_state;
}

/* Straight-line runs, guards and branches ---------------------------------------------------------------------- */

static const smk_operation *run_run(smk_warp *warp, const smk_operation *op)
{
    observer_of(warp)->run(state_of(warp), warp, op, warp->active);
    return op + 1;
}

bool smk_instrument_is_run(const smk_operation *op)
{
    return op->run == run_run;
}

static const smk_operation *run_guarded(smk_warp *warp, const smk_operation *op)
{
    observer_of(warp)->guarded(state_of(warp), warp, op, smk_operation_mask(warp, op));
    return op + 1;
}

static const smk_operation *run_branch(smk_warp *warp, const smk_operation *op)
{
    uint32_t taken = smk_operation_mask(warp, op);
    observer_of(warp)->branch(state_of(warp), warp, op, taken, warp->active & ~taken);
    return op + 1;
}

/* brx.idx: `b` the row of indices. */
static const smk_operation *run_branch_table(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op), taken = 0;
    const uint32_t *row = SMK_ROW(uint32_t, warp, op->b);
    for (unsigned lane = 0; lane < SMK_WARP_SIZE && mask != 0; lane++) {
        taken |= (uint32_t)(row[lane] == row[smk_bits_first(mask)]) << lane;
    }
    taken &= mask;
    observer_of(warp)->branch(state_of(warp), warp, op, taken, warp->active & ~taken);
    return op + 1;
}

static const smk_operation *run_fence(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask != 0) {
        observer_of(warp)->fence(state_of(warp), warp, op, mask);
    }
    return op + 1;
}

bool smk_instrument_emit_run(smk_lowering *lowering)
{
    const smk_observer *observer = lowering->image->observer;
    return observer == NULL || (observer->wants & SMK_OBSERVE_RUNS) == 0 ||
           smk_lower_emit_always(lowering, run_run) != NULL;
}

static const smk_operation *run_value(smk_warp *warp, const smk_operation *op)
{
    observer_of(warp)->value(state_of(warp), warp, op);
    return op + 1;
}

smk_operation *smk_instrument_emit_value(smk_lowering *lowering)
{
    return smk_lower_emit(lowering, run_value);
}

bool smk_instrument_emit(smk_lowering *lowering)
{
    const smk_observer *observer = lowering->image->observer;
    const smk_instruction *instruction = lowering->instruction;
    if (observer == NULL) {
        return true;
    }
    if (observer->emit != NULL && !observer->emit(observer->context, lowering)) {
        return false;
    }
    bool table = instruction->opcode == SMK_OPCODE_BRX;
    bool branch = smk_opcode_class(instruction) == SMK_CLASS_BRANCH;
    bool fence = smk_opcode_class(instruction) == SMK_CLASS_FENCE &&
                 !smk_module_has(instruction, SMK_MODIFIER_PROXY); /* which orders the thread's own accesses */
    if (branch && (table || instruction->guarded) && (observer->wants & SMK_OBSERVE_BRANCHES) != 0) {
        uint32_t row = table ? smk_lower_row(lowering, &instruction->operands[0], 32, NULL) : 0;
        smk_operation *op = smk_lower_emit(lowering, table ? run_branch_table : run_branch);
        if (op == NULL) {
            return false;
        }
        op->b = row;
    }
    if (!branch && instruction->guarded && (observer->wants & SMK_OBSERVE_RUNS) != 0 &&
        smk_lower_emit(lowering, run_guarded) == NULL) {
        return false;
    }
    return !fence || (observer->wants & SMK_OBSERVE_SYNCHRONIZATION) == 0 ||
           smk_lower_emit(lowering, run_fence) != NULL;
}

/* Accesses ----------------------------------------------------------------------------------------------------- */

/* Executes the access behind `op` for the lanes in `allowed` alone. */
static const smk_operation *run_allowed(smk_warp *warp, const smk_operation *op, uint32_t allowed)
{
    uint32_t active = warp->active;
    if (allowed == 0) {
        return op + 2;
    }
    warp->active = allowed;
    const smk_operation *next = op[1].run(warp, &op[1]);
    if (next != NULL) { /* else the warp has failed */
        warp->active = active;
    }
    return next;
}

SMK_CLONES static void widen(uint64_t *address, const uint32_t *row, uint32_t add)
{
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        address[i] = row[i] + add;
    }
}

SMK_CLONES static void shift(uint64_t *address, const uint64_t *row, uint64_t add)
{
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        address[i] = row[i] + add;
    }
}

/* The step from lane to lane that the first and last lane of half a warp allow. */
static uint64_t step_of(const uint64_t *half, unsigned bytes)
{
    return half[HALF - 1] == half[0] ? 0 : bytes;
}

static uint8_t shape_of(uint32_t equal, uint32_t wanted, uint64_t step)
{
    return (equal & wanted) != wanted ? SMK_ACCESS_ANY : step == 0 ? SMK_ACCESS_ONE : SMK_ACCESS_ROW;
}

/* Compares the row of addresses itself: the event's addresses were stored in narrower pieces just before, and wide
 * loads of them would stall. */
static void find_shape(const smk_warp *warp, smk_access_event *event, const void *row, bool narrow)
{
    const uint64_t *at = event->address;
    uint64_t step = step_of(at, event->bytes), second = step_of(at + HALF, event->bytes);
    uint64_t start = narrow ? *(const uint32_t *)row : *(const uint64_t *)row; /* the first address without the added
                                                                                * offset */
    smk_access_compare *compare = warp->control->block->run->compare;
    uint32_t equal = 0;
    if (at[HALF - 1] - at[0] == (HALF - 1) * step) {
        equal = compare(row, narrow, start, step);
    }
    event->shape[0] = shape_of(equal, UINT32_C(0xFFFF), step);
    if (step != second || equal >> HALF != UINT32_C(0xFFFF)) {
        bool maybe = at[SMK_WARP_SIZE - 1] - at[HALF] == (HALF - 1) * second;
        equal = maybe ? compare(row, narrow, start + (at[HALF] - at[0]) - HALF * second, second) : 0;
    }
    event->shape[1] = shape_of(equal, UINT32_C(0xFFFF0000), second);
}

/* Fields: `a` and u.immediate as in the access; d space, b narrow, c bytes, and where lanes use fewer, these above them;
 * d2 kind. */
static const smk_operation *run_access(smk_warp *warp, const smk_operation *op)
{
    uint8_t used[SMK_WARP_SIZE];
    smk_access_event event; /* not initialised: all addresses are written below */
    event.op = op;
    event.kind = (smk_access_kind)op->d2;
    event.space = (smk_space)op->d;
    event.bytes = op->c & ((1U << USED_SHIFT) - 1);
    event.mask = smk_operation_mask(warp, op);
    event.used = NULL;
    if (op->c >> USED_SHIFT != 0) {
        memset(used, (int)(op->c >> USED_SHIFT), sizeof used);
        event.used = used;
    }
    event.source = NULL;
    if (event.mask == 0) {
        return op + 1;
    }
    uint64_t add = op->u.immediate;
    if (op->d == SMK_SPACE_LOCAL && op->slot == SMK_ACCESS_FRAME) {
        add += warp->control->local_base;
    }
    bool narrow = op->b != 0;
    if (narrow) {
        widen(event.address, SMK_ROW(uint32_t, warp, op->a), (uint32_t)add);
    } else {
        shift(event.address, SMK_ROW(uint64_t, warp, op->a), add);
    }
    find_shape(warp, &event, SMK_ROW(void, warp, op->a), narrow);
    uint32_t allowed = observer_of(warp)->access(state_of(warp), warp, &event) & event.mask;
    if (allowed == event.mask) {
        return op + 1;
    }
    smk_access_clear(warp, &op[1], event.kind, event.mask & ~allowed);
    return run_allowed(warp, op, allowed);
}

/* cp.async: u.detail, `a`, `b` and d2 as in the copy. */
static const smk_operation *run_copy(smk_warp *warp, const smk_operation *op)
{
    const smk_observer *observer = observer_of(warp);
    const smk_detail *detail = op->u.detail;
    uint8_t used[SMK_WARP_SIZE];
    uint32_t mask = smk_operation_mask(warp, op), reading = 0, allowed = mask;
    smk_access_event from = {
        .op = op, .kind = SMK_ACCESS_LOAD, .space = (smk_space)op->d2, .bytes = detail->bytes, .used = used};
    smk_access_event to = {.op = op,
                           .kind = SMK_ACCESS_COPY,
                           .space = SMK_SPACE_SHARED,
                           .bytes = detail->bytes,
                           .mask = mask,
                           .source = from.address};
    if (mask == 0) {
        return op + 1;
    }
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        unsigned bytes = (mask >> lane & 1) != 0 ? smk_cp_async_source_bytes(warp, detail, lane) : 0;
        if (bytes > detail->bytes) {
            return op + 1; /* the copy itself reports the error */
        }
        used[lane] = (uint8_t)bytes;
        reading |= (uint32_t)(bytes > 0) << lane;
        to.address[lane] = SMK_ROW(uint64_t, warp, op->a)[lane] + (uint64_t)detail->offset;
        from.address[lane] = SMK_ROW(uint64_t, warp, op->b)[lane] + (uint64_t)detail->second_offset;
    }
    from.mask = reading;
    if (reading != 0) {
        allowed &= ~reading | observer->access(state_of(warp), warp, &from);
    }
    to.mask = allowed;
    if (allowed != 0) {
        allowed &= observer->access(state_of(warp), warp, &to);
    }
    return allowed == mask ? op + 1 : run_allowed(warp, op, allowed);
}

bool smk_instrument_emit_access(smk_lowering *lowering, smk_access_kind kind, smk_space space, bool narrow,
                                unsigned bytes)
{
    const smk_observer *observer = lowering->image->observer;
    if (observer == NULL || (observer->wants & SMK_OBSERVE_ACCESSES) == 0 ||
        (observer->selects != NULL &&
         !observer->selects(observer->context, lowering->function, lowering->instruction_index))) {
        return true;
    }
    smk_operation *op = smk_lower_emit(lowering, run_access);
    if (op == NULL) {
        return false;
    }
    smk_operation access = op[-1];
    op[-1] = access;
    op[-1].run = kind == SMK_ACCESS_COPY ? run_copy : run_access;
    if (kind != SMK_ACCESS_COPY) {
        op[-1].d = (uint32_t)space;
        op[-1].b = narrow;
        op[-1].c = bytes;
        op[-1].d2 = (uint32_t)kind;
    }
    *op = access;
    return true;
}

bool smk_instrument_emit_partial(smk_lowering *lowering, smk_space space, bool narrow, unsigned bytes, unsigned used)
{
    return smk_instrument_emit_access(lowering, SMK_ACCESS_LOAD, space, narrow, bytes | used << USED_SHIFT);
}

/* Launches ------------------------------------------------------------------------------------------------------- */

smk_status smk_instrument_run(smk_program *program, uint32_t entry, const smk_launch *launch,
                              const smk_run_options *options, const smk_observer *observer, uint64_t blocks,
                              smk_run_result *result, smk_error *error)
{
    smk_image *image = NULL;
    const smk_module *module = program->module;
    if (entry >= module->function_count || !module->functions[entry].is_entry || !module->functions[entry].is_defined) {
        return smk_status_fail(error, SMK_ARGUMENT, "the module has no kernel of number %u", entry);
    }
    struct smk_coverage_module *covered = NULL;
    smk_status status = smk_program_cover(program, &covered, error);
    if (status == SMK_OK) {
        status = smk_link_create(program, entry, observer, covered, &image, error);
    }
    if (status == SMK_OK) {
        status = smk_grid_launch(program, image, launch, options, observer, blocks, result, error);
    }
    smk_image_free(image);
    return status;
}
