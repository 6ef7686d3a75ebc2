#include "py/calls/family_run.h"

#include "py/arrays/array.h"
#include "py/arrays/host_layout.h"
#include "py/arrays/ndarray.h"
#include "py/calls/execute.h"
#include "py/calls/family_plan.h"
#include "py/calls/family_slabs.h"
#include "py/calls/plan_run.h"

#include <string.h>

static bool is_idle(const smk_family_call *call)
{
    return call->plan.step_count == 0 && !call->plan.clears_outputs;
}

static PyObject *run_on_device(smk_family_call *call, smk_plan_run *run)
{
    uint64_t *operands[SMK_OPERANDS_MAX_FAMILY] = {NULL};
    smk_array *out = smk_array_cast(call->state, call->out);
    if (out != NULL) {
        Py_INCREF(out);
    } else {
        out = smk_array_create(call->state, call->family->name, call->backend, call->device, call->result_descr,
                               call->out_rank, call->out_shape);
    }
    if (out == NULL) {
        return NULL;
    }
    bool noted = smk_array_note(call->state, out) == 0;
    for (size_t i = 0; i < call->inputs; i++) {
        smk_array *input = smk_array_cast(call->state, call->operands[i]);
        operands[i] = &input->address;
        noted = noted && smk_array_note(call->state, input) == 0;
    }
    operands[call->inputs] = &out->address;
    if (!noted || (!is_idle(call) && (smk_plan_run_prepare(call, run, operands) < 0 ||
                                      smk_execute_run(call->state, &run->execution) < 0))) {
        Py_CLEAR(out);
    }
    return (PyObject *)out;
}

/* `inputs` are copied in, `target` is the result that is copied out. */
static int run_on_host(smk_family_call *call, smk_plan_run *run, PyArrayObject *const *inputs, PyArrayObject *target)
{
    smk_transfer transfers[SMK_OPERANDS_MAX_FAMILY] = {{0}};
    smk_host_layout layouts[SMK_OPERANDS_MAX_FAMILY];
    uint64_t *operands[SMK_OPERANDS_MAX_FAMILY] = {NULL};
    smk_family_slabs *slabs = NULL;
    for (size_t i = 0; i <= call->inputs; i++) {
        PyArrayObject *array = i < call->inputs ? inputs[i] : target;
        transfers[i].host = PyArray_DATA(array);
        transfers[i].bytes = (uint64_t)PyArray_NBYTES(array);
        transfers[i].in = i < call->inputs;
        transfers[i].out = i == call->inputs;
        transfers[i].fresh = (PyObject *)array != call->out;
        if (!smk_ndarray_is_plain(array, false) && smk_host_layout_describe(array, -1, 0, 0, &layouts[i])) {
            transfers[i].layout = &layouts[i].layout;
        }
        operands[i] = &transfers[i].address;
    }
    run->execution.transfers = transfers;
    run->execution.transfer_count = call->inputs + 1;
    int status = smk_plan_run_prepare(call, run, operands);
    if (status == 0) {
        status = smk_family_slabs_create(call, inputs, target, &run->execution, &slabs);
    }
    if (status == 0) {
        status = smk_execute_run(call->state, &run->execution);
    }
    smk_family_slabs_free(slabs);
    return status;
}

/* The input itself where it can be copied in as it is, else a plain copy; a new reference. */
static PyArrayObject *take_input(const smk_family_call *call, size_t i)
{
    smk_host_layout layout;
    PyArrayObject *array = (PyArrayObject *)call->operands[i];
    if (call->stack != NULL && call->items.is_transposed[i]) {
        return (PyArrayObject *)PyArray_SwapAxes(array, -1, -2); /* which is plain, and is read by its strides */
    }
    const bool is_strided = smk_host_layout_is_direct(array, call->backend, &layout);
    return is_strided ? (PyArrayObject *)Py_NewRef((PyObject *)array) : smk_ndarray_pack(array);
}

/* The run has ended before the result is written, so `out` may overlap an input. */
static PyObject *take_host(smk_family_call *call, smk_plan_run *run)
{
    PyArrayObject *inputs[SMK_FAMILY_CALL_INPUTS_MAX] = {NULL}, *target = NULL, *out = (PyArrayObject *)call->out;
    PyObject *result = NULL;
    if (out != NULL && smk_ndarray_is_plain(out, true)) {
        target = (PyArrayObject *)Py_NewRef(call->out);
    } else {
        Py_INCREF(call->result_descr); /* PyArray_NewFromDescr steals a reference */
        target = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, call->result_descr, call->out_rank,
                                                       call->out_shape, NULL, NULL, 0, NULL);
    }
    if (target == NULL) {
        goto done;
    }
    for (size_t i = 0; !is_idle(call) && i < call->inputs; i++) {
        inputs[i] = take_input(call, i);
        if (inputs[i] == NULL) {
            goto done;
        }
    }
    if (!is_idle(call) && run_on_host(call, run, inputs, target) < 0) {
        goto done;
    }
    if (out != NULL && out != target && PyArray_CopyInto(out, target) < 0) {
        goto done;
    }
    if (out != NULL) {
        result = Py_NewRef(call->out);
    } else {
        /* steals the reference; a scalar where there are no axes, as from NumPy's own functions */
        result = PyArray_Return(target);
        target = NULL;
    }
done:
    for (size_t i = 0; i < call->inputs; i++) {
        Py_XDECREF(inputs[i]);
    }
    Py_XDECREF(target);
    return result;
}

PyObject *smk_family_run_plan(smk_family_call *call)
{
    smk_plan_run run = {.execution = {.binary = NULL}};
    return call->on_device ? run_on_device(call, &run) : take_host(call, &run);
}

PyObject *smk_family_run(smk_family_call *call, const char *variant)
{
    PyObject *result = smk_family_run_plan(call);
    while (result == NULL && strcmp(variant, "auto") == 0 && call->plan.workspace_bytes > 0 &&
           !call->plan.restores_workspace && PyErr_ExceptionMatches(call->state->exceptions[SMK_MEMORY])) {
        PyErr_Clear();
        call->workspace_below = call->plan.workspace_bytes;
        if (smk_family_plan_make(call, variant) < 0) {
            break;
        }
        result = smk_family_run_plan(call);
    }
    return result;
}
