#include "py/backends/device.h"

#include "py/backends/selection.h"
#include "py/error.h"
#include "py/keywords.h"

#include "base/heap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char accepted[] =
    "accepted are a number, 'cuda:0' and the like, 'sim', a smemkit.Device, and those of CuPy, JAX and PyTorch";

void smk_device_write(const smk_backend *backend, int number, char text[SMK_DEVICE_TEXT_BYTES])
{
    if (backend->enter == NULL) {
        (void)snprintf(text, SMK_DEVICE_TEXT_BYTES, "%s", backend->name);
    } else {
        (void)snprintf(text, SMK_DEVICE_TEXT_BYTES, "%s:%d", backend->name, number);
    }
}

/* Reading ----------------------------------------------------------------------------------------- */

/* The machine that the first `length` characters name; NULL for another word. */
static const smk_backend *find_machine(const char *text, size_t length)
{
    for (int i = 0; i < SMK_BACKEND_COUNT; i++) {
        const smk_backend *backend = smk_selection_backend((smk_backend_id)i);
        if (strlen(backend->name) == length && strncmp(backend->name, text, length) == 0) {
            return backend;
        }
    }
    return NULL;
}

/* Reads "sim", "cuda" or "cuda:1". */
static int read_text(const smk_state *state, const char *subject, PyObject *object, const smk_backend **backend,
                     int *number)
{
    const char *text = smk_keywords_text(state, subject, "device", object);
    if (text == NULL) {
        return -1;
    }
    const size_t length = strcspn(text, ":");
    *backend = find_machine(text, length);
    *number = SMK_DEVICE_PRESENT;
    if (*backend != NULL && text[length] == '\0') {
        return 0;
    }
    const char *digits = text + length + (text[length] == ':');
    const long read = strlen(digits) < 10 ? strtol(digits, NULL, 10) : LONG_MAX;
    if (*backend == NULL || digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0' || read > INT_MAX) {
        smk_error_fail(state, SMK_ARGUMENT, "%s: device is %.100R; %s", subject, object, accepted);
        return -1;
    }
    *number = (int)read;
    return 0;
}

/* Reads a whole number that is not negative. Returns 1; 0 without an exception where the object is no whole number; -1
 * with an exception set. */
static int read_number(const smk_state *state, const char *subject, PyObject *object, int *number)
{
    PyObject *integer = smk_keywords_index(object);
    int overflow = 0;
    if (integer == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    const long long read = PyLong_AsLongLongAndOverflow(integer, &overflow);
    Py_DECREF(integer);
    if (overflow != 0 || read < 0 || read > INT_MAX) {
        smk_error_fail(state, SMK_ARGUMENT, "%s: there is no device %.100R; they are numbered from 0", subject, object);
        return -1;
    }
    *number = (int)read;
    return 1;
}

/* The first of two attributes that an object has, a new reference; NULL without an exception where it has neither. */
static PyObject *get_attribute(PyObject *object, const char *name, const char *other)
{
    const char *const names[] = {name, other};
    PyObject *value = NULL;
    for (size_t i = 0; value == NULL && i < 2; i++) {
        value = PyObject_GetAttrString(object, names[i]);
        if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
        } else if (value == NULL) {
            break;
        }
    }
    return value;
}

/* Reads a device of another library: it has a number (index of PyTorch, id of CuPy and JAX) and perhaps a kind (type of
 * PyTorch, platform of JAX). Returns as read_number. */
static int read_other(const smk_state *state, const char *subject, PyObject *object, int *number)
{
    PyObject *kind = get_attribute(object, "type", "platform"), *index = NULL;
    int status = PyErr_Occurred() ? -1 : 0;
    const bool is_gpu =
        kind == NULL || (PyUnicode_Check(kind) && (PyUnicode_CompareWithASCIIString(kind, "cuda") == 0 ||
                                                   PyUnicode_CompareWithASCIIString(kind, "gpu") == 0));
    if (status == 0 && is_gpu) {
        index = get_attribute(object, "index", "id");
        status = PyErr_Occurred() ? -1 : 0;
    }
    if (index == Py_None && kind != NULL) { /* PyTorch's for the present device */
        *number = SMK_DEVICE_PRESENT;
        status = 1;
    } else if (index != NULL) {
        status = read_number(state, subject, index, number);
    }
    Py_XDECREF(kind);
    Py_XDECREF(index);
    return status;
}

