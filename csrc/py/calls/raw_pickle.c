#include "py/calls/raw_pickle.h"

#include "py/calls/raw_kernel.h"
#include "py/calls/raw_module.h"

#include "registry/registry.h"

const char smk_raw_pickle_doc[] = "__reduce__($self, /)\n--\n\n"
                                  "For pickle and copy: the copy has the same PTX, and variables of its own.";

/* (smemkit._core.<function>, arguments). Takes over the reference to `arguments`, which may be NULL with an exception
 * set. */
static PyObject *reduce_to(const char *function, PyObject *arguments)
{
    PyObject *core = arguments == NULL ? NULL : PyImport_ImportModule("smemkit._core");
    PyObject *callable = core == NULL ? NULL : PyObject_GetAttrString(core, function);
    PyObject *result = callable == NULL ? NULL : PyTuple_Pack(2, callable, arguments);
    Py_XDECREF(core);
    Py_XDECREF(callable);
    Py_XDECREF(arguments);
    return result;
}

PyObject *smk_raw_pickle_module(PyObject *self, PyObject *ignored)
{
    const smk_raw_module *module = (smk_raw_module *)(void *)self;
    const smk_kernel_binary *binary = module->binary;
    (void)ignored;
    if (module->variant != NULL) {
        return reduce_to("_restore_package_module",
                         Py_BuildValue("(ss)", module->variant->family, module->variant->name));
    }
    /* y#: bytes, because the text of a PTX need not be UTF-8; z: None where there is none */
    return reduce_to("_restore_module", Py_BuildValue("(y#zOOOzO)", binary->ptx, (Py_ssize_t)binary->ptx_length,
                                                      binary->origin, module->source, module->names, module->options,
                                                      module->backend == NULL ? NULL : module->backend->name,
                                                      module->cooperative ? Py_True : Py_False));
}

PyObject *smk_raw_pickle_kernel(PyObject *self, PyObject *ignored)
{
    smk_raw_kernel *kernel = (smk_raw_kernel *)(void *)self;
    (void)ignored;
    return reduce_to("_restore_kernel", Py_BuildValue("(OOi)", kernel->module, kernel->name, (int)kernel->carveout));
}
