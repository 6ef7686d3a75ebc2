#include "py/calls/permute.h"

#include "py/arrays/array_view.h"
#include "py/arrays/foreign.h"
#include "py/arrays/ndarray.h"
#include "py/arrays/strided_copy.h"
#include "py/backends/package_kernels.h"
#include "py/calls/execute.h"
#include "py/calls/step_budget.h"
#include "py/error.h"

#include <stdio.h>

/* Runs the launch as that of any other call: it can be profiled and checked. */
static int run(const smk_state *state, const smk_array *target, const smk_array *source)
{
    smk_error error = {0};
    smk_strided_copy copy;
    smk_execution_step step;
    smk_execution execution = {.backend = target->backend, .device = target->device, .steps = &step, .step_count = 1};
    if (smk_step_budget_read(state, NULL, UINT64_MAX, &execution.max_steps) < 0) {
        return -1;
    }
    smk_status status = smk_strided_copy_prepare(target, source, &copy, &error);
    status = status != SMK_OK ? status : smk_package_kernels_get(state, copy.variant, &execution.binary, &error);
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    step = (smk_execution_step){.entry = copy.entry, .launch = copy.launch};
    return smk_execute_run(state, &execution);
}

/* Checks an array that is to take the result, which has the shape of `view`. */
static int check_out(const smk_state *state, const smk_array *out, const smk_array *view)
{
    if (out->backend != view->backend || out->device != view->device) {
        smk_error_fail(state, SMK_ARGUMENT, "transpose: out and a live on different devices");
        return -1;
    }
    if (!PyArray_EquivTypes(out->descr, view->descr)) {
        smk_error_fail(state, SMK_TYPE, "transpose: out has the type %S, the result has %S", (PyObject *)out->descr,
                       (PyObject *)view->descr);
        return -1;
    }
    if (out->rank != view->rank || !PyArray_CompareLists(out->shape, view->shape, out->rank)) {
        PyObject *has = smk_ndarray_shape(out->rank, out->shape), *needs = smk_ndarray_shape(view->rank, view->shape);
        if (has != NULL && needs != NULL) {
            smk_error_fail(state, SMK_SHAPE, "transpose: out has the shape %S, the result has %S", has, needs);
        }
        Py_XDECREF(has);
        Py_XDECREF(needs);
        return -1;
    }
    if (out->readonly || smk_array_overlaps(out, view)) {
        smk_error_fail(state, SMK_ARGUMENT,
                       out->readonly ? "transpose: out is read-only"
                                     : "transpose: out shares memory with a, which is read while out is written");
        return -1;
    }
    return 0;
}

/* The device array itself, or one over the memory of another library's array. A new reference, or NULL with an
 * exception set. */
static smk_array *take(const smk_state *state, const char *name, PyObject *value)
{
    char subject[32];
    (void)snprintf(subject, sizeof subject, "transpose: %s", name);
    PyObject *taken = smk_foreign_is_own(state, value) ? Py_NewRef(value) : smk_foreign_take(state, subject, value);
    smk_array *array = taken == NULL ? NULL : smk_array_cast(state, taken);
    if (taken != NULL && array == NULL) {
        smk_error_fail(state, SMK_TYPE, "%s must be a smemkit.DeviceArray, as the other array is, not %.100s", subject,
                       Py_TYPE(value)->tp_name);
        Py_DECREF(taken);
    }
    return array;
}

/* _permute(a, axes, out) -> out, or a new array where that is None: the axes of an array on a device in another order,
 * copied by a kernel on either machine */
static const char permute_doc[] = "_permute(a, axes, out, /)\n--\n\n";

static PyObject *call_permute(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    const smk_state *state = smk_state_of_module(module);
    if (given != 3) {
        PyErr_SetString(PyExc_TypeError, "_permute(a, axes, out) takes 3 arguments");
        return NULL;
    }
    const bool makes = arguments[2] == Py_None;
    smk_array *array = take(state, "a", arguments[0]), *out = NULL;
    smk_array *view = array == NULL ? NULL : smk_array_view_transpose(state, array, arguments[1]);
    if (view != NULL) {
        out = makes ? smk_array_create(state, "transpose", view->backend, view->device, view->descr, view->rank,
                                       view->shape)
                    : take(state, "out", arguments[2]);
    }
    int status = out == NULL ? -1 : check_out(state, out, view);
    if (status == 0 && out->size > 0) {
        status = smk_array_note(state, out) < 0 || smk_array_note(state, view) < 0 ? -1 : run(state, out, view);
    }
    if (status == 0 && (PyObject *)array != arguments[0]) {
        status = smk_foreign_finish(state, arguments[0], array);
    }
    if (status == 0 && !makes && (PyObject *)out != arguments[2]) {
        status = smk_foreign_finish(state, arguments[2], out);
    }
    PyObject *result = status < 0 ? NULL : Py_NewRef(makes ? (PyObject *)out : arguments[2]);
    Py_XDECREF(array);
    Py_XDECREF(view);
    Py_XDECREF(out);
    return result;
}

PyMethodDef smk_permute_methods[] = {
    {"_permute", SMK_PY_FUNCTION(call_permute), METH_FASTCALL, permute_doc},
    {NULL, NULL, 0, NULL},
};
