#include "py/calls/raw_global.h"

#include "py/arrays/array.h"
#include "py/arrays/transfer.h"
#include "py/backends/device.h"
#include "py/error.h"
#include "py/keywords.h"

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

/* A text that lists the variables of a module, a new reference. */
static PyObject *list_variables(const smk_raw_module *module)
{
    const smk_module *parsed = smk_raw_module_parsed(module);
    PyObject *list = PyUnicode_FromString("");
    for (uint32_t i = 0; list != NULL && parsed != NULL && i < parsed->variable_count; i++) {
        const smk_variable *variable = &parsed->variables[i];
        if (variable->space == SMK_SPACE_GLOBAL || variable->space == SMK_SPACE_CONST) {
            PyObject *next = PyUnicode_FromStringAndSize(variable->name.start, (Py_ssize_t)variable->name.length);
            const char *between = PyUnicode_GET_LENGTH(list) > 0 ? ", " : "";
            PyObject *longer = next == NULL ? NULL : PyUnicode_FromFormat("%U%s%U", list, between, next);
            Py_XDECREF(next);
            Py_SETREF(list, longer);
        }
    }
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

PyObject *smk_raw_global_get(const smk_state *state, smk_raw_module *module, PyObject *name, PyObject *dtype,
                             PyObject *backend_keyword, PyObject *device_keyword)
{
    const smk_backend *backend = NULL;
    PyArray_Descr *descr = NULL;
    smk_array *array = NULL;
    smk_error error = {0};
    smk_status status = SMK_OK;
    uint64_t address = 0, bytes = 0;
    int device = SMK_DEVICE_PRESENT;
    const char *text = smk_keywords_text(state, "get_global", "name", name);
    if (text == NULL || choose_device(state, module, backend_keyword, device_keyword, &backend, &device) < 0) {
        return NULL;
    }
    descr = dtype == NULL ? PyArray_DescrFromType(NPY_UINT8) : smk_transfer_type(state, "get_global: dtype", dtype);
    if (descr == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = find(module, backend, text, &device, &address, &bytes, &error);
    Py_END_ALLOW_THREADS
    const uint64_t item_bytes = (uint64_t)PyDataType_ELSIZE(descr);
    if (status == SMK_ARGUMENT) {
        (void)refuse_name(state, module, text);
    } else if (status != SMK_OK) {
        smk_error_raise(state, &error);
    } else if (bytes % item_bytes != 0) {
        smk_error_fail(state, SMK_ARGUMENT, "get_global: %.100s has %llu bytes, which are no whole elements of %S",
                       text, (unsigned long long)bytes, (PyObject *)descr);
    } else {
        const npy_intp length = (npy_intp)(bytes / item_bytes);
        const smk_array_layout layout = {descr, 1, &length, NULL};
        array = smk_array_wrap(state, backend, device, (PyObject *)module, address, &layout);
    }
    Py_DECREF(descr);
    return (PyObject *)array;
}
