#include "py/calls/raw_code.h"

#include "py/error.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

/* The offset behind blanks and comments; an unclosed comment goes to the end. */
static size_t skip_comments(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length) {
        if (is_blank(text[i])) {
            i++;
        } else if (i + 1 < length && text[i] == '/' && text[i + 1] == '/') {
            while (i < length && text[i] != '\n') {
                i++;
            }
        } else if (i + 1 < length && text[i] == '/' && text[i + 1] == '*') {
            i += 2;
            while (i + 1 < length && !(text[i] == '*' && text[i + 1] == '/')) {
                i++;
            }
            i = i + 2 < length ? i + 2 : length;
        } else {
            break;
        }
    }
    return i;
}

/* True for PTX, which begins with a directive; no CUDA C program begins with one of these words. */
static bool is_ptx(const char *text, size_t length)
{
    static const char *const words[] = {".version", ".target", ".address_size"};
    size_t start = skip_comments(text, length);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t bytes = strlen(words[i]);
        if (length - start >= bytes && memcmp(text + start, words[i], bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* True for ELF (a cubin) and fatbin files: code for the GPU alone. */
static bool is_binary(const char *text, size_t length)
{
    return length >= 4 && (memcmp(text, "\x7f\x45\x4c\x46", 4) == 0 || memcmp(text, "\x50\xed\x55\xba", 4) == 0);
}

/* The PTX, and the name of its compiler; both new references. */
static PyObject *compile_source(PyObject *source, PyObject *options, PyObject **origin)
{
    PyObject *result = NULL, *answer = NULL;
    PyObject *compiler = PyImport_ImportModule("smemkit.compile");
    if (compiler == NULL) {
        return NULL;
    }
    if (options == NULL) {
        answer = PyObject_CallMethod(compiler, "compile_by", "O", source);
    } else {
        answer = PyObject_CallMethod(compiler, "compile_by", "OO", source, options);
    }
    if (answer != NULL &&
        (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 2 || !PyUnicode_Check(PyTuple_GET_ITEM(answer, 0)) ||
         !PyUnicode_Check(PyTuple_GET_ITEM(answer, 1)))) {
        PyErr_SetString(PyExc_SystemError, "smemkit.compile.compile_by did not return two str");
    } else if (answer != NULL) {
        result = Py_NewRef(PyTuple_GET_ITEM(answer, 0));
        *origin = Py_NewRef(PyTuple_GET_ITEM(answer, 1));
    }
    Py_DECREF(compiler);
    Py_XDECREF(answer);
    return result;
}

/* Turns a UnicodeError into an ArgumentError. Returns NULL. */
static PyObject *refuse_text(const smk_state *state)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    if (PyErr_ExceptionMatches(PyExc_UnicodeError)) {
        PyErr_Fetch(&type, &value, &trace);
        smk_error_fail(state, SMK_ARGUMENT, "code is not a text: %S", value == NULL ? Py_None : value);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    }
    return NULL;
}

PyObject *smk_raw_code_get_ptx(const smk_state *state, PyObject *code, PyObject *options, PyObject **source,
                               PyObject **origin)
{
    const char *text = NULL;
    Py_ssize_t length = 0;
    if (PyBytes_Check(code)) {
        text = PyBytes_AS_STRING(code);
        length = PyBytes_GET_SIZE(code);
    } else if (PyUnicode_Check(code)) {
        text = PyUnicode_AsUTF8AndSize(code, &length);
        if (text == NULL) {
            return refuse_text(state);
        }
    } else {
        return smk_error_fail(state, SMK_TYPE, "code must be PTX or CUDA C as str or bytes, not %.100s",
                              Py_TYPE(code)->tp_name);
    }
    if (is_binary(text, (size_t)length)) {
        return smk_error_fail(state, SMK_ARGUMENT, "code is a cubin or fatbin; PTX text or CUDA C is needed");
    }
    if (skip_comments(text, (size_t)length) == (size_t)length) {
        return smk_error_fail(state, SMK_ARGUMENT, "code is empty; PTX text or CUDA C is needed");
    }
    if (is_ptx(text, (size_t)length)) {
        *source = Py_NewRef(Py_None);
        return Py_NewRef(code);
    }
    *source = PyUnicode_Check(code) ? Py_NewRef(code) : PyUnicode_DecodeUTF8(text, length, NULL);
    return *source == NULL ? refuse_text(state) : compile_source(*source, options, origin);
}
