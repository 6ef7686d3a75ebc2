#include "py/calls/family_slabs.h"

#include "py/arrays/host_layout.h"
#include "py/backends/capture.h"
#include "py/calls/plan_run.h"
#include "py/error.h"

#include "base/heap.h"
#include "registry/slabs.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Bytes of the cut operands of a slab: enough for the bus to be filled, few enough for copies to overlap. */
#define SLAB_BYTES (UINT64_C(1) << 24)

enum { PIECES_MAX = SMK_SLABS_MAX * SMK_OPERANDS_MAX_FAMILY, ALIGNMENT = 256 };

static const double TOLERANCE = 0.05;

_Static_assert((int)SMK_SLABS_MAX <= (int)SMK_STAGED_SLABS_MAX, "a staged copy has too few slabs");

static _Atomic uint64_t forced_bytes;

void smk_family_slabs_force(uint64_t bytes)
{
    atomic_store(&forced_bytes, bytes);
}

/* The call of one slab. */
typedef struct slab_call {
    smk_family_call call; /* with the slab's dimensions and plan; borrows all references */
    smk_plan_run run;
    uint64_t address[SMK_OPERANDS_MAX_FAMILY], offset[SMK_OPERANDS_MAX_FAMILY];
} slab_call;

struct smk_family_slabs {
    smk_slabs cut;
    smk_execution_slab slab[SMK_SLABS_MAX];
    smk_execution_piece up[PIECES_MAX], down[SMK_SLABS_MAX];
    smk_host_layout layouts[PIECES_MAX + SMK_SLABS_MAX]; /* of the pieces */
    size_t layout_count;
    slab_call *calls;
};

void smk_family_slabs_free(smk_family_slabs *slabs)
{
    if (slabs != NULL) {
        smk_heap_free(slabs->calls);
        smk_heap_free(slabs);
    }
}

static size_t measure_item(const smk_family_call *call, size_t operand)
{
    return (size_t)PyDataType_ELSIZE(operand < call->inputs ? smk_family_call_type(call, call->operands[operand])
                                                            : call->result_descr);
}

/* Elements of an operand for each index along an axis and those before it. */
static uint64_t count_inner(const smk_family_call *call, size_t operand, int axis)
{
    uint64_t count = 1;
    for (size_t i = (size_t)axis + 1; i < call->signature.rank[operand]; i++) {
        count *= (uint64_t)call->dimensions[call->signature.axis[operand][i]];
    }
    return count;
}

/* Adds the copy of a part of an array; false where it cannot be copied as it is. */
static bool add_piece(smk_family_slabs *slabs, smk_execution_piece *piece, size_t transfer, size_t slab,
                      PyArrayObject *array, int axis, int64_t first, int64_t count, uint64_t offset)
{
    smk_host_layout *range = &slabs->layouts[slabs->layout_count];
    if (!smk_host_layout_describe(array, axis, (npy_intp)first, (npy_intp)count, range)) {
        return false;
    }
    slabs->layout_count++;
    *piece = (smk_execution_piece){
        .transfer = transfer,
        .range = {.address = offset,
                  .host = range->start,
                  .bytes = range->bytes,
                  .layout = smk_pack_is_plain(&range->layout) ? NULL : &range->layout,
                  .slab = slab},
    };
    return true;
}

/* The inputs that a slab is the first to need. */
static bool add_inputs(const smk_family_call *call, smk_family_slabs *slabs, size_t p, PyArrayObject *const *inputs,
                       smk_execution *execution)
{
    const smk_slab *before = p == 0 ? NULL : &slabs->cut.slab[p - 1], *now = &slabs->cut.slab[p];
    const int64_t first = before == NULL ? 0 : before->first + before->count, end = now->first + now->count;
    for (size_t i = 0; i < call->inputs; i++) {
        const int axis = smk_slabs_axis(&slabs->cut, &call->signature, i);
        if (axis >= 0 && call->stack != NULL && call->items.is_transposed[i]) {
            return false; /* its rows do not lie side by side */
        }
        const uint64_t bytes = axis < 0 ? 0 : count_inner(call, i, axis) * measure_item(call, i);
        slabs->calls[p].offset[i] = (uint64_t)now->first * bytes;
        if (axis > 0 || (axis < 0 && p > 0)) {
            if (axis > 0) {
                return false;
            }
            continue;
        }
        if (!add_piece(slabs, &execution->up[execution->up_count], i, p, inputs[i], axis, first, end - first,
                       axis < 0 ? 0 : (uint64_t)first * bytes)) {
            return false;
        }
        execution->up_count++;
    }
    return true;
}

