#include "py/queries/internals_coverage.h"

#include "py/error.h"
#include "py/state.h"

#include "base/heap.h"
#include "sim/code/coverage.h"

/* _coverage_start(): launches on the simulator are counted from now on, until as many calls of _coverage_stop */
static const char start_doc[] = "_coverage_start()\n--\n\n";

static PyObject *call_start(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    smk_coverage_start();
    Py_RETURN_NONE;
}

static const char stop_doc[] = "_coverage_stop()\n--\n\n";

static PyObject *call_stop(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    smk_coverage_stop();
    Py_RETURN_NONE;
}

/* _coverage_clear(): sets all counts to 0 */
static const char clear_doc[] = "_coverage_clear()\n--\n\n";

static PyObject *call_clear(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    smk_coverage_clear();
    Py_RETURN_NONE;
}

/* _coverage_text() -> all counts of the process so far, as JSON in bytes (sim/code/coverage_text.c) */
static const char text_doc[] = "_coverage_text()\n--\n\n";

static PyObject *call_text(PyObject *module, PyObject *ignored)
{
    char *text = NULL;
    size_t length = 0;
    smk_error error = {0};
    (void)ignored;
    if (smk_coverage_text_write(&text, &length, &error) != SMK_OK) {
        return smk_error_raise(smk_state_of_module(module), &error);
    }
    PyObject *result = PyBytes_FromStringAndSize(text, (Py_ssize_t)length);
    smk_heap_free(text);
    return result;
}

PyMethodDef smk_internals_coverage_methods[] = {
    {"_coverage_start", call_start, METH_NOARGS, start_doc},
    {"_coverage_stop", call_stop, METH_NOARGS, stop_doc},
    {"_coverage_clear", call_clear, METH_NOARGS, clear_doc},
    {"_coverage_text", call_text, METH_NOARGS, text_doc},
    {NULL, NULL, 0, NULL},
};
