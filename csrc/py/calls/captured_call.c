#include "py/calls/captured_call.h"

#include "py/backends/capture.h"
#include "py/calls/captured_launch.h"
#include "py/error.h"
#include "py/keywords.h"

#include <pthread.h>
#include <string.h>

enum { PADDING_MAX = 1 << 20 }; /* some hundred variables fit the window of shared memory */

static const char *const mode_names[SMK_CAPTURE_MODE_COUNT] = {
    [SMK_CAPTURE_PROFILE] = "profile", [SMK_CAPTURE_CHECK] = "check", [SMK_CAPTURE_TIME] = "time"};

/* The Python side of a thread's capture. */
typedef struct captured_call {
    smk_capture capture;
    PyObject *launches; /* list of dicts */
    PyObject *text;     /* the PTX of the last launch's module, which is often that of the next one, too */
} captured_call;

static _Thread_local captured_call *current;

/* Launches ----------------------------------------------------------------------------------------- */

/* The PTX of a record's module as a str, which the captured call keeps; a borrowed reference. NULL with an exception
 * set. */
static PyObject *get_text(const smk_capture_record *record)
{
    Py_ssize_t length = 0;
    const smk_text ptx = record->module->text;
    const char *last = current->text == NULL ? NULL : PyUnicode_AsUTF8AndSize(current->text, &length);
    if (last != NULL && (size_t)length == ptx.length && memcmp(last, ptx.start, ptx.length) == 0) {
        return current->text;
    }
    PyObject *decoded = PyUnicode_DecodeUTF8(ptx.start, (Py_ssize_t)ptx.length, "replace");
    if (decoded != NULL) {
        Py_XSETREF(current->text, decoded);
    }
    return decoded;
}

static int keep_record(const smk_state *state, const smk_capture_record *record)
{
    PyObject *text = record->module == NULL ? Py_None : get_text(record);
    PyObject *dict = text == NULL ? NULL : smk_captured_launch_describe(state, record, text);
    int status = dict == NULL ? -1 : PyList_Append(current->launches, dict);
    Py_XDECREF(dict);
    return status;
}

/* The watch ---------------------------------------------------------------------------------------- */

static pthread_mutex_t listener_mutex = PTHREAD_MUTEX_INITIALIZER;
static PyObject *listener; /* callable, or NULL where the process is not watched */

/* Returns a new reference, or NULL without an exception. */
static PyObject *get_listener(void)
{
    (void)pthread_mutex_lock(&listener_mutex);
    PyObject *found = listener;
    Py_XINCREF(found);
    (void)pthread_mutex_unlock(&listener_mutex);
    return found;
}

/* Hands the records of a thread without a capture to the listener. Returns 0, or -1 with an exception set. */
static int tell_listener(const smk_state *state, bool keep)
{
    PyObject *callable = keep ? get_listener() : NULL;
    captured_call call = {.launches = callable == NULL ? NULL : PyList_New(0)};
    smk_capture_record *record = NULL;
    int status = callable != NULL && call.launches == NULL ? -1 : 0;
    current = &call;
    while ((record = smk_capture_take()) != NULL) {
        if (call.launches != NULL && status == 0) {
            status = keep_record(state, record);
        }
        smk_capture_free(record);
    }
    current = NULL;
    if (status == 0 && call.launches != NULL && PyList_GET_SIZE(call.launches) > 0) {
        PyObject *answer = PyObject_CallOneArg(callable, call.launches);
        status = answer == NULL ? -1 : 0;
        Py_XDECREF(answer);
    }
    Py_XDECREF(call.launches);
    Py_XDECREF(call.text);
    Py_XDECREF(callable);
    return status;
}

/* _watch(listener, /): each launch on the simulator that no capture records is checked from now on, and the listener
 * called with a list of dicts at the end of the call that made it; None ends that. Returns the listener of before. */
static const char watch_doc[] = "_watch(listener, /)\n--\n\n";

static PyObject *set_watch(PyObject *module, PyObject *value)
{
    if (value != Py_None && !PyCallable_Check(value)) {
        smk_error_fail(smk_state_of_module(module), SMK_TYPE, "listener must be callable or None, not %.100s",
                       Py_TYPE(value)->tp_name);
        return NULL;
    }
    PyObject *next = value == Py_None ? NULL : Py_NewRef(value);
    (void)pthread_mutex_lock(&listener_mutex);
    PyObject *before = listener;
    listener = next;
    smk_capture_watch(next != NULL);
    (void)pthread_mutex_unlock(&listener_mutex);
    return before == NULL ? Py_NewRef(Py_None) : before;
}

int smk_captured_call_collect(const smk_state *state, bool keep)
{
    smk_capture_record *record = NULL;
    int status = 0;
    if (current == NULL) {
        return tell_listener(state, keep);
    }
    while ((record = smk_capture_take()) != NULL) {
        if (keep && status == 0) {
            status = keep_record(state, record);
        }
        smk_capture_free(record);
    }
    return status;
}

int smk_captured_call_note_refusal(const char *kernel, const char *message)
{
    if (current == NULL) {
        return 0;
    }
    PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    PyObject *dict = Py_BuildValue("{s:s,s:N}", "kernel", kernel, "refused", text);
    int status = dict == NULL ? -1 : PyList_Append(current->launches, dict);
    Py_XDECREF(dict);
    return status;
}

/* The builtin -------------------------------------------------------------------------------------- */

