#include "py/calls/family_items.h"

#include "py/arrays/array.h"
#include "py/arrays/array_view.h"
#include "py/arrays/ndarray.h"
#include "py/error.h"

#include <string.h>

/* Shapes ----------------------------------------------------------------------------------------- */

typedef struct operand_shape {
    int rank;
    const npy_intp *shape, *strides; /* in bytes */
} operand_shape;

static PyObject *get_operand(const smk_family_call *call, size_t i)
{
    return i < call->inputs ? call->operands[i] : call->out;
}

static operand_shape get_shape(const smk_family_call *call, size_t i)
{
    PyObject *operand = get_operand(call, i);
    const smk_array *array = smk_array_cast(call->state, operand);
    if (array != NULL) {
        return (operand_shape){array->rank, array->shape, array->strides};
    }
    PyArrayObject *given = (PyArrayObject *)operand;
    return (operand_shape){PyArray_NDIM(given), PyArray_DIMS(given), PyArray_STRIDES(given)};
}

size_t smk_family_items_leading(const smk_family_call *call, size_t operand, size_t rank)
{
    const size_t own = call->signature.rank[operand];
    return call->stack != NULL && rank > own ? rank - own : 0;
}

static int leading(const smk_family_call *call, size_t i)
{
    return (int)smk_family_items_leading(call, i, (size_t)get_shape(call, i).rank);
}

static int refuse(const smk_family_call *call, const char *format, const char *name, int rank, const npy_intp *shape,
                  int other_rank, const npy_intp *other)
{
    PyObject *has = smk_ndarray_shape(rank, shape), *needs = smk_ndarray_shape(other_rank, other);
    if (has != NULL && needs != NULL) {
        smk_error_fail(call->state, SMK_SHAPE, format, call->family->name, name, has, needs);
    }
    Py_XDECREF(has);
    Py_XDECREF(needs);
    return -1;
}

/* Broadcasts the dimensions in front of the inputs, as NumPy does. */
static int broadcast(smk_family_call *call)
{
    smk_family_items *items = &call->items;
    for (size_t i = 0; i < call->inputs; i++) {
        items->rank = leading(call, i) > items->rank ? leading(call, i) : items->rank;
    }
    for (int j = 0; j < items->rank; j++) {
        items->shape[j] = 1;
    }
    for (size_t i = 0; i < call->inputs; i++) {
        const int count = leading(call, i);
        npy_intp *to = items->shape + items->rank - count;
        const npy_intp *shape = get_shape(call, i).shape;
        for (int j = 0; j < count; j++) {
            if (to[j] != shape[j] && to[j] != 1 && shape[j] != 1) {
                return refuse(call,
                              "%s: %s is a stack of shape %S, and those before it make one of %S: lengths must be "
                              "equal, or 1",
                              call->input[i].name, count, shape, items->rank, items->shape);
            }
            to[j] = to[j] == 1 ? shape[j] : to[j];
        }
    }
    return 0;
}

/* The result's shape; that of out must be the same. */
static int shape_result(smk_family_call *call)
{
    const smk_family_items *items = &call->items;
    const size_t result = call->inputs, own = call->signature.rank[result];
    int64_t bytes = SMK_ITEM_BYTES_MAX;
    bool is_empty = false;
    call->out_rank = items->rank + (int)own;
    if (call->out_rank > NPY_MAXDIMS) {
        smk_error_fail(call->state, SMK_SHAPE, "%s: a result of %d dimensions, an array has %d at most",
                       call->family->name, call->out_rank, NPY_MAXDIMS);
        return -1;
    }
    memcpy(call->out_shape, items->shape, (size_t)items->rank * sizeof items->shape[0]);
    for (size_t j = 0; j < own; j++) {
        call->out_shape[items->rank + (int)j] = (npy_intp)call->dimensions[call->signature.axis[result][j]];
    }
    for (int j = 0; j < call->out_rank; j++) {
        is_empty = is_empty || call->out_shape[j] == 0;
    }
    for (int j = 0; !is_empty && j < call->out_rank; j++) {
        if (__builtin_mul_overflow(bytes, (int64_t)call->out_shape[j], &bytes)) {
            smk_error_fail(call->state, SMK_SHAPE, "%s: the result would have more bytes than 64 bits count",
                           call->family->name);
            return -1;
        }
    }
    if (call->out != NULL) {
        const operand_shape out = get_shape(call, result);
        if (out.rank != call->out_rank ||
            memcmp(out.shape, call->out_shape, (size_t)out.rank * sizeof out.shape[0]) != 0) {
            return refuse(call, "%s: %s has the shape %S, and the result %S", "out", out.rank, out.shape,
                          call->out_rank, call->out_shape);
        }
    }
    return 0;
}

