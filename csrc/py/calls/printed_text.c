#include "py/calls/printed_text.h"

#include "py/error.h"

#include "base/heap.h"

#include <string.h>

int smk_printed_text_create(smk_printed_text *printed)
{
    *printed = (smk_printed_text){.lock = PyThread_allocate_lock()};
    if (printed->lock == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

void smk_printed_text_free(smk_printed_text *printed)
{
    smk_heap_free(printed->text);
    PyThread_free_lock(printed->lock);
}

int smk_printed_text_renew(smk_printed_text *printed)
{
    printed->lock = PyThread_allocate_lock();
    printed->length = 0;
    return printed->lock == NULL ? -1 : 0;
}

void smk_printed_text_append(void *context, const char *text, size_t length)
{
    smk_printed_text *printed = context;
    PyThread_acquire_lock(printed->lock, WAIT_LOCK);
    if (length > printed->capacity - printed->length) {
        size_t capacity = (printed->length + length) * 2;
        char *grown = smk_heap_resize(printed->text, printed->length, capacity);
        if (grown != NULL) {
            printed->text = grown;
            printed->capacity = capacity;
        }
    }
    if (length <= printed->capacity - printed->length) {
        memcpy(printed->text + printed->length, text, length);
        printed->length += length;
    } else {
        printed->is_lost = true;
    }
    PyThread_release_lock(printed->lock);
}

int smk_printed_text_flush(smk_printed_text *printed)
{
    PyObject *stdout_object = PySys_GetObject("stdout"); /* borrowed */
    PyObject *text = NULL, *answer = NULL;
    PyThread_acquire_lock(printed->lock, WAIT_LOCK);
    if (printed->length > 0) {
        text = PyUnicode_DecodeUTF8(printed->text, (Py_ssize_t)printed->length, "replace");
        printed->length = 0;
    }
    PyThread_release_lock(printed->lock);
    if (text == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    int status = 0;
    if (stdout_object != NULL && stdout_object != Py_None) {
        Py_INCREF(stdout_object);
        answer = PyObject_CallMethod(stdout_object, "write", "O", text);
        status = answer == NULL ? -1 : 0;
        Py_XDECREF(answer);
        Py_DECREF(stdout_object);
    }
    Py_DECREF(text);
    return status;
}

int smk_printed_text_begin(void)
{
    PyObject *stdout_object = PySys_GetObject("stdout"), *answer = NULL; /* borrowed */
    if (stdout_object == NULL || stdout_object == Py_None) {
        return 0;
    }
    Py_INCREF(stdout_object);
    answer = PyObject_CallMethod(stdout_object, "flush", NULL);
    Py_DECREF(stdout_object);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

int smk_printed_text_check(const smk_state *state, const smk_printed_text *printed)
{
    if (printed->is_lost) {
        smk_error_fail(state, SMK_MEMORY, "no memory left for what a kernel prints");
        return -1;
    }
    return 0;
}
