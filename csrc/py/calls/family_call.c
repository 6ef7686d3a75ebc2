#include "py/calls/family_call.h"

#include "py/arrays/array_view.h"
#include "py/arrays/foreign.h"
#include "py/arrays/ndarray.h"
#include "py/backends/device.h"
#include "py/backends/selection.h"
#include "py/error.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* What a family's row of families.def says, read once. */
typedef struct contract {
    smk_signature signature;
    smk_input input[SMK_OPERANDS_MAX_FAMILY];
    size_t inputs;
    smk_error error; /* status OK: the row can be called */
} contract;

enum {
    FAMILIES = 0
#define SMK_FAMILY(name, signature, inputs, result, grid_x, grid_y, flops, sentence) +1
#define SMK_KERNEL_GROUP(name, sentence) +1
#include "registry/families.def"
#undef SMK_FAMILY
#undef SMK_KERNEL_GROUP
};

static contract contracts[FAMILIES];

static void read_contracts(void)
{
    for (size_t i = 0; i < FAMILIES; i++) {
        const smk_family *family = smk_registry_family(i);
        contract *made = &contracts[i];
        if (family->signature == NULL) { /* a group of kernels that are launched by name */
            (void)smk_status_fail(&made->error, SMK_INTERNAL, "it has no signature");
            continue;
        }
        smk_status status = smk_signature_parse(family->signature, &made->signature, &made->error);
        if (status == SMK_OK) {
            status = smk_registry_inputs(family, made->input, &made->inputs, &made->error);
        }
        if (status == SMK_OK &&
            (made->inputs == 0 || made->signature.input_count != made->inputs || made->signature.output_count != 1)) {
            (void)smk_status_fail(&made->error, SMK_INTERNAL, "inputs and signature do not agree");
        }
    }
}

int smk_family_call_find(smk_family_call *call, const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, read_contracts);
    for (size_t i = 0; i < FAMILIES; i++) {
        const contract *found = &contracts[i];
        if (strcmp(smk_registry_family(i)->name, name) == 0 && found->error.status == SMK_OK) {
            call->family = smk_registry_family(i);
            call->signature = found->signature;
            memcpy(call->input, found->input, sizeof call->input);
            call->inputs = found->inputs;
            call->stack = smk_registry_stack(name);
            return 0;
        }
        if (strcmp(smk_registry_family(i)->name, name) == 0) {
            smk_error_fail(call->state, SMK_INTERNAL, "families.def: the row of %s cannot be called: %s", name,
                           found->error.message);
            return -1;
        }
    }
    smk_error_fail(call->state, SMK_INTERNAL, "families.def has no row of %s", name);
    return -1;
}

PyArray_Descr *smk_family_call_type(const smk_family_call *call, PyObject *operand)
{
    smk_array *array = smk_array_cast(call->state, operand);
    return array != NULL ? array->descr : PyArray_DESCR((PyArrayObject *)operand);
}

const char *smk_family_call_name(const smk_family_call *call, size_t i)
{
    return i < call->inputs ? call->input[i].name : "out";
}

/* Converts an input whose type families.def fixes, where nothing can be lost. Steals the reference to `array`. */
static PyObject *convert_fixed(const smk_family_call *call, const smk_input *input, PyArrayObject *array)
{
    PyArray_Descr *wanted = NULL;
    PyObject *name = PyUnicode_FromString(input->type), *result = NULL;
    if (array == NULL || name == NULL || PyArray_DescrConverter(name, &wanted) == NPY_FAIL) {
        goto done;
    }
    if (!PyArray_CanCastTypeTo(PyArray_DESCR(array), wanted, NPY_SAFE_CASTING)) {
        smk_error_fail(call->state, SMK_TYPE, "%s: %s has the type %S, which does not convert to %s without loss",
                       call->family->name, input->name, (PyObject *)PyArray_DESCR(array), input->type);
        goto done;
    }
    result = (PyObject *)smk_ndarray_cast(array, wanted);
done:
    Py_XDECREF(name);
    Py_XDECREF(wanted);
    Py_XDECREF(array);
    return result;
}