/* Layout ----------------------------------------------------------------------------------------- */

/* Strides of an operand's own axes, and of those in front, in bytes. Where there is nothing to step over, the stride is
 * that of C order. */
typedef struct operand_strides {
    npy_intp own[SMK_RANK_MAX], front[NPY_MAXDIMS];
} operand_strides;

static void order(npy_intp item, int rank, const npy_intp *shape, npy_intp *strides)
{
    npy_intp stride = item;
    for (int j = rank; j-- > 0;) {
        strides[j] = stride;
        stride *= shape[j] > 0 ? shape[j] : 1;
    }
}

/* Is a NumPy array plain when its last two axes change places? */
static bool is_plain_transposed(PyArrayObject *array)
{
    if (PyArray_NDIM(array) < 2 || smk_ndarray_is_plain(array, false)) {
        return false;
    }
    PyObject *swapped = PyArray_SwapAxes(array, -1, -2);
    const bool is_plain = swapped != NULL && smk_ndarray_is_plain((PyArrayObject *)swapped, false);
    PyErr_Clear();
    Py_XDECREF(swapped);
    return is_plain;
}

static void exchange(npy_intp *values, int a, int b)
{
    const npy_intp kept = values[a];
    values[a] = values[b];
    values[b] = kept;
}

/* The strides that a kernel sees: those of a device array; a NumPy array lies in C order when it has been copied in, or
 * the other way round. */
