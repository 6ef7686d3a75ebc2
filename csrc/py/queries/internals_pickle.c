#include "py/queries/internals_pickle.h"

#include "py/calls/raw_kernel.h"
#include "py/calls/raw_module.h"
#include "py/keywords.h"
#include "py/queries/catalog.h"

/* _restore_module(ptx, origin, source, names, options, backend, cooperative=False) -> RawModule, without a compiler */
static const char restore_module_doc[] =
    "_restore_module(ptx, origin, source, names, options, backend, cooperative=False, /)\n--\n\n";

static PyObject *call_restore_module(PyObject *module, PyObject *arguments)
{
    smk_raw_text text = {0};
    PyObject *options = NULL, *backend = NULL;
    int cooperative = 0;
    if (!PyArg_ParseTuple(arguments, "O!OOO!O!O|p:_restore_module", &PyBytes_Type, &text.ptx, &text.origin, &text.source,
                          &PyDict_Type, &text.names, &PyTuple_Type, &options, &backend, &cooperative)) {
        return NULL;
    }
    text.origin = smk_keywords_optional(text.origin);
    if ((text.origin != NULL && !PyUnicode_Check(text.origin)) ||
        (text.source != Py_None && !PyUnicode_Check(text.source))) {
        PyErr_SetString(PyExc_TypeError, "_restore_module() takes origin and source as str or None");
        return NULL;
    }
    return (PyObject *)smk_raw_module_restore(smk_state_of_module(module), &text, options,
                                              smk_keywords_optional(backend), cooperative != 0);
}

/* _restore_package_module(family, variant) -> RawModule, of which kernels are made */
static const char restore_package_module_doc[] = "_restore_package_module(family, variant, /)\n--\n\n";

static PyObject *call_restore_package_module(PyObject *module, PyObject *arguments)
{
    const smk_state *state = smk_state_of_module(module);
    const char *family = NULL, *variant = NULL;
    if (!PyArg_ParseTuple(arguments, "ss:_restore_package_module", &family, &variant)) {
        return NULL;
    }
    const smk_variant *row = smk_catalog_find(state, family, variant);
    return row == NULL ? NULL : (PyObject *)smk_raw_module_of_variant(state, row);
}

/* _restore_kernel(module, name, carveout) -> RawKernel */
static const char restore_kernel_doc[] = "_restore_kernel(module, name, carveout, /)\n--\n\n";

static PyObject *call_restore_kernel(PyObject *module, PyObject *arguments)
{
    const smk_state *state = smk_state_of_module(module);
    PyObject *code = NULL, *name = NULL, *carveout = NULL;
    if (!PyArg_ParseTuple(arguments, "O!OO:_restore_kernel", state->raw_module_type, &code, &name, &carveout)) {
        return NULL;
    }
    PyObject *kernel = smk_raw_kernel_create(state, (smk_raw_module *)(void *)code, name);
    if (kernel != NULL && PyObject_SetAttrString(kernel, "preferred_shared_memory_carveout", carveout) < 0) {
        Py_CLEAR(kernel);
    }
    return kernel;
}

PyMethodDef smk_internals_pickle_methods[] = {
    {"_restore_module", call_restore_module, METH_VARARGS, restore_module_doc},
    {"_restore_package_module", call_restore_package_module, METH_VARARGS, restore_package_module_doc},
    {"_restore_kernel", call_restore_kernel, METH_VARARGS, restore_kernel_doc},
    {NULL, NULL, 0, NULL},
};
