#include "py/queries/measure.h"

#include "py/arrays/array.h"
#include "py/backends/backend.h"
#include "py/backends/interrupt.h"
#include "py/error.h"
#include "py/state.h"

#include "gpu/gpu.h"

static const char capsule_name[] = "smemkit.timer";

static void free_timer(PyObject *capsule)
{
    smk_timer_free(PyCapsule_GetPointer(capsule, capsule_name));
}

/* _timer() -> a pair of CUDA events of the present device; BackendError where there is none. */
static const char timer_doc[] = "_timer()\n--\n\n";

static PyObject *call_timer(PyObject *module, PyObject *ignored)
{
    smk_timer *timer = NULL;
    smk_error error = {0};
    int count = 0;
    (void)ignored;
    smk_status status = smk_context_count(&count, &error);
    if (status == SMK_OK) {
        status = smk_timer_create(&timer, &error);
    }
    if (status != SMK_OK) {
        return smk_error_raise(smk_state_of_module(module), &error);
    }
    PyObject *capsule = PyCapsule_New(timer, capsule_name, free_timer);
    if (capsule == NULL) {
        smk_timer_free(timer);
    }
    return capsule;
}

/* _timer_start(timer): records the first event in the default stream, after all work so far */
static const char timer_start_doc[] = "_timer_start(timer, /)\n--\n\n";

static PyObject *call_timer_start(PyObject *module, PyObject *timer)
{
    smk_error error = {0};
    smk_timer *events = PyCapsule_GetPointer(timer, capsule_name);
    if (events == NULL) {
        return NULL;
    }
    if (smk_timer_start(events, &error) != SMK_OK) {
        return smk_error_raise(smk_state_of_module(module), &error);
    }
    Py_RETURN_NONE;
}

/* _timer_passed(timer) -> whether the first event has happened: all work before it is done */
static const char timer_passed_doc[] = "_timer_passed(timer, /)\n--\n\n";

static PyObject *call_timer_passed(PyObject *module, PyObject *timer)
{
    smk_error error = {0};
    bool passed = false;
    smk_timer *events = PyCapsule_GetPointer(timer, capsule_name);
    if (events == NULL) {
        return NULL;
    }
    if (smk_timer_passed(events, &passed, &error) != SMK_OK) {
        return smk_error_raise(smk_state_of_module(module), &error);
    }
    return PyBool_FromLong(passed);
}

/* _timer_stop(timer) -> milliseconds since the start; waits for the work in between */
static const char timer_stop_doc[] = "_timer_stop(timer, /)\n--\n\n";

static PyObject *call_timer_stop(PyObject *module, PyObject *timer)
{
    smk_error error = {0};
    smk_interrupt interrupt;
    smk_status status = SMK_OK;
    double time_ms = 0.0;
    smk_timer *events = PyCapsule_GetPointer(timer, capsule_name);
    if (events == NULL) {
        return NULL;
    }
    smk_interrupt_begin(&interrupt);
    status = smk_timer_stop(events, &time_ms, &error);
    status = smk_interrupt_end(&interrupt, status);
    if (status != SMK_OK) {
        return smk_error_raise(smk_state_of_module(module), &error);
    }
    return PyFloat_FromDouble(time_ms);
}

/* _synchronize(): waits for all work of the present device */
static const char synchronize_doc[] = "_synchronize()\n--\n\n";

static PyObject *call_synchronize(PyObject *module, PyObject *ignored)
{
    smk_error error = {0};
    smk_interrupt interrupt;
    smk_status status = SMK_OK;
    (void)ignored;
    smk_interrupt_begin(&interrupt);
    status = smk_launch_synchronize("measured work", &error);
    status = smk_interrupt_end(&interrupt, status);
    if (status != SMK_OK) {
        return smk_error_raise(smk_state_of_module(module), &error);
    }
    Py_RETURN_NONE;
}

static smk_array *get_array(PyObject *module, PyObject *object)
{
    const smk_state *state = smk_state_of_module(module);
    smk_array *array = smk_array_cast(state, object);
    if (array == NULL && !PyErr_Occurred()) {
        smk_error_fail(state, SMK_TYPE, "a DeviceArray is needed, not %.100s", Py_TYPE(object)->tp_name);
    }
    return array;
}

/* _clear(array): sets the bytes to 0 by the device's memset, without a wait; large arrays evict the caches */
static const char clear_doc[] = "_clear(array, /)\n--\n\n";

static PyObject *call_clear(PyObject *module, PyObject *array)
{
    smk_error error = {0};
    int before = 0;
    const smk_array *target = get_array(module, array);
    if (target == NULL) {
        return NULL;
    }
    smk_status status = smk_backend_enter(target->backend, target->device, &before, &error);
    if (status == SMK_OK) {
        status = target->backend->clear(target->address, target->bytes, &error);
        smk_backend_leave(target->backend, target->device, before);
    }
    if (status != SMK_OK) {
        return smk_error_raise(smk_state_of_module(module), &error);
    }
    Py_RETURN_NONE;
}

/* _copy(target, source): copies between two arrays of equal size on the device, without a wait */
static const char copy_doc[] = "_copy(target, source, /)\n--\n\n";

static PyObject *call_copy(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    smk_error error = {0};
    int before = 0;
    if (given != 2) {
        PyErr_SetString(PyExc_TypeError, "_copy(target, source) takes 2 arguments");
        return NULL;
    }
    const smk_array *target = get_array(module, arguments[0]);
    const smk_array *source = target == NULL ? NULL : get_array(module, arguments[1]);
    if (source == NULL) {
        return NULL;
    }
    if (target->backend != source->backend || target->device != source->device || target->bytes != source->bytes) {
        return smk_error_fail(smk_state_of_module(module), SMK_ARGUMENT,
                              "_copy needs two arrays of one device and of as many bytes");
    }
    smk_status status = smk_backend_enter(target->backend, target->device, &before, &error);
    if (status == SMK_OK) {
        status = target->backend->copy(target->address, source->address, source->bytes, &error);
        smk_backend_leave(target->backend, target->device, before);
    }
    if (status != SMK_OK) {
        return smk_error_raise(smk_state_of_module(module), &error);
    }
    Py_RETURN_NONE;
}

PyMethodDef smk_measure_methods[] = {
    {"_timer", call_timer, METH_NOARGS, timer_doc},
    {"_timer_start", call_timer_start, METH_O, timer_start_doc},
    {"_timer_passed", call_timer_passed, METH_O, timer_passed_doc},
    {"_timer_stop", call_timer_stop, METH_O, timer_stop_doc},
    {"_synchronize", call_synchronize, METH_NOARGS, synchronize_doc},
    {"_clear", call_clear, METH_O, clear_doc},
    {"_copy", SMK_PY_FUNCTION(call_copy), METH_FASTCALL, copy_doc},
    {NULL, NULL, 0, NULL},
};