static void find_strides(const smk_family_call *call, size_t i, operand_strides *found)
{
    const smk_family_items *items = &call->items;
    const bool is_new = i == call->inputs && call->out == NULL;
    const operand_shape given = is_new ? (operand_shape){call->out_rank, call->out_shape, NULL} : get_shape(call, i);
    const npy_intp item =
        PyDataType_ELSIZE(is_new ? call->result_descr : smk_family_call_type(call, get_operand(call, i)));
    const int front = given.rank - (int)call->signature.rank[i], missing = items->rank - front;
    npy_intp shape[NPY_MAXDIMS], ordered[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    memcpy(shape, given.shape, (size_t)given.rank * sizeof shape[0]);
    order(item, given.rank, shape, ordered);
    memcpy(strides, ordered, sizeof strides);
    if (call->on_device && given.strides != NULL) {
        memcpy(strides, given.strides, (size_t)given.rank * sizeof strides[0]);
    } else if (items->is_transposed[i]) {
        exchange(shape, given.rank - 1, given.rank - 2);
        order(item, given.rank, shape, strides);
        exchange(shape, given.rank - 1, given.rank - 2);
        exchange(strides, given.rank - 1, given.rank - 2);
    }
    for (int j = front; j < given.rank; j++) {
        const bool is_short = shape[j] <= 1;
        found->own[j - front] = is_short ? ordered[j] : strides[j];
    }
    for (int j = 0; j < items->rank; j++) {
        found->front[j] = j < missing || shape[j - missing] == 1 ? 0 : strides[j - missing];
    }
}

/* Can a kernel reach the elements of a device array by strides in elements, while it writes out? */
static bool is_reachable(const smk_family_call *call, size_t i, const operand_strides *strides)
{
    const smk_array *array = smk_array_cast(call->state, call->operands[i]);
    const smk_array *out = call->out == NULL ? NULL : smk_array_cast(call->state, call->out);
    const npy_intp item = PyDataType_ELSIZE(smk_family_call_type(call, call->operands[i]));
    bool fits = array == NULL || array->contiguous || out == NULL || !smk_array_overlaps(array, out);
    for (size_t j = 0; j < call->signature.rank[i]; j++) {
        fits = fits && strides->own[j] % item == 0;
    }
    for (int j = 0; j < call->items.rank; j++) {
        fits = fits && strides->front[j] % item == 0;
    }
    return fits;
}

/* Merges neighbouring dimensions that are one for all operands, and leaves out those of length 1. */
static int merge(smk_family_call *call, const operand_strides *strides)
{
    smk_family_items *items = &call->items;
    items->loops = 0;
    for (int j = 0; j < items->rank; j++) {
        const int64_t length = items->shape[j];
        bool joins = items->loops > 0;
        if (length == 1) {
            continue;
        }
        for (size_t i = 0; joins && i <= call->inputs; i++) {
            joins = items->step[i][items->loops - 1] == (int64_t)strides[i].front[j] * length;
        }
        if (!joins && items->loops == SMK_FAMILY_LOOPS_MAX + 1) {
            smk_error_fail(call->state, SMK_SHAPE,
                           "%s: a stack of %d dimensions, and no more than %d of them may be broadcast in turns",
                           call->family->name, items->rank, SMK_FAMILY_LOOPS_MAX + 1);
            return -1;
        }
        items->loops += joins ? 0 : 1;
        items->count[items->loops - 1] = joins ? items->count[items->loops - 1] * length : length;
        for (size_t i = 0; i <= call->inputs; i++) {
            items->step[i][items->loops - 1] = strides[i].front[j];
        }
    }
    return 0;
}

/* Where all items but the first input are the same, and the items of that are more of its first axis, they are one. */
static void fold(smk_family_call *call, operand_strides *strides)
{
    smk_family_items *items = &call->items;
    const size_t last = items->loops > 0 ? items->loops - 1 : 0, axis = call->signature.axis[0][0];
    npy_intp *own = &strides[0].own[0];
    int64_t rows = 0;
    bool folds = call->stack->fold[0] != '\0' && items->loops > 0;
    for (size_t i = 1; folds && i < call->inputs; i++) {
        folds = items->step[i][last] == 0;
    }
    if (!folds || __builtin_mul_overflow(call->dimensions[axis], items->count[last], &rows) ||
        (call->dimensions[axis] != 1 && items->step[0][last] != (int64_t)*own * call->dimensions[axis])) {
        return;
    }
    *own = call->dimensions[axis] == 1 ? (npy_intp)items->step[0][last] : *own;
    call->dimensions[axis] = rows;
    items->loops--;
}

/* Do the items of an input begin at multiples of what kernels access at once, where its rows do? */
static bool is_aligned(const smk_family_call *call, size_t i)
{
    const smk_array *array = smk_array_cast(call->state, call->operands[i]);
    const smk_family_items *items = &call->items;
    const size_t rank = call->signature.rank[i];
    const npy_intp item = PyDataType_ELSIZE(smk_family_call_type(call, call->operands[i]));
    const int64_t row = (int64_t)item * call->dimensions[call->signature.axis[i][rank - 1]];
    const size_t loops = items->loops + (items->stack > 1 ? 1 : 0);
    bool aligned = array == NULL || smk_array_is_aligned(array);
    for (size_t j = 0; row % SMK_ARRAY_ALIGNMENT == 0 && j < loops; j++) {
        aligned = aligned && items->step[i][j] % SMK_ARRAY_ALIGNMENT == 0;
    }
    return aligned;
}

/* Finds how all items are reached. */
static int describe(smk_family_call *call)
{
    smk_family_items *items = &call->items;
    operand_strides strides[SMK_OPERANDS_MAX_FAMILY];
    bool is_empty = false;
    for (size_t i = 0; i <= call->inputs; i++) {
        find_strides(call, i, &strides[i]);
        if (i < call->inputs && call->on_device && !is_reachable(call, i, &strides[i])) {
            PyObject *packed = (PyObject *)smk_array_view_pack(call->state, call->family->name,
                                                               smk_array_cast(call->state, call->operands[i]));
            if (packed == NULL) {
                return -1;
            }
            Py_SETREF(call->operands[i], packed);
            find_strides(call, i, &strides[i]);
        }
    }
    for (int j = 0; j < items->rank; j++) {
        is_empty = is_empty || items->shape[j] == 0;
    }
    items->loops = 0;
    items->stack = is_empty ? 0 : 1;
    if (!is_empty && merge(call, strides) < 0) {
        return -1;
    }
    fold(call, strides);
    if (items->loops > 0) {
        items->loops--;
        items->stack = items->count[items->loops];
    }
    for (size_t i = 0; i <= call->inputs; i++) {
        PyArray_Descr *descr = i < call->inputs ? smk_family_call_type(call, call->operands[i]) : call->result_descr;
        const npy_intp item = PyDataType_ELSIZE(descr);
        items->layout[i] = (smk_layout){.stack = items->stack > 1 ? items->step[i][items->loops] / item : 0};
        for (size_t j = 0; j < call->signature.rank[i]; j++) {
            items->layout[i].axis[j] = strides[i].own[j] / item;
        }
        items->layout[i].is_aligned = i < call->inputs && is_aligned(call, i);
    }
    return 0;
}

int smk_family_items_bind(smk_family_call *call)
{
    memset(&call->items, 0, sizeof call->items);
    if (broadcast(call) < 0 || shape_result(call) < 0) {
        return -1;
    }
    for (size_t i = 0; i < call->inputs && !call->on_device; i++) {
        /* the first input may be cut into slabs on its way to a GPU, which copies put into C order */
        call->items.is_transposed[i] =
            (i > 0 || call->backend->staged_copy == NULL) && is_plain_transposed((PyArrayObject *)call->operands[i]);
    }
    return describe(call);
}

bool smk_family_items_in_order(const smk_family_call *call)
{
    const smk_request request = {
        .signature = &call->signature, .dimensions = call->dimensions, .layout = call->items.layout};
    bool in_order = smk_plan_in_order(&request);
    for (size_t i = 0; i < call->inputs; i++) {
        in_order = in_order && call->items.layout[i].is_aligned;
    }
    return in_order;
}

int smk_family_items_pack(smk_family_call *call)
{
    const size_t axis = call->signature.axis[0][0];
    for (size_t i = 0; i < call->inputs; i++) {
        call->items.is_transposed[i] = false;
        if (call->on_device) {
            PyObject *packed = (PyObject *)smk_array_view_align(call->state, call->family->name,
                                                                smk_array_cast(call->state, call->operands[i]));
            if (packed == NULL) {
                return -1;
            }
            Py_SETREF(call->operands[i], packed);
        }
    }
    const operand_shape first = get_shape(call, 0); /* items may have been folded into its first axis */
    call->dimensions[axis] = (int64_t)first.shape[first.rank - (int)call->signature.rank[0]];
    return describe(call);
}

int smk_family_items_divide(smk_family_call *call)
{
    if (call->items.rank > 0) {
        smk_error_fail(call->state, SMK_ARGUMENT,
                       "%s: devices divides the rows of one product, and this is a stack of them; make a call for some "
                       "of the items on each device",
                       call->family->name);
        return -1;
    }
    return smk_family_items_pack(call);
}