/* The slab's result, which lies in a part of the buffer of its own; *used is what parts before it take. */
static bool add_result(const smk_family_call *call, smk_family_slabs *slabs, size_t p, PyArrayObject *target,
                       uint64_t *used, smk_execution *execution)
{
    const smk_slab *now = &slabs->cut.slab[p];
    const size_t result = call->inputs;
    const int axis = smk_slabs_axis(&slabs->cut, &call->signature, result);
    uint64_t whole = measure_item(call, result), halo = 0;
    for (size_t i = 0; i < call->signature.rank[result]; i++) {
        whole *= (uint64_t)((int)i == axis ? now->count : call->dimensions[call->signature.axis[result][i]]);
    }
    if (axis < 0 || (axis > 0 && now->count != now->kept_count)) {
        return false;
    }
    halo = (uint64_t)(now->kept_first - now->first) * count_inner(call, result, axis) * measure_item(call, result);
    slabs->calls[p].offset[result] = *used;
    if (!add_piece(slabs, &execution->down[p], result, p, target, axis, now->kept_first, now->kept_count,
                   *used + halo)) {
        return false;
    }
    execution->down_count++;
    *used += (whole + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return true;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Is a number the same in both plans, or does it grow with the cut dimension, as rows and tiles do? */
static bool is_in_step(int64_t whole, int64_t part, double fraction)
{
    const double expected = (double)whole * fraction;
    return whole == part || fabs((double)part - expected) <= fraction + expected * TOLERANCE;
}

/* Does a slab's plan compute each element as that of the whole call does: by the same kernels, with the same tiles, and
 * with sums in the same order? A family's plan may choose all of these by shape. */
static bool is_alike(const smk_plan *whole, const smk_plan *part, double fraction)
{
    bool alike = whole->step_count == part->step_count && !whole->adds_parts && !part->adds_parts;
    for (size_t i = 0; alike && i < whole->step_count; i++) {
        const smk_step *a = &whole->step[i], *b = &part->step[i];
        alike = is_same_text(a->part, b->part) && is_same_text(a->type, b->type) && a->block.x == b->block.x &&
                a->block.y == b->block.y && a->shared_bytes == b->shared_bytes &&
                a->parameter_count == b->parameter_count;
        for (size_t j = 0; alike && j < a->parameter_count; j++) {
            alike = a->parameter[j].source == b->parameter[j].source &&
                    (a->parameter[j].source != SMK_SOURCE_NUMBER ||
                     is_in_step(a->parameter[j].value, b->parameter[j].value, fraction));
        }
    }
    return alike;
}

/* The plan of the slab's variant for its own dimensions; false where it has none that gives the same bits. */
static bool plan_slab(const smk_family_call *call, const smk_slabs *cut, size_t p, smk_family_call *made)
{
    smk_error ignored = {0};
    *made = *call;
    made->dimensions[cut->dimension] = cut->slab[p].count;
    const smk_request request = {
        .family = made->family,
        .variant = made->variant,
        .signature = &made->signature,
        .dimensions = made->dimensions,
        .numbers = made->numbers,
        .number_count = made->number_count,
        .stack = 1,
        .layout = made->stack != NULL ? made->items.layout : NULL,
        .choice = made->choice,
        .type = made->type,
        .item_bytes = (size_t)PyDataType_ELSIZE(made->descr),
        .machine = made->machine,
        .workspace_below = made->workspace_below,
    };
    const double fraction = (double)cut->slab[p].count / (double)call->dimensions[cut->dimension];
    return smk_plan_make(&request, &made->plan, &ignored) == SMK_OK && made->plan.step_count > 0 &&
           is_alike(&call->plan, &made->plan, fraction);
}

static bool is_worth(const smk_family_call *call, uint64_t *slab_bytes)
{
    const uint64_t forced = atomic_load(&forced_bytes);
    *slab_bytes = forced != 0 ? forced : SLAB_BYTES;
    return (forced != 0 || call->backend->staged_copy != NULL) && smk_capture_mode_now() == SMK_CAPTURE_OFF;
}

/* 1: cut; 0: cannot be cut; -1 with an exception set. */
static int fill(smk_family_call *call, smk_family_slabs *slabs, PyArrayObject *const *inputs, PyArrayObject *target,
                smk_execution *execution)
{
    uint64_t used = 0;
    execution->up = slabs->up;
    execution->down = slabs->down;
    for (size_t p = 0; p < slabs->cut.count; p++) {
        slab_call *made = &slabs->calls[p];
        uint64_t *operands[SMK_OPERANDS_MAX_FAMILY] = {NULL};
        for (size_t i = 0; i <= call->inputs; i++) {
            operands[i] = &made->address[i];
        }
        if (!plan_slab(call, &slabs->cut, p, &made->call) || !add_inputs(call, slabs, p, inputs, execution) ||
            !add_result(call, slabs, p, target, &used, execution)) {
            return 0;
        }
        if (smk_plan_run_prepare(&made->call, &made->run, operands) < 0) {
            return -1;
        }
        slabs->slab[p] = (smk_execution_slab){&made->run.execution, made->address, made->offset};
    }
    execution->transfers[call->inputs].bytes = used;
    execution->slabs = slabs->slab;
    execution->slab_count = slabs->cut.count;
    return 1;
}

int smk_family_slabs_create(smk_family_call *call, PyArrayObject *const *inputs, PyArrayObject *target,
                            smk_execution *execution, smk_family_slabs **slabs)
{
    size_t item_bytes[SMK_OPERANDS_MAX_FAMILY];
    uint64_t slab_bytes = 0;
    smk_slabs cut;
    if (!is_worth(call, &slab_bytes) || (call->stack != NULL && call->items.rank > 0)) {
        return 0;
    }
    for (size_t i = 0; i <= call->inputs; i++) {
        item_bytes[i] = measure_item(call, i);
    }
    smk_slabs_cut(call->family, call->variant, &call->signature, call->dimensions, call->numbers, item_bytes,
                  slab_bytes, &cut);
    if (cut.count == 0) {
        return 0;
    }
    smk_family_slabs *made = smk_heap_allocate(1, sizeof *made);
    slab_call *calls = smk_heap_allocate(cut.count, sizeof *calls);
    if (made == NULL || calls == NULL) {
        smk_heap_free(made);
        smk_heap_free(calls);
        smk_error_fail(call->state, SMK_MEMORY, "%s: no memory left", call->family->name);
        return -1;
    }
    made->cut = cut;
    made->calls = calls;
    const int status = fill(call, made, inputs, target, execution);
    if (status != 1) {
        smk_family_slabs_free(made);
        execution->up_count = execution->down_count = execution->slab_count = 0;
        return status;
    }
    *slabs = made;
    return 0;
}
