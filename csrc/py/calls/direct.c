#include "py/calls/direct.h"

#include "py/arrays/array.h"
#include "py/arrays/foreign.h"
#include "py/backends/capture.h"
#include "py/backends/kernel_binary.h"
#include "py/backends/selection.h"
#include "py/calls/declaration.h"
#include "py/calls/place.h"
#include "py/calls/scalar.h"
#include "py/error.h"
#include "py/streams/stream_scope.h"

#include <stdatomic.h>
#include <string.h>

enum { VALUES_MAX = 32, STREAMS_MAX = 2, PACKED_ALIGNMENT = 16 };

/* A library whose work the launch awaits, and which awaits the launch. */
typedef struct other_stream {
    PyTypeObject *type;
    uint64_t stream;
} other_stream;

typedef struct direct_call {
    const smk_state *state;
    const smk_raw_kernel *kernel;
    const smk_function *function;
    int device;      /* of the arrays; SMK_DEVICE_PRESENT before the first */
    uint64_t stream; /* on which the thread works there */
    smk_launch launch;
    void *parameters[VALUES_MAX];
    uint64_t numbers[VALUES_MAX]; /* that the parameters point to */
    _Alignas(PACKED_ALIGNMENT) unsigned char packed[VALUES_MAX * PACKED_ALIGNMENT];
    other_stream others[STREAMS_MAX];
    size_t other_count;
} direct_call;

static const smk_variable *get_parameter(const direct_call *call, size_t i)
{
    return &call->function->variables[call->function->result_count + i];
}

/* A length of a grid or block, as an int of Python. */
static bool read_length(PyObject *value, uint32_t *length)
{
    int overflow = 0;
    const long number = PyLong_CheckExact(value) ? PyLong_AsLongAndOverflow(value, &overflow) : 0;
    *length = (uint32_t)number;
    return number > 0 && number <= (long)UINT32_MAX && overflow == 0;
}

static bool read_lengths(PyObject *value, smk_dim3 *result)
{
    *result = (smk_dim3){1, 1, 1};
    uint32_t *const lengths[] = {&result->x, &result->y, &result->z};
    if (!PyTuple_CheckExact(value)) {
        return read_length(value, &result->x);
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(value);
    bool fits = count >= 1 && count <= 3;
    for (Py_ssize_t i = 0; fits && i < count; i++) {
        fits = read_length(PyTuple_GET_ITEM(value, i), lengths[i]);
    }
    return fits;
}

/* Takes the address of an array as a parameter. False where the array needs a second look. */
static bool take_address(direct_call *call, size_t i, const smk_foreign_view *view)
{
    const smk_variable *parameter = get_parameter(call, i);
    const smk_type type = (smk_type)parameter->type;
    const bool is_address =
        parameter->bytes == 8 && smk_module_type_bits(type) == 64 && smk_module_type_kind(type) != SMK_KIND_FLOAT;
    if (!view->contiguous || !is_address || (call->device != SMK_DEVICE_PRESENT && call->device != view->device) ||
        !smk_declaration_takes(call->kernel->declaration, i, view->kind, view->item_bytes)) {
        return false;
    }
    if (call->device == SMK_DEVICE_PRESENT) {
        call->device = view->device;
        call->stream = smk_stream_scope_present(smk_selection_backend(SMK_BACKEND_CUDA), view->device);
    }
    call->numbers[i] = view->address;
    return true;
}

/* Notes the stream of an array's library, once for each library. Returns 1, 0 where there are too many, -1 with an
 * exception set. */
static int note_stream(direct_call *call, PyObject *object)
{
    other_stream *other = call->others;
    for (size_t i = 0; i < call->other_count; i++, other++) {
        if (other->type == Py_TYPE(object)) {
            return 1;
        }
    }
    if (call->other_count == STREAMS_MAX) {
        return 0;
    }
    other->type = Py_TYPE(object);
    call->other_count++;
    if (smk_foreign_stream(call->state, object, call->device, &other->stream) < 0) {
        return -1;
    }
    const smk_backend_streams *streams = smk_selection_backend(SMK_BACKEND_CUDA)->streams;
    /* a graph that captures the library's stream alone is an error */
    return call->stream == other->stream || !streams->captured(other->stream) || streams->captured(call->stream);
}

/* True for numbers whose conversion runs no Python code. */
static bool is_plain_number(PyObject *value)
{
    return PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           (!PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_HEAPTYPE) && PyArray_IsScalar(value, Number));
}

