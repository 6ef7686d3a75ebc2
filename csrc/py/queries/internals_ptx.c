#include "py/queries/internals_ptx.h"

#include "py/error.h"
#include "py/state.h"

#include "base/heap.h"
#include "ptx/module.h"

/* The characters of a str or bytes; NULL with an exception set. */
static const char *get_text(PyObject *object, Py_ssize_t *length)
{
    if (PyBytes_Check(object)) {
        *length = PyBytes_GET_SIZE(object);
        return PyBytes_AS_STRING(object);
    }
    return PyUnicode_AsUTF8AndSize(object, length);
}

/* _ptx_print(text) -> str */
static const char ptx_print_doc[] = "_ptx_print(text, /)\n--\n\n";

static PyObject *call_ptx_print(PyObject *module, PyObject *text)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    smk_module *parsed = NULL;
    char *printed = NULL;
    size_t printed_length = 0;
    Py_ssize_t length = 0;
    PyObject *result = NULL;
    const char *start = get_text(text, &length);
    if (start == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = smk_parse_module(start, (size_t)length, &parsed, &error);
    if (status == SMK_OK) {
        status = smk_printer_print(parsed, &printed, &printed_length, &error);
    }
    smk_module_free(parsed);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        return smk_error_raise(smk_state_of_module(module), &error);
    }
    result = PyUnicode_DecodeUTF8(printed, (Py_ssize_t)printed_length, "surrogateescape");
    smk_heap_free(printed);
    return result;
}

/* _ptx_equal(a, b) -> bool: whether two texts declare the same module */
static const char ptx_equal_doc[] = "_ptx_equal(a, b, /)\n--\n\n";

static PyObject *call_ptx_equal(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    smk_module *parsed[2] = {NULL, NULL};
    const char *texts[2];
    Py_ssize_t lengths[2];
    bool equal = false;
    if (given != 2) {
        PyErr_SetString(PyExc_TypeError, "_ptx_equal(a, b) takes 2 arguments");
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        texts[i] = get_text(arguments[i], &lengths[i]);
        if (texts[i] == NULL) {
            return NULL;
        }
    }
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; i < 2 && status == SMK_OK; i++) {
        status = smk_parse_module(texts[i], (size_t)lengths[i], &parsed[i], &error);
        status = status == SMK_OK ? smk_refused_check_any(parsed[i], &error) : status;
    }
    equal = status == SMK_OK && smk_equal_modules(parsed[0], parsed[1]);
    smk_module_free(parsed[0]);
    smk_module_free(parsed[1]);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        return smk_error_raise(smk_state_of_module(module), &error);
    }
    return PyBool_FromLong(equal);
}

PyMethodDef smk_internals_ptx_methods[] = {
    {"_ptx_print", call_ptx_print, METH_O, ptx_print_doc},
    {"_ptx_equal", SMK_PY_FUNCTION(call_ptx_equal), METH_FASTCALL, ptx_equal_doc},
    {NULL, NULL, 0, NULL},
};