int smk_device_read(const smk_state *state, const char *subject, PyObject *object, const smk_backend **backend,
                    int *number)
{
    *backend = NULL;
    *number = SMK_DEVICE_PRESENT;
    if (object == NULL) {
        return 0;
    }
    if (Py_TYPE(object) == state->device_type) {
        const smk_device *device = (const smk_device *)(void *)object;
        *backend = device->backend;
        *number = device->number;
        return 0;
    }
    if (PyUnicode_Check(object)) {
        return read_text(state, subject, object, backend, number);
    }
    int status = read_number(state, subject, object, number);
    if (status == 0 && (status = read_other(state, subject, object, number)) > 0) {
        *backend = smk_selection_backend(SMK_BACKEND_CUDA);
    }
    if (status == 0) {
        smk_error_fail(state, SMK_TYPE, "%s: device is of the type %.100s; %s", subject, Py_TYPE(object)->tp_name,
                       accepted);
    }
    return status > 0 ? 0 : -1;
}

int smk_device_check(const smk_state *state, const char *subject, const smk_backend *backend, int number)
{
    smk_error error = {0};
    int count = 1;
    smk_status status = SMK_OK;
    if (number == SMK_DEVICE_PRESENT) {
        return 0;
    }
    if (backend->count != NULL) {
        Py_BEGIN_ALLOW_THREADS
        status = backend->count(&count, &error);
        Py_END_ALLOW_THREADS
    }
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
    } else if (number >= count && backend->count == NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "%s: there is no device %d on the machine '%s', which is one device, 0",
                       subject, number, backend->name);
    } else if (number >= count) {
        smk_error_fail(state, SMK_ARGUMENT, "%s: there is no device %d; this machine has %d, numbered from 0", subject,
                       number, count);
    }
    return status != SMK_OK || number >= count ? -1 : 0;
}

int smk_device_choose(const smk_state *state, const char *subject, PyObject *object, PyObject *machine,
                      const smk_backend **backend, int *number)
{
    const smk_backend *named = NULL;
    if (smk_device_read(state, subject, object, &named, number) < 0) {
        return -1;
    }
    if (named == NULL || machine != NULL) {
        if (smk_selection_choose(state, machine, backend) < 0) {
            return -1;
        }
        if (named != NULL && named != *backend) {
            smk_error_fail(state, SMK_ARGUMENT, "%s: device is %.100R, and backend is '%s'", subject, object,
                           (*backend)->name);
            return -1;
        }
    } else {
        PyObject *name = PyUnicode_FromString(named->name);
        const int status = name == NULL ? -1 : smk_selection_choose(state, name, backend);
        Py_XDECREF(name);
        if (status < 0) {
            return -1;
        }
    }
    return smk_device_check(state, subject, *backend, *number);
}

int smk_device_confirm(const smk_state *state, const char *subject, PyObject *object, const char *name,
                       const smk_backend *backend, int number)
{
    const smk_backend *named = NULL;
    char text[SMK_DEVICE_TEXT_BYTES];
    int wanted = SMK_DEVICE_PRESENT;
    if (object == NULL) {
        return 0;
    }
    if (smk_device_read(state, subject, object, &named, &wanted) < 0) {
        return -1;
    }
    if ((named == NULL || named == backend) && (wanted == SMK_DEVICE_PRESENT || wanted == number)) {
        return 0;
    }
    smk_device_write(backend, number, text);
    smk_error_fail(state, SMK_ARGUMENT,
                   "%s: %s lives on '%s', and device is %.100R; leave device out, or copy the array there with "
                   "d.copy(device=...)",
                   subject, name, text, object);
    return -1;
}

/* Blocks ------------------------------------------------------------------------------------------ */

/* What a block restores at its end. */
typedef struct block {
    struct block *outer;
    const smk_backend *inside; /* the machine of the block, and the one that was preferred outside */
    const smk_backend *outside;
    int before; /* the present device outside */
} block;

static _Thread_local block *innermost;

int smk_device_enter(const smk_state *state, const smk_device *device)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    block *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        smk_error_fail(state, SMK_MEMORY, "Device: no memory left");
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS
    status = smk_backend_enter(device->backend, device->number, &made->before, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_heap_free(made);
        smk_error_raise(state, &error);
        return -1;
    }
    made->outer = innermost;
    made->inside = device->backend;
    made->outside = smk_selection_enter(device->backend);
    innermost = made;
    return 0;
}

int smk_device_leave(const smk_state *state)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    block *ended = innermost;
    int ignored = 0;
    if (ended == NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "Device: this thread is in no block of a device");
        return -1;
    }
    innermost = ended->outer;
    (void)smk_selection_enter(ended->outside);
    Py_BEGIN_ALLOW_THREADS
    /* whatever the block's code has made the present device */
    status = smk_backend_enter(ended->inside, ended->before, &ignored, &error);
    Py_END_ALLOW_THREADS
    smk_heap_free(ended);
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}