/* Takes an integer of Python, or of NumPy with 32 or 64 bits, for a parameter of such a size that holds it: what most
 * calls have. False for all else. */
static bool take_integer(direct_call *call, size_t i, PyObject *value)
{
    const smk_variable *parameter = get_parameter(call, i);
    const smk_type_kind kind = smk_module_type_kind((smk_type)parameter->type);
    const unsigned bits = smk_module_type_bits((smk_type)parameter->type);
    const bool is_signed = kind == SMK_KIND_SIGNED;
    long long number = 0;
    int overflow = 0;
    if ((bits != 32 && bits != 64) || parameter->bytes * 8 != bits ||
        !(is_signed || kind == SMK_KIND_UNSIGNED || kind == SMK_KIND_BITS)) {
        return false;
    }
    if (PyLong_CheckExact(value)) {
        number = PyLong_AsLongLongAndOverflow(value, &overflow);
    } else if (Py_IS_TYPE(value, &PyInt32ArrType_Type)) {
        number = PyArrayScalar_VAL(value, Int32);
    } else if (Py_IS_TYPE(value, &PyInt64ArrType_Type)) {
        number = PyArrayScalar_VAL(value, Int64);
    } else {
        return false;
    }
    call->numbers[i] = (uint64_t)number;
    return overflow == 0 && (bits == 64 || (number >= INT32_MIN && number <= (is_signed ? INT32_MAX : UINT32_MAX)));
}

static int take_number(direct_call *call, size_t i, PyObject *value)
{
    const smk_variable *parameter = get_parameter(call, i);
    if (take_integer(call, i, value)) {
        return 1;
    }
    if (!is_plain_number(value) || parameter->bytes > sizeof call->numbers[i]) {
        return 0;
    }
    smk_place where; /* its text is written where a message needs it */
    where.kernel = call->kernel->text;
    where.function = call->function;
    where.declaration = call->kernel->declaration;
    where.index = i;
    where.text[0] = '\0';
    if (smk_scalar_write(call->state, &where, value, (smk_type)parameter->type, (size_t)parameter->bytes,
                         (unsigned char *)&call->numbers[i]) < 0) {
        PyErr_Clear(); /* another argument may come first in the message */
        return 0;
    }
    return 1;
}

static int take_value(direct_call *call, size_t i, PyObject *value)
{
    const smk_array *array = smk_array_cast(call->state, value);
    smk_foreign_view view;
    call->parameters[i] = &call->numbers[i];
    if (array != NULL) {
        view = (smk_foreign_view){.address = array->address,
                                  .device = array->device,
                                  .kind = array->descr->kind,
                                  .item_bytes = (size_t)PyDataType_ELSIZE(array->descr),
                                  .contiguous = array->contiguous};
        if (!array->backend->asynchronous || !take_address(call, i, &view)) {
            return 0;
        }
        const bool noted =
            call->stream == SMK_STREAM_DEFAULT && array->owner == NULL && atomic_load(&array->uses) == NULL;
        return noted || smk_array_note(call->state, array) == 0 ? 1 : -1;
    }
    if (smk_foreign_read(call->state, value, &view)) {
        return take_address(call, i, &view) ? note_stream(call, value) : 0;
    }
    return take_number(call, i, value);
}

/* Lays out the values as the kernel's parameters are, unless one of them is aligned more than any number is. */
static void pack(direct_call *call)
{
    size_t end = 0;
    for (size_t i = 0; i < call->launch.parameter_count; i++) {
        const smk_variable *parameter = get_parameter(call, i);
        const size_t alignment = parameter->alignment;
        if (alignment == 0 || alignment > PACKED_ALIGNMENT) {
            return;
        }
        end = (end + alignment - 1) / alignment * alignment;
        memcpy(call->packed + end, &call->numbers[i], (size_t)parameter->bytes); /* 8 at most: take_number */
        end += (size_t)parameter->bytes;
    }
    call->launch.packed = call->launch.parameter_count > 0 ? call->packed : NULL;
    call->launch.packed_bytes = end;
}

