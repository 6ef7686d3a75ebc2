#include "py/calls/raw_global.h"

#include "py/arrays/array.h"
#include "py/arrays/transfer.h"
#include "py/backends/device.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/mangled.h"

/* The machine and the device of the call: as asked for, else the module's machine, else as for every call. */
static int choose_device(const smk_state *state, const smk_raw_module *module, PyObject *keyword, PyObject *object,
                         const smk_backend **backend, int *device)
{
    const smk_backend *named = NULL;
    if (smk_device_read(state, "get_global", object, &named, device) < 0) {
        return -1;
    }
    if (keyword == NULL && named == NULL && module->backend != NULL) {
        *backend = module->backend;
        return smk_device_check(state, "get_global", *backend, *device);
    }
    return smk_device_choose(state, "get_global", object, keyword, backend, device);
}

/* Loads the module and finds the variable; *device, where it is SMK_DEVICE_PRESENT, becomes the present one. Needs no
 * GIL. */
static smk_status find(const smk_raw_module *module, const smk_backend *backend, const char *name, int *device,
                       uint64_t *address, uint64_t *bytes, smk_error *error)
{
    smk_backend_code *code = NULL;
    int before = 0;
    smk_status status = *device == SMK_DEVICE_PRESENT ? smk_backend_device(backend, device, error) : SMK_OK;
    if (status == SMK_OK) {
        status = smk_backend_enter(backend, *device, &before, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    status = smk_kernel_binary_code(module->binary, backend, NULL, &code, error);
    if (status == SMK_OK) {
        status = backend->symbol(code, name, address, bytes, error);
    }
    smk_backend_leave(backend, *device, before);
    return status;
}

/* Names of all variables of a module, a new list. */
static PyObject *name_variables(const smk_module *parsed)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < parsed->variable_count; i++) {
        const smk_variable *variable = &parsed->variables[i];
        if (variable->space != SMK_SPACE_GLOBAL && variable->space != SMK_SPACE_CONST) {
            continue;
        }
        PyObject *name = PyUnicode_FromStringAndSize(variable->name.start, (Py_ssize_t)variable->name.length);
        if (name == NULL || PyList_Append(list, name) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(name);
    }
    return list;
}

/* A text that lists the variables of a module as the CUDA C has them, a new reference. */
static PyObject *list_variables(const smk_raw_module *module)
{
    const smk_module *parsed = smk_raw_module_parsed(module);
    PyObject *names = parsed == NULL ? PyList_New(0) : name_variables(parsed);
    PyObject *comma = PyUnicode_FromString(", "), *list = NULL;
    for (Py_ssize_t i = 0; names != NULL && i < PyList_GET_SIZE(names); i++) {
        const char *mangled = PyUnicode_AsUTF8(PyList_GET_ITEM(names, i));
        PyObject *name = mangled == NULL ? NULL : smk_mangled_read(mangled);
        if (name == NULL || PyList_SetItem(names, i, name) < 0) {
            Py_CLEAR(names);
        }
    }
    list = names == NULL || comma == NULL ? NULL : PyUnicode_Join(comma, names);
    Py_XDECREF(names);
    Py_XDECREF(comma);
    return list;
}

static PyObject *refuse_name(const smk_state *state, const smk_raw_module *module, const char *name)
{
    PyObject *list = list_variables(module);
    if (list != NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "get_global: the module has no variable %.100s; %s%U", name,
                       PyUnicode_GET_LENGTH(list) > 0 ? "it has " : "it has none that a host reaches", list);
        Py_DECREF(list);
    }
    return NULL;
}

/* The variable of the PTX that a name of the CUDA C means: a new str, the name itself where none is found; NULL with an
 * exception set. */
static PyObject *find_name(const smk_raw_module *module, PyObject *name)
{
    const smk_module *parsed = smk_raw_module_parsed(module);
    PyObject *known = parsed == NULL ? PyList_New(0) : name_variables(parsed), *result = NULL;
    PyObject *finder = known == NULL ? NULL : PyImport_ImportModule("smemkit._variables");
    if (finder != NULL && PySequence_Contains(known, name) == 1) {
        result = Py_NewRef(name);
    } else if (finder != NULL) {
        result = PyObject_CallMethod(finder, "find_variable", "OOO", name, known, module->names);
    }
    if (result == Py_None) {
        Py_SETREF(result, Py_NewRef(name));
    } else if (result != NULL && !PyUnicode_Check(result)) {
        PyErr_SetString(PyExc_SystemError, "smemkit._variables.find_variable did not return a str");
        Py_CLEAR(result);
    }
    Py_XDECREF(known);
    Py_XDECREF(finder);
    return result;
}

