#include "py/calls/raw_module_type.h"

#include "py/backends/kernel_binary.h"
#include "py/calls/raw_kernel.h"
#include "py/calls/raw_module.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/state.h"

static PyObject *construct(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"code", "options", "backend", NULL};
    PyObject *code = NULL, *options = NULL, *backend = NULL;
    const smk_state *state = PyType_GetModuleState(type);
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$OO:RawModule", names, &code, &options, &backend)) {
        return NULL;
    }
    return (PyObject *)smk_raw_module_create(state, code, options, backend == Py_None ? NULL : backend);
}

static void deallocate(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    smk_kernel_binary *binary = ((smk_raw_module *)(void *)self)->binary;
    Py_BEGIN_ALLOW_THREADS
    smk_kernel_binary_free(binary);
    Py_END_ALLOW_THREADS
    Py_DECREF(((smk_raw_module *)(void *)self)->source);
    Py_DECREF(((smk_raw_module *)(void *)self)->options);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *get_kernels(PyObject *self, void *closure)
{
    const smk_raw_module *module = (smk_raw_module *)(void *)self;
    (void)closure;
    if (smk_raw_module_parsed(module) == NULL) {
        return smk_error_raise(smk_state_of_instance(self), &module->refusal);
    }
    return smk_raw_module_names(module);
}

static PyObject *get_source(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((smk_raw_module *)(void *)self)->source);
}

static const char get_function_doc[] =
    "get_function($self, /, name)\n--\n\n"
    "The kernel of that name.\n\n"
    "Returns\n-------\n"
    "RawKernel\n\n"
    "Raises\n------\n"
    "ArgumentError (ValueError) where there is none; it lists the kernels that there are.\n";

static PyObject *get_function(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"name"};
    static const smk_keywords accepted = {"get_function", names, 1, 1, 1};
    PyObject *values[1];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    return smk_raw_kernel_create(smk_state_of_instance(self), (smk_raw_module *)(void *)self, values[0]);
}

static PyObject *represent(PyObject *self)
{
    PyObject *names = smk_raw_module_names((smk_raw_module *)(void *)self), *result = NULL;
    if (names != NULL) {
        result = PyUnicode_FromFormat("RawModule(kernels=%R)", names);
        Py_DECREF(names);
    }
    return result;
}

static PyMethodDef methods[] = {
    {"get_function", SMK_PY_FUNCTION(get_function), SMK_PY_FAST, get_function_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"kernels", get_kernels, NULL, "Names of the kernels (PTX entries), a tuple of str.", NULL},
    {"source", get_source, NULL, "The CUDA C that it was made from, a str; None for PTX.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const char documentation[] =
    "RawModule(code, *, options=(), backend=None)\n--\n\n"
    "Kernels of one's own, from PTX text or CUDA C.\n\n"
    "Parameters\n----------\n"
    "code : str or bytes\n"
    "    PTX where it begins (behind comments) with .version or .target; anything else is CUDA C and is compiled\n"
    "    by NVRTC or nvcc, whichever is found. pip install \"smemkit[nvrtc]\" brings NVRTC and CUDA's headers;\n"
    "    <cstdint>, <cfloat>, <cstdio>, <algorithm> and the like then need no host compiler, and INFINITY, M_PI,\n"
    "    INT_MAX and the like no header. The PTX is cached on disk: see SMEMKIT_CACHE in help(smemkit).\n"
    "    Declare kernels extern \"C\" to find them by their name.\n"
    "options : sequence of str\n"
    "    For the compiler of CUDA C, as in (\"-DTILE=16\", \"-arch=compute_80\").\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine of its kernels unless a call names another; the code is then loaded there at once. The simulator\n"
    "    makes each kernel ready when get_function first names it.\n\n"
    "Shapes\n------\nNone; arrays come with the calls of its kernels.\n\n"
    "Returns\n-------\nRawModule, with the attribute kernels and the method get_function.\n\n"
    "Raises\n------\n"
    "PtxError (ValueError), PtxTypeError, UnsupportedError (NotImplementedError) with line and column;\n"
    "CompileError with the compiler's log, or with what to install where there is no compiler; BackendError.\n"
    "On a GPU the text that the simulator refuses is left to the driver to judge.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> module = smemkit.RawModule(\"\"\"\n"
    "... .version 7.0\n"
    "... .target sm_75\n"
    "... .address_size 64\n"
    "... .visible .entry nothing() { ret; }\n"
    "... \"\"\")\n"
    ">>> module.kernels\n"
    "('nothing',)\n";

static PyType_Slot slots[] = {
    {Py_tp_new, SMK_PY_SLOT(construct)},
    {Py_tp_dealloc, SMK_PY_SLOT(deallocate)},
    {Py_tp_repr, SMK_PY_SLOT(represent)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, SMK_PY_TEXT(documentation)},
    {0, NULL},
};

PyType_Spec smk_raw_module_type_spec = {
    .name = "smemkit.RawModule",
    .basicsize = sizeof(smk_raw_module),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