static PyObject *take_operand(const smk_family_call *call, size_t i, PyObject *value)
{
    const smk_input *input = &call->input[i];
    if (!call->on_device) {
        if (smk_ndarray_check_mask(call->state, call->family->name, input->name, value) < 0) {
            return NULL;
        }
        PyArrayObject *array = smk_ndarray_convert(value);
        return input->type[0] == '\0' ? (PyObject *)array : convert_fixed(call, input, array);
    }
    PyObject *name = input->type[0] == '\0' ? NULL : smk_ndarray_type_name(smk_family_call_type(call, value));
    bool right = name == NULL || PyUnicode_CompareWithASCIIString(name, input->type) == 0;
    Py_XDECREF(name);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (!right) {
        smk_error_fail(call->state, SMK_TYPE, "%s: %s has the type %S, a device array for it must be %s",
                       call->family->name, input->name, (PyObject *)smk_family_call_type(call, value), input->type);
        return NULL;
    }
    return call->stack != NULL
               ? Py_NewRef(value) /* its kernels may take the layout */
               : (PyObject *)smk_array_view_align(call->state, call->family->name, smk_array_cast(call->state, value));
}

/* Keeps the memory of an operand in place: the conversion of the next one may run any Python code. */
static int hold(smk_family_call *call, size_t i, PyObject *array)
{
    call->holds[i] = smk_ndarray_hold((PyArrayObject *)array);
    return call->holds[i] == NULL ? -1 : 0;
}

/* Checks out beside inputs that lie on a device or not. Returns 1 where out lies with them, 0 where not, -1 with an
 * exception set. */
static int take_out(smk_family_call *call)
{
    const bool on_device = smk_array_cast(call->state, call->out) != NULL;
    if (!on_device && !PyArray_Check(call->out)) {
        smk_error_fail(call->state, SMK_TYPE, "%s: out must be a %s, not %.100s", call->family->name,
                       call->on_device ? "smemkit.DeviceArray" : "numpy.ndarray", Py_TYPE(call->out)->tp_name);
        return -1;
    }
    if (smk_ndarray_check_mask(call->state, call->family->name, "out", call->out) < 0 ||
        (!on_device && hold(call, call->inputs, call->out) < 0)) {
        return -1;
    }
    return on_device == call->on_device;
}

/* Takes operand `i` as it is, or as an array of ours or of NumPy where it is one of another library. A new reference, or
 * NULL with an exception set. */
static PyObject *take_foreign(smk_family_call *call, size_t i, PyObject *value)
{
    char subject[2 * SMK_NAME_MAX];
    call->given[i] = value;
    if (smk_foreign_is_own(call->state, value)) {
        return Py_NewRef(value);
    }
    (void)snprintf(subject, sizeof subject, "%s: %s", call->family->name, smk_family_call_name(call, i));
    return smk_foreign_take(call->state, subject, value);
}

/* The elements of an array of whole numbers in another type, a new reference; NULL, without an exception, where that
 * loses any. */
static PyObject *convert_whole(PyArrayObject *array, PyArray_Descr *type)
{
    PyArrayObject *there = smk_ndarray_cast(array, type);
    PyArrayObject *back = there == NULL ? NULL : smk_ndarray_cast(there, PyArray_DESCR(array));
    const bool same =
        back != NULL && memcmp(PyArray_DATA(back), PyArray_DATA(array), (size_t)PyArray_NBYTES(array)) == 0;
    PyErr_Clear(); /* of a warning that is an error */
    Py_XDECREF(back);
    if (!same) {
        Py_CLEAR(there);
    }
    return (PyObject *)there;
}

/* Gives lists of whole numbers the type of the first array beside them, as NumPy does with numbers of Python. Returns 0,
 * or -1 with an exception set. */
