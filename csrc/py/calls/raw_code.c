#include "py/calls/raw_code.h"

#include "py/error.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

enum { MARK_BYTES = 3 };

/* The bytes of a byte order mark, with which some editors begin a file. */
static size_t find_mark(const char *text, size_t length)
{
    return length >= MARK_BYTES && memcmp(text, "\xEF\xBB\xBF", MARK_BYTES) == 0 ? MARK_BYTES : 0;
}

/* The offset behind such a mark, blanks and comments; an unclosed comment goes to the end. */
static size_t skip_comments(const char *text, size_t length)
{
    size_t i = find_mark(text, length);
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

/* Compiles text->source. Returns 0, or -1 with an exception set. */
static int compile_source(const smk_raw_input *input, smk_raw_text *text)
{
    PyObject *none = PyTuple_New(0), *answer = NULL;
    PyObject *compiler = PyImport_ImportModule("smemkit._kernel_code");
    int status = -1;
    if (compiler != NULL && none != NULL) {
        answer = PyObject_CallMethod(compiler, "compile_code", "OOO", text->source,
                                     input->options == NULL ? none : input->options,
                                     input->expressions == NULL ? Py_None : input->expressions);
    }
    if (answer != NULL &&
        (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 3 || !PyUnicode_Check(PyTuple_GET_ITEM(answer, 0)) ||
         !PyUnicode_Check(PyTuple_GET_ITEM(answer, 1)) || !PyDict_Check(PyTuple_GET_ITEM(answer, 2)))) {
        PyErr_SetString(PyExc_SystemError, "smemkit._kernel_code.compile_code did not return two str and a dict");
    } else if (answer != NULL) {
        text->ptx = Py_NewRef(PyTuple_GET_ITEM(answer, 0));
        text->origin = Py_NewRef(PyTuple_GET_ITEM(answer, 1));
        text->names = Py_NewRef(PyTuple_GET_ITEM(answer, 2));
        status = 0;
    }
    Py_XDECREF(none);
    Py_XDECREF(compiler);
    Py_XDECREF(answer);
    return status;
}

/* Turns a UnicodeError into an ArgumentError. Returns -1. */
static int refuse_text(const smk_state *state)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    if (PyErr_ExceptionMatches(PyExc_UnicodeError)) {
        PyErr_Fetch(&type, &value, &trace);
        smk_error_fail(state, SMK_ARGUMENT, "code is not a text: %S", value == NULL ? Py_None : value);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    }
    return -1;
}

int smk_raw_code_get_ptx(const smk_state *state, const smk_raw_input *input, smk_raw_text *text)
{
    PyObject *code = input->code;
    const char *start = NULL;
    Py_ssize_t length = 0;
    if (PyBytes_Check(code)) {
        start = PyBytes_AS_STRING(code);
        length = PyBytes_GET_SIZE(code);
    } else if (PyUnicode_Check(code)) {
        start = PyUnicode_AsUTF8AndSize(code, &length);
        if (start == NULL) {
            return refuse_text(state);
        }
    } else {
        smk_error_fail(state, SMK_TYPE, "code must be PTX or CUDA C as str or bytes, not %.100s",
                       Py_TYPE(code)->tp_name);
        return -1;
    }
    if (is_binary(start, (size_t)length)) {
        smk_error_fail(state, SMK_ARGUMENT, "code is a cubin or fatbin; PTX text or CUDA C is needed");
        return -1;
    }
    if (skip_comments(start, (size_t)length) == (size_t)length) {
        smk_error_fail(state, SMK_ARGUMENT, "code is empty; PTX text or CUDA C is needed");
        return -1;
    }
    if (is_ptx(start, (size_t)length)) {
        if (input->expressions != NULL && !input->implied) {
            smk_error_fail(state, SMK_ARGUMENT, "name_expressions are for CUDA C, and code is PTX");
            return -1;
        }
        text->source = Py_NewRef(Py_None);
        const size_t mark = find_mark(start, (size_t)length); /* the driver refuses it */
        text->ptx = mark == 0 ? Py_NewRef(code) : PyBytes_FromStringAndSize(start + mark, length - (Py_ssize_t)mark);
        text->names = PyDict_New();
        return text->ptx == NULL || text->names == NULL ? -1 : 0;
    }
    text->source = PyUnicode_Check(code) ? Py_NewRef(code) : PyUnicode_DecodeUTF8(start, length, NULL);
    return text->source == NULL ? refuse_text(state) : compile_source(input, text);
}

void smk_raw_code_free(smk_raw_text *text)
{
    Py_CLEAR(text->ptx);
    Py_CLEAR(text->source);
    Py_CLEAR(text->origin);
    Py_CLEAR(text->names);
}
