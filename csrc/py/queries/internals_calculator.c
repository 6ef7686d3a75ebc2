#include "py/queries/internals_calculator.h"

#include "py/calls/raw_kernel.h"
#include "py/error.h"
#include "py/state.h"

#include "gpu/gpu.h"

/* Loads the kernel on the present device, in a library of its own. */
static smk_status load_kernel(const smk_raw_kernel *raw, smk_library **library, void **kernel, smk_error *error)
{
    int devices = 0;
    const void *image = raw->module->binary->fatbin == NULL ? raw->module->binary->ptx : raw->module->binary->fatbin;
    smk_status status = smk_context_count(&devices, error);
    if (status == SMK_OK) {
        status = smk_library_load(image, raw->module->binary->origin, library, error);
    }
    return status == SMK_OK ? smk_library_kernel(*library, raw->text, kernel, error) : status;
}

/* A list of the resident blocks for each number of threads; for (), the (grid, block) that the runtime suggests. */
static PyObject *ask_calculator(const smk_state *state, void *kernel, PyObject *threads, size_t shared_bytes)
{
    smk_error error = {0};
    int grid = 0, block = 0;
    const Py_ssize_t count = PyTuple_GET_SIZE(threads);
    if (count == 0) {
        return smk_device_occupancy_suggest(kernel, shared_bytes, &grid, &block, &error) == SMK_OK
                   ? Py_BuildValue("(ii)", grid, block)
                   : smk_error_raise(state, &error);
    }
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        long size = PyLong_AsLong(PyTuple_GET_ITEM(threads, i));
        PyObject *blocks = NULL;
        if (!PyErr_Occurred()) {
            blocks = smk_device_occupancy_blocks(kernel, (int)size, shared_bytes, &block, &error) == SMK_OK
                         ? PyLong_FromLong(block)
                         : smk_error_raise(state, &error);
        }
        if (blocks == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, i, blocks);
        }
    }
    return list;
}

/* _calculator(kernel, threads, shared_bytes): a list of the resident blocks for each size of the tuple `threads`; for
 * (), the (grid, block) that the runtime suggests. */
static const char calculator_doc[] = "_calculator(kernel, threads, shared_bytes, /)\n--\n\n";

static PyObject *call_calculator(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    const smk_state *state = smk_state_of_module(module);
    const smk_raw_kernel *raw = given == 3 ? smk_raw_kernel_cast(state, arguments[0]) : NULL;
    smk_error error = {0};
    smk_library *library = NULL;
    void *kernel = NULL;
    PyObject *result = NULL;
    if (raw == NULL || !PyTuple_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "_calculator takes a RawKernel, a tuple of threads, and shared_bytes");
        return NULL;
    }
    unsigned long long shared_bytes = PyLong_AsUnsignedLongLong(arguments[2]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (load_kernel(raw, &library, &kernel, &error) == SMK_OK) {
        result = ask_calculator(state, kernel, arguments[1], (size_t)shared_bytes);
    } else {
        smk_error_raise(state, &error);
    }
    smk_library_free(library);
    return result;
}

PyMethodDef smk_internals_calculator_methods[] = {
    {"_calculator", SMK_PY_FUNCTION(call_calculator), METH_FASTCALL, calculator_doc},
    {NULL, NULL, 0, NULL},
};