static int convert_lists(smk_family_call *call)
{
    PyArray_Descr *type = NULL;
    for (size_t i = 0; type == NULL && i < call->inputs; i++) {
        type = call->input[i].type[0] == '\0' && PyArray_Check(call->given[i])
                   ? PyArray_DESCR((PyArrayObject *)call->operands[i])
                   : NULL;
    }
    for (size_t i = 0; type != NULL && i < call->inputs; i++) {
        const bool is_list = PyList_Check(call->given[i]) || PyTuple_Check(call->given[i]);
        PyArrayObject *array = (PyArrayObject *)call->operands[i];
        const int number = PyArray_TYPE(array);
        if (!is_list || call->input[i].type[0] != '\0' ||
            !(PyTypeNum_ISINTEGER(number) || PyTypeNum_ISBOOL(number) || PyArray_SIZE(array) == 0) ||
            !PyArray_IS_C_CONTIGUOUS(array)) {
            continue;
        }
        PyObject *converted = convert_whole(array, type);
        if (converted != NULL) {
            Py_SETREF(call->operands[i], converted);
            Py_CLEAR(call->holds[i]);
            if (hold(call, i, converted) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

static int take_inputs(smk_family_call *call, PyObject *const *values)
{
    size_t device_count = 0;
    int same = 1;
    for (size_t i = 0; i < call->inputs; i++) {
        device_count += smk_array_cast(call->state, values[i]) != NULL;
    }
    call->on_device = device_count > 0;
    if (call->out != NULL && (same = take_out(call)) < 0) {
        return -1;
    }
    if (same == 0 || (device_count > 0 && device_count < call->inputs)) {
        smk_error_fail(call->state, SMK_TYPE,
                       "%s: NumPy arrays and device arrays do not mix in one call; use smemkit.asarray or "
                       "smemkit.asnumpy first",
                       call->family->name);
        return -1;
    }
    for (size_t i = 0; i < call->inputs; i++) {
        call->operands[i] = take_operand(call, i, values[i]);
        if (call->operands[i] == NULL || (!call->on_device && hold(call, i, call->operands[i]) < 0)) {
            return -1;
        }
    }
    return call->on_device ? 0 : convert_lists(call);
}

int smk_family_call_take_operands(smk_family_call *call, PyObject *const *values, PyObject *out)
{
    PyObject *taken[SMK_FAMILY_CALL_INPUTS_MAX] = {NULL};
    int status = 0;
    for (size_t i = 0; status == 0 && i < call->inputs; i++) {
        taken[i] = take_foreign(call, i, values[i]);
        status = taken[i] == NULL ? -1 : 0;
    }
    if (status == 0 && out != NULL) {
        call->out = take_foreign(call, call->inputs, out);
        status = call->out == NULL ? -1 : 0;
    }
    if (status == 0) {
        status = take_inputs(call, taken);
    }
    for (size_t i = 0; i < call->inputs; i++) {
        Py_XDECREF(taken[i]);
    }
    return status;
}

int smk_family_call_finish(const smk_family_call *call)
{
    for (size_t i = 0; call->on_device && i <= call->inputs; i++) {
        PyObject *taken = i < call->inputs ? call->operands[i] : call->out;
        if (call->given[i] != NULL && call->given[i] != taken &&
            smk_foreign_finish(call->state, call->given[i], smk_array_cast(call->state, taken)) < 0) {
            return -1;
        }
    }
    return 0;
}

int smk_family_call_describe_machine(smk_family_call *call)
{
    smk_error error = {0};
    int before = 0;
    smk_status status = smk_backend_enter(call->backend, call->device, &before, &error);
    if (status == SMK_OK) {
        status = call->backend->machine(&call->machine, &error);
        smk_backend_leave(call->backend, call->device, before);
    }
    if (status != SMK_OK) {
        smk_error_raise(call->state, &error);
        return -1;
    }
    return 0;
}

/* Checks that all device arrays of the call are on one device, which `named` (NULL: none) may only confirm. */
static int choose_device(smk_family_call *call, PyObject *named)
{
    const smk_array *first = smk_array_cast(call->state, call->operands[0]);
    call->device = first->device;
    for (size_t i = 1; i <= call->inputs; i++) {
        const smk_array *array = smk_array_cast(call->state, i < call->inputs ? call->operands[i] : call->out);
        if (array != NULL && array->device != call->device) {
            smk_error_fail(call->state, SMK_ARGUMENT,
                           "%s: %s lives on device %d, %s on device %d; copy it there: %s.copy(device=%d)",
                           call->family->name, smk_family_call_name(call, i), array->device,
                           smk_family_call_name(call, 0), call->device, smk_family_call_name(call, i), call->device);
            return -1;
        }
    }
    return smk_device_confirm(call->state, call->family->name, named, smk_family_call_name(call, 0), call->backend,
                              call->device);
}

/* The same for operands of the host: the machine and the device that the call names, or those of its stream. */
static int choose_for_host(smk_family_call *call, PyObject *keyword, PyObject *device)
{
    PyObject *machine = NULL;
    int status = smk_stream_scope_machine(&call->stream, keyword, device, &machine);
    if (status == 0) {
        status = smk_device_choose(call->state, call->family->name, device, machine, &call->backend, &call->device);
    }
    Py_XDECREF(machine);
    if (status < 0 ||
        smk_stream_scope_check(call->state, call->family->name, &call->stream, call->backend, &call->device) < 0) {
        return -1;
    }
    return smk_family_call_describe_machine(call);
}

int smk_family_call_choose_machine(smk_family_call *call, PyObject *keyword, PyObject *device)
{
    const smk_backend *named = NULL;
    if (!call->on_device) {
        return choose_for_host(call, keyword, device);
    }
    if (keyword != NULL && smk_selection_choose(call->state, keyword, &named) < 0) {
        return -1;
    }
    call->backend = smk_array_cast(call->state, call->operands[0])->backend;
    for (size_t i = 0; i <= call->inputs; i++) {
        PyObject *operand = i < call->inputs ? call->operands[i] : call->out;
        const smk_array *array = smk_array_cast(call->state, operand);
        if (array != NULL && array->backend != (named != NULL ? named : call->backend)) {
            const char *name = smk_family_call_name(call, i);
            smk_error_fail(call->state, SMK_ARGUMENT,
                           "%s: %s lives on '%s', the call is for '%s'; move it with smemkit.asarray(%s, backend='%s')",
                           call->family->name, name, array->backend->name,
                           (named != NULL ? named : call->backend)->name, name,
                           (named != NULL ? named : call->backend)->name);
            return -1;
        }
    }
    if (choose_device(call, device) < 0 ||
        smk_stream_scope_check(call->state, call->family->name, &call->stream, call->backend, &call->device) < 0) {
        return -1;
    }
    return smk_family_call_describe_machine(call);
}

int smk_family_call_align_out(smk_family_call *call)
{
    const smk_array *out = smk_array_cast(call->state, call->out);
    if (out == NULL || smk_array_is_aligned(out)) {
        return 0;
    }
    smk_array *made =
        smk_array_create(call->state, call->family->name, out->backend, out->device, out->descr, out->rank, out->shape);
    call->target = made == NULL ? NULL : call->out;
    call->out = made == NULL ? call->out : (PyObject *)made;
    return made == NULL ? -1 : 0;
}

int smk_family_call_deliver(const smk_family_call *call)
{
    return call->target == NULL ? 0
                                : smk_array_view_assign(call->state, smk_array_cast(call->state, call->target),
                                                        smk_array_cast(call->state, call->out));
}

void smk_family_call_release(smk_family_call *call)
{
    smk_stream_scope_end(&call->stream);
    for (size_t i = 0; i < call->inputs; i++) {
        Py_XDECREF(call->operands[i]);
    }
    for (size_t i = 0; i <= call->inputs; i++) {
        Py_XDECREF(call->holds[i]);
    }
    Py_XDECREF(call->out);
    Py_XDECREF(call->target);
    Py_XDECREF(call->descr);
    Py_XDECREF(call->result_descr);
}
