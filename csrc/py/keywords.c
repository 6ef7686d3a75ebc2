#include "py/keywords.h"

#include "py/error.h"

#include <string.h>

static Py_ssize_t find_name(const smk_keywords *accepted, PyObject *keyword)
{
    for (Py_ssize_t i = 0; i < accepted->count; i++) {
        if (PyUnicode_CompareWithASCIIString(keyword, accepted->names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

int smk_keywords_bind(const smk_keywords *accepted, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords,
                      PyObject **values)
{
    for (Py_ssize_t i = 0; i < accepted->count; i++) {
        values[i] = NULL;
    }
    if (given > accepted->positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes %s%zd positional argument%s but %zd %s given", accepted->function,
                     accepted->required < accepted->positional ? "at most " : "", accepted->positional,
                     accepted->positional == 1 ? "" : "s", given, given == 1 ? "was" : "were");
        return -1;
    }
    for (Py_ssize_t i = 0; i < given; i++) {
        values[i] = arguments[i];
    }
    Py_ssize_t named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *keyword = PyTuple_GET_ITEM(keywords, i);
        Py_ssize_t index = find_name(accepted, keyword);
        if (index < 0) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", accepted->function, keyword);
            return -1;
        }
        if (values[index] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", accepted->function, keyword);
            return -1;
        }
        values[index] = arguments[given + i];
    }
    for (Py_ssize_t i = 0; i < accepted->required; i++) {
        if (values[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s' (pos %zd)", accepted->function,
                         accepted->names[i], i + 1);
            return -1;
        }
    }
    return 0;
}

PyObject *smk_keywords_optional(PyObject *value)
{
    return value == Py_None ? NULL : value;
}

PyObject *smk_keywords_index(PyObject *value)
{
    PyObject *integer = PyBool_Check(value) || !PyIndex_Check(value) ? NULL : PyNumber_Index(value);
    if (integer == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
    }
    return integer;
}

const char *smk_keywords_text(const smk_state *state, const char *function, const char *name, PyObject *value)
{
    if (!PyUnicode_Check(value)) {
        smk_error_fail(state, SMK_TYPE, "%s: %s must be a str, not %.100s", function, name, Py_TYPE(value)->tp_name);
        return NULL;
    }
    Py_ssize_t length = 0;
    const char *text = PyUnicode_AsUTF8AndSize(value, &length);
    if (text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeError)) {
        PyErr_Clear();
        smk_error_fail(state, SMK_ARGUMENT, "%s: %s is %A, which is not a text", function, name, value);
        return NULL;
    }
    if (text != NULL && strlen(text) != (size_t)length) {
        smk_error_fail(state, SMK_ARGUMENT, "%s: %s contains a NUL", function, name);
        return NULL;
    }
    return text;
}