/* Orders our stream behind those of the libraries, or theirs behind ours. */
static smk_status order(const direct_call *call, const smk_backend *backend, bool before, smk_error *error)
{
    smk_status status = SMK_OK;
    for (size_t i = 0; status == SMK_OK && i < call->other_count; i++) {
        const uint64_t stream = call->others[i].stream;
        if (stream != call->stream) {
            status =
                before ? backend->follow(call->stream, stream, error) : backend->follow(stream, call->stream, error);
        }
    }
    return status;
}

/* Without the GIL. */
static smk_status launch(const direct_call *call, smk_error *error)
{
    static const smk_run_options options = {.max_steps = UINT64_MAX};
    const smk_backend *backend = smk_selection_backend(SMK_BACKEND_CUDA);
    smk_backend_code *code = NULL;
    int before = 0;
    smk_status status = backend->enter(call->device, &before, error);
    if (status != SMK_OK) {
        return status;
    }
    status = smk_kernel_binary_code(call->kernel->module->binary, backend, call->kernel->text, &code, error);
    if (status == SMK_OK) {
        status = order(call, backend, true, error);
    }
    if (status == SMK_OK) {
        status = backend->launch(code, call->kernel->text, &call->launch, &options, error);
    }
    if (status == SMK_OK) {
        status = order(call, backend, false, error);
    }
    backend->leave(call->device, before);
    return status;
}

/* May the launch go to the stream of the scope (NULL: to that of the thread)? */
static bool is_stream_of(const smk_stream_scope *scope, int device)
{
    if (scope == NULL) {
        return true;
    }
    const smk_stream_choice *choice = &scope->choice;
    return !scope->named || choice->backend == NULL || (choice->backend->asynchronous && choice->device == device);
}

int smk_direct_launch(const smk_raw_kernel *kernel, PyObject *grid, PyObject *block, PyObject *values,
                      const smk_stream_scope *scope)
{
    direct_call call;
    call.state = smk_state_of_instance((PyObject *)kernel);
    call.kernel = kernel;
    call.function = smk_raw_kernel_function(kernel);
    call.device = SMK_DEVICE_PRESENT;
    call.other_count = 0;
    smk_error error; /* written only where something fails */
    smk_status status = SMK_OK;
    call.launch = (smk_launch){.parameters = call.parameters,
                               .cooperative = kernel->module->cooperative,
                               .carveout_percent = kernel->carveout};
    call.launch.prefers_carveout = call.launch.carveout_percent != SMK_RAW_KERNEL_NO_CARVEOUT;
    if (call.function == NULL || kernel->prints || !PyTuple_CheckExact(values) ||
        (size_t)PyTuple_GET_SIZE(values) != call.function->parameter_count ||
        call.function->parameter_count > VALUES_MAX || smk_capture_mode_now() != SMK_CAPTURE_OFF ||
        !read_lengths(grid, &call.launch.grid) || !read_lengths(block, &call.launch.block) ||
        smk_module_check_block(call.function, call.launch.block, NULL) != SMK_OK) {
        return 0;
    }
    call.launch.parameter_count = call.function->parameter_count;
    for (size_t i = 0; i < call.launch.parameter_count; i++) {
        const int taken = take_value(&call, i, PyTuple_GET_ITEM(values, (Py_ssize_t)i));
        if (taken <= 0) {
            return taken;
        }
    }
    if (call.device == SMK_DEVICE_PRESENT || !is_stream_of(scope, call.device)) {
        return 0; /* no array says which machine, or the stream is one of another device */
    }
    pack(&call);
    Py_BEGIN_ALLOW_THREADS
    status = launch(&call, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(call.state, &error);
        return -1;
    }
    return 1;
}