/* What the CUDA C declares, (dtype, shape), or None where that is not known; a new reference. */
static PyObject *read_declaration(const smk_raw_module *module, PyObject *name, uint64_t bytes)
{
    if (module->source == Py_None || module->options == Py_None) {
        return Py_NewRef(Py_None);
    }
    PyObject *reader = PyImport_ImportModule("smemkit._variables"), *result = NULL;
    if (reader != NULL) {
        result = PyObject_CallMethod(reader, "describe_variable", "OOOK", module->source, module->options, name,
                                     (unsigned long long)bytes);
    }
    if (result != NULL && result != Py_None && (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != 2)) {
        PyErr_SetString(PyExc_SystemError, "smemkit._variables.describe_variable did not return dtype and shape");
        Py_CLEAR(result);
    }
    Py_XDECREF(reader);
    return result;
}

/* Type and shape of the array over a variable: those of dtype= and one axis, else those of the declaration, else bytes.
 * Returns 0 with references of the caller's, or -1 with an exception set. */
static int choose_layout(const smk_state *state, const smk_raw_module *module, PyObject *name, PyObject *dtype,
                         uint64_t bytes, PyArray_Descr **descr, PyArray_Dims *shape)
{
    PyObject *declared = dtype != NULL ? Py_NewRef(Py_None) : read_declaration(module, name, bytes);
    int status = -1;
    if (declared == NULL) {
        return -1;
    }
    if (declared != Py_None) {
        *descr = smk_transfer_type(state, "get_global: dtype", PyTuple_GET_ITEM(declared, 0));
        status = *descr == NULL || PyArray_IntpConverter(PyTuple_GET_ITEM(declared, 1), shape) != NPY_SUCCEED ? -1 : 0;
        Py_DECREF(declared);
        return status;
    }
    Py_DECREF(declared);
    *descr = dtype == NULL ? PyArray_DescrFromType(NPY_UINT8) : smk_transfer_type(state, "get_global: dtype", dtype);
    if (*descr == NULL) {
        return -1;
    }
    const uint64_t item_bytes = (uint64_t)PyDataType_ELSIZE(*descr);
    if (bytes % item_bytes != 0) {
        smk_error_fail(state, SMK_ARGUMENT, "get_global: %S has %llu bytes, which are no whole elements of %S", name,
                       (unsigned long long)bytes, (PyObject *)*descr);
        return -1;
    }
    shape->ptr = PyDimMem_NEW(1);
    if (shape->ptr == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    shape->len = 1;
    shape->ptr[0] = (npy_intp)(bytes / item_bytes);
    return 0;
}

PyObject *smk_raw_global_get(const smk_state *state, smk_raw_module *module, PyObject *name, PyObject *dtype,
                             PyObject *backend_keyword, PyObject *device_keyword)
{
    const smk_backend *backend = NULL;
    PyArray_Descr *descr = NULL;
    PyArray_Dims shape = {0};
    smk_array *array = NULL;
    smk_error error = {0};
    smk_status status = SMK_OK;
    uint64_t address = 0, bytes = 0;
    int device = SMK_DEVICE_PRESENT;
    if (smk_keywords_text(state, "get_global", "name", name) == NULL ||
        choose_device(state, module, backend_keyword, device_keyword, &backend, &device) < 0) {
        return NULL;
    }
    PyObject *found = find_name(module, name);
    const char *text = found == NULL ? NULL : PyUnicode_AsUTF8(found);
    if (text == NULL) {
        Py_XDECREF(found);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = find(module, backend, text, &device, &address, &bytes, &error);
    Py_END_ALLOW_THREADS
    if (status == SMK_ARGUMENT) {
        (void)refuse_name(state, module, text);
    } else if (status != SMK_OK) {
        smk_error_raise(state, &error);
    } else if (choose_layout(state, module, found, dtype, bytes, &descr, &shape) == 0) {
        const smk_array_layout layout = {descr, shape.len, shape.ptr, NULL};
        array = smk_array_wrap(state, backend, device, (PyObject *)module, address, &layout);
    }
    PyDimMem_FREE(shape.ptr);
    Py_XDECREF(descr);
    Py_DECREF(found);
    return (PyObject *)array;
}
