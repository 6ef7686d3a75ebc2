#include "py/streams/stream_choice.h"

#include "py/backends/selection.h"
#include "py/error.h"
#include "py/streams/stream_object.h"

#include <stdatomic.h>

enum { HANDLE_LEGACY = 1, HANDLE_PER_THREAD = 2 }; /* cudaStreamLegacy, cudaStreamPerThread */

/* An attribute, a new reference; NULL without an exception where there is none. */
static PyObject *get_optional(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
    }
    return value;
}

/* The handle by the protocol: __cuda_stream__() gives (version, handle). A new reference; NULL with an exception set, or
 * without one where the object has no such method. */
static PyObject *ask_protocol(const smk_state *state, const char *subject, PyObject *object)
{
    PyObject *method = get_optional(object, "__cuda_stream__");
    if (method == NULL) {
        return NULL;
    }
    /* the first text of the protocol had an attribute instead of a method */
    PyObject *pair = PyCallable_Check(method) ? PyObject_CallNoArgs(method) : Py_NewRef(method), *handle = NULL;
    if (pair != NULL && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2) {
        handle = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
    } else if (pair != NULL) {
        smk_error_fail(state, SMK_TYPE, "%s: __cuda_stream__ gave %.200R, not (version, handle)", subject, pair);
    }
    Py_DECREF(method);
    Py_XDECREF(pair);
    return handle;
}

static const char *const names[] = {"ptr", "cuda_stream", "handle"}; /* of CuPy, PyTorch, Numba */

/* The last type that had one of these attributes, and which: what an object lacks takes long to find out. It is a guess,
 * since the type may be gone. */
static _Atomic(PyTypeObject *) guessed_type;
static atomic_size_t guessed_name;

/* The int that a library's handle is; steals the reference (NULL stays NULL). NULL with an exception set, or without one
 * where it is none. */
static PyObject *convert_handle(PyObject *handle)
{
    if (handle == NULL || PyLong_Check(handle)) {
        return handle;
    }
    PyObject *value = get_optional(handle, "value"); /* Numba has a ctypes.c_void_p */
    if (value == NULL && !PyErr_Occurred()) {
        value = PyNumber_Check(handle) ? PyNumber_Long(handle) : NULL; /* or a type of NVIDIA's bindings */
    } else if (value == Py_None) {
        Py_SETREF(value, PyLong_FromLong(0));
    }
    Py_DECREF(handle);
    return value;
}

/* The handle of another library's stream, a new reference; NULL with an exception set, or without one where the object is
 * no stream. */
static PyObject *ask_library(PyObject *object)
{
    PyObject *handle = NULL;
    for (size_t i = 0; handle == NULL && !PyErr_Occurred() && i < sizeof names / sizeof names[0]; i++) {
        handle = get_optional(object, names[i]);
        if (handle != NULL) {
            atomic_store(&guessed_name, i);
            atomic_store(&guessed_type, Py_TYPE(object));
        }
    }
    return convert_handle(handle);
}

static int refuse(const smk_state *state, const char *subject, PyObject *value)
{
    smk_error_fail(
        state, SMK_TYPE,
        "%s is %.100s; a smemkit.Stream, an object with __cuda_stream__, a stream of CuPy, PyTorch or Numba, "
        "or a handle (an int) is needed",
        subject, Py_TYPE(value)->tp_name);
    return -1;
}

/* Fills the choice with a handle of CUDA. */
static int read_handle(const smk_state *state, const char *subject, PyObject *number, smk_stream_choice *choice)
{
    const smk_backend *backend = smk_selection_backend(SMK_BACKEND_CUDA);
    smk_error error = {0};
    const unsigned long long handle = PyLong_AsUnsignedLongLong(number);
    if (handle == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        smk_error_fail(state, SMK_ARGUMENT, "%s is %.100R; a handle is an address, or 0 for the default stream",
                       subject, number);
        return -1;
    }
    choice->device = SMK_DEVICE_PRESENT;
    if (handle == SMK_STREAM_DEFAULT || handle == HANDLE_LEGACY) {
        return 0;
    }
    choice->handle = handle;
    choice->backend = backend;
    if (backend->streams->device(handle, &choice->device, &error) != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

bool smk_stream_choice_take(const smk_state *state, PyObject *value, smk_stream_choice *choice)
{
    smk_stream *stream = smk_stream_object_cast(state, value);
    if (stream == NULL || smk_stream_object_is_closed(stream)) {
        return false;
    }
    choice->device = stream->device;
    choice->handle = stream->handle;
    choice->backend = stream->handle == SMK_STREAM_DEFAULT && stream->backend->streams != NULL ? NULL : stream->backend;
    choice->owner = Py_NewRef((PyObject *)stream);
    return true;
}

int smk_stream_choice_read(const smk_state *state, const char *subject, PyObject *value, smk_stream_choice *choice)
{
    *choice = (smk_stream_choice){.device = SMK_DEVICE_PRESENT};
    if (smk_stream_choice_take(state, value, choice)) {
        return 0;
    }
    if (smk_stream_object_cast(state, value) != NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "%s is closed", subject);
        return -1;
    }
    if (PyLong_Check(value)) {
        return PyBool_Check(value) ? refuse(state, subject, value) : read_handle(state, subject, value, choice);
    }
    PyObject *handle = NULL;
    if (Py_TYPE(value) == atomic_load(&guessed_type)) {
        handle = convert_handle(get_optional(value, names[atomic_load(&guessed_name)]));
    }
    if (handle == NULL && !PyErr_Occurred()) {
        handle = ask_protocol(state, subject, value);
    }
    if (handle == NULL && !PyErr_Occurred()) {
        handle = ask_library(value);
    }
    if (handle == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (handle == NULL || !PyLong_Check(handle)) {
        Py_XDECREF(handle);
        return refuse(state, subject, value);
    }
    const int status = read_handle(state, subject, handle, choice);
    Py_DECREF(handle);
    if (status == 0) {
        choice->owner = Py_NewRef(value);
    }
    return status;
}

void smk_stream_choice_free(smk_stream_choice *choice)
{
    Py_CLEAR(choice->owner);
}