static int read_mode(const smk_state *state, PyObject *value, smk_capture_mode *mode)
{
    const char *name = smk_keywords_text(state, "_capture", "mode", value);
    for (int i = SMK_CAPTURE_PROFILE; name != NULL && i < SMK_CAPTURE_MODE_COUNT; i++) {
        if (strcmp(name, mode_names[i]) == 0) {
            *mode = (smk_capture_mode)i;
            return 0;
        }
    }
    if (name != NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "mode is %R; accepted are 'profile', 'check' and 'time'", value);
    }
    return -1;
}

static int read_count(const smk_state *state, const char *name, PyObject *value, uint64_t *blocks)
{
    PyObject *integer = smk_keywords_index(value);
    if (integer == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (integer == NULL) {
        smk_error_fail(state, SMK_TYPE, "%s must be an int, not %.100s", name, Py_TYPE(value)->tp_name);
        return -1;
    }
    unsigned long long number = PyLong_AsUnsignedLongLong(integer);
    Py_DECREF(integer);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        smk_error_fail(state, SMK_ARGUMENT, "%s is %R; it cannot be negative, nor above 2**64 - 1", name, value);
        return -1;
    }
    *blocks = number;
    return 0;
}

/* Reads the optional arguments reverse, padding and borrow. */
static int read_order(const smk_state *state, PyObject *const *arguments, Py_ssize_t given, smk_capture *capture)
{
    int reverse = given > 6 ? PyObject_IsTrue(arguments[6]) : 0, borrow = given > 8 ? PyObject_IsTrue(arguments[8]) : 0;
    capture->reverse = reverse > 0;
    capture->borrow = borrow > 0;
    if (reverse < 0 || borrow < 0 || (given > 7 && read_count(state, "padding", arguments[7], &capture->padding) < 0)) {
        return -1;
    }
    if (capture->padding > PADDING_MAX) {
        smk_error_fail(state, SMK_ARGUMENT, "padding is %llu bytes; at most %u are possible",
                       (unsigned long long)capture->padding, (unsigned)PADDING_MAX);
        return -1;
    }
    return 0;
}

static int read_capture(const smk_state *state, PyObject *const *arguments, Py_ssize_t given, smk_capture *capture)
{
    if (read_mode(state, arguments[0], &capture->mode) < 0 ||
        read_count(state, "blocks", arguments[4], &capture->blocks) < 0 ||
        read_order(state, arguments, given, capture) < 0) {
        return -1;
    }
    if (!PyTuple_Check(arguments[2]) || !PyDict_Check(arguments[3])) {
        PyErr_SetString(PyExc_TypeError, "_capture: args must be a tuple and kwargs a dict");
        return -1;
    }
    int model = PyObject_IsTrue(arguments[5]);
    capture->model = model > 0;
    return model < 0 ? -1 : 0;
}

/* _capture(...) -> (result, launches): calls a Python function while the launches of this thread are captured. `result`
 * is what the function returns, `launches` a list with a dict for each launch. */
static const char capture_doc[] =
    "_capture(mode, function, args, kwargs, blocks, model, reverse=False, padding=0, borrow=False, /)\n--\n\n";

static PyObject *call_capture(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    const smk_state *state = smk_state_of_module(module);
    PyObject *result = NULL, *answer = NULL;
    captured_call call = {.launches = NULL};
    if (given < 6 || given > 9) {
        PyErr_SetString(PyExc_TypeError,
                        "_capture(mode, function, args, kwargs, blocks, model, reverse=False, padding=0, "
                        "borrow=False) takes 6 to 9 arguments");
        return NULL;
    }
    if (current != NULL) {
        return smk_error_fail(state, SMK_ARGUMENT,
                              "the launches of this thread are already recorded by %s, within which neither it nor "
                              "another of profile, check and predict can run: give it the function that launches",
                              current->capture.mode == SMK_CAPTURE_PROFILE ? "profile or predict"
                                                                           : mode_names[current->capture.mode]);
    }
    if (read_capture(state, arguments, given, &call.capture) < 0) {
        return NULL;
    }
    call.launches = PyList_New(0);
    if (call.launches == NULL) {
        return NULL;
    }
    current = &call;
    smk_capture_begin(&call.capture);
    answer = PyObject_Call(arguments[1], arguments[2], arguments[3]);
    smk_capture_end();
    current = NULL;
    if (answer != NULL) {
        result = PyTuple_Pack(2, answer, call.launches);
    }
    Py_XDECREF(answer);
    Py_DECREF(call.launches);
    Py_XDECREF(call.text);
    return result;
}

static const char kinds_doc[] = "_finding_kinds()\n--\n\nA dict from the kinds of findings to what they mean.";

static PyObject *list_kinds(PyObject *module, PyObject *ignored)
{
    PyObject *kinds = PyDict_New();
    (void)module;
    (void)ignored;
    for (int i = 0; kinds != NULL && i < SMK_FINDING_COUNT; i++) {
        PyObject *meaning = PyUnicode_FromString(smk_finding_meaning((smk_finding_kind)i));
        if (meaning == NULL || PyDict_SetItemString(kinds, smk_finding_name((smk_finding_kind)i), meaning) < 0) {
            Py_CLEAR(kinds);
        }
        Py_XDECREF(meaning);
    }
    return kinds;
}

PyMethodDef smk_captured_call_methods[] = {
    {"_capture", SMK_PY_FUNCTION(call_capture), METH_FASTCALL, capture_doc},
    {"_watch", set_watch, METH_O, watch_doc},
    {"_finding_kinds", list_kinds, METH_NOARGS, kinds_doc},
    {NULL, NULL, 0, NULL},
};
