#include "py/calls/declaration.h"

#include "py/error.h"

/* Items of the Python classes Parameter and Element, which are named tuples. */
enum { PARAMETER_NAME, PARAMETER_TEXT, PARAMETER_IS_POINTER, PARAMETER_ELEMENT, PARAMETER_ITEMS };
enum { ELEMENT_KIND, ELEMENT_BYTES, ELEMENT_LANES, ELEMENT_NAME, ELEMENT_ITEMS };

typedef struct element {
    char kind; /* as numpy.dtype.kind; '\0' where any array will do */
    size_t bytes, lanes;
} element;

/* The Parameter at that index, borrowed; NULL where it is not known. */
static PyObject *get_parameter(PyObject *declaration, size_t index)
{
    if (declaration == NULL || declaration == Py_None || (Py_ssize_t)index >= PyTuple_GET_SIZE(declaration)) {
        return NULL;
    }
    return PyTuple_GET_ITEM(declaration, (Py_ssize_t)index);
}

/* Reads the element of a Parameter; false where it is not known. */
static bool read_element(PyObject *parameter, element *result)
{
    PyObject *tuple = PyTuple_GET_ITEM(parameter, PARAMETER_ELEMENT);
    if (tuple == Py_None) {
        return false;
    }
    PyObject *kind = PyTuple_GET_ITEM(tuple, ELEMENT_KIND);
    result->kind = PyUnicode_GET_LENGTH(kind) == 0 ? '\0' : (char)PyUnicode_READ_CHAR(kind, 0);
    result->bytes = PyLong_AsSize_t(PyTuple_GET_ITEM(tuple, ELEMENT_BYTES));
    result->lanes = PyLong_AsSize_t(PyTuple_GET_ITEM(tuple, ELEMENT_LANES));
    return true;
}

static bool is_pointer(PyObject *parameter)
{
    return PyTuple_GET_ITEM(parameter, PARAMETER_IS_POINTER) == Py_True;
}

/* True where a Parameter may be what the PTX declares: pointers are integers of 64 bits, and values have their size. */
static bool agrees(PyObject *parameter, const smk_variable *variable)
{
    const smk_type type = (smk_type)variable->type;
    element one = {0};
    if (is_pointer(parameter)) {
        return variable->bytes == 8 && smk_module_type_bits(type) == 64 && smk_module_type_kind(type) != SMK_KIND_FLOAT;
    }
    return !read_element(parameter, &one) || one.bytes * one.lanes == variable->bytes;
}

/* True for a tuple of Parameter that agrees with the PTX. */
static bool is_sound(PyObject *answer, const smk_function *function)
{
    if (!PyTuple_Check(answer) || (size_t)PyTuple_GET_SIZE(answer) != function->parameter_count) {
        return false;
    }
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        PyObject *parameter = PyTuple_GET_ITEM(answer, (Py_ssize_t)i);
        if (!PyTuple_Check(parameter) || PyTuple_GET_SIZE(parameter) != PARAMETER_ITEMS ||
            !agrees(parameter, &function->variables[function->result_count + i])) {
            return false;
        }
    }
    return true;
}

PyObject *smk_declaration_read(PyObject *source, PyObject *entry, PyObject *options, const smk_function *function)
{
    PyObject *answer = NULL;
    PyObject *reader = PyImport_ImportModule("smemkit._declarations");
    if (reader == NULL) {
        return NULL;
    }
    if (options == Py_None) {
        answer = PyObject_CallMethod(reader, "read_package_kernel", "OO", source, entry);
    } else {
        answer = PyObject_CallMethod(reader, "read_kernel", "OOO", source, entry, options);
    }
    Py_DECREF(reader);
    if (answer != NULL) {
        Py_SETREF(answer, smk_declaration_confirm(answer, function));
    }
    return answer;
}

PyObject *smk_declaration_confirm(PyObject *parameters, const smk_function *function)
{
    return Py_NewRef(is_sound(parameters, function) ? parameters : Py_None);
}

/* A str of a Parameter as UTF-8. */
static const char *get_text(PyObject *declaration, size_t index, Py_ssize_t item)
{
    PyObject *parameter = get_parameter(declaration, index);
    const char *text = parameter == NULL ? "" : PyUnicode_AsUTF8(PyTuple_GET_ITEM(parameter, item));
    if (text == NULL) { /* no memory for it */
        PyErr_Clear();
        return "";
    }
    return text;
}

const char *smk_declaration_name(PyObject *declaration, size_t index)
{
    return get_text(declaration, index, PARAMETER_NAME);
}

const char *smk_declaration_type(PyObject *declaration, size_t index)
{
    return get_text(declaration, index, PARAMETER_TEXT);
}

/* True for arrays that need no second look. Python's explain_refusal decides the others, and takes these too. */
static bool is_plain_match(const element *wanted, char kind, size_t bytes)
{
    const bool is_integer = wanted->kind == 'i' || wanted->kind == 'u';
    return wanted->kind == '\0' || (wanted->lanes == 1 && bytes == wanted->bytes &&
                                    (kind == wanted->kind || (is_integer && (kind == 'i' || kind == 'u'))));
}

bool smk_declaration_takes(PyObject *declaration, size_t index, char kind, size_t bytes)
{
    PyObject *parameter = get_parameter(declaration, index);
    element wanted = {0};
    return parameter == NULL || !is_pointer(parameter) || !read_element(parameter, &wanted) ||
           is_plain_match(&wanted, kind, bytes);
}

int smk_declaration_check_array(const smk_state *state, const char *kernel, PyObject *declaration, size_t index,
                                PyArray_Descr *descr, size_t bytes, bool is_device)
{
    PyObject *parameter = get_parameter(declaration, index);
    if (smk_declaration_takes(declaration, index, descr->kind, (size_t)PyDataType_ELSIZE(descr))) {
        return 0;
    }
    PyObject *reader = PyImport_ImportModule("smemkit._declarations"), *reason = NULL;
    if (reader != NULL) {
        reason = PyObject_CallMethod(reader, "explain_refusal", "OOnO", parameter, (PyObject *)descr, (Py_ssize_t)bytes,
                                     is_device ? Py_True : Py_False);
    }
    if (reason != NULL && reason != Py_None) {
        smk_error_fail(state, SMK_TYPE, "%s: args[%zu]: %S", kernel, index, reason);
    }
    const int status = reason == Py_None ? 0 : -1;
    Py_XDECREF(reader);
    Py_XDECREF(reason);
    return status;
}
