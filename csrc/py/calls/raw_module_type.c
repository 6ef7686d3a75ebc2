#include "py/calls/raw_module_type.h"

#include "py/backends/kernel_binary.h"
#include "py/calls/raw_global.h"
#include "py/calls/raw_kernel.h"
#include "py/calls/raw_module.h"
#include "py/calls/raw_pickle.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/state.h"

/* Reads the file at `path`: its code, and the options with the file's folder. Returns 0, or -1 with an exception set. */
static int read_path(const smk_state *state, PyObject *path, smk_raw_input *input)
{
    PyObject *reader = NULL, *answer = NULL, *none = NULL;
    int status = -1;
    if (input->code != NULL) {
        smk_error_fail(state, SMK_TYPE, "RawModule takes code or path, not both");
        return -1;
    }
    reader = PyImport_ImportModule("smemkit._kernel_code");
    none = PyTuple_New(0);
    if (reader != NULL && none != NULL) {
        answer = PyObject_CallMethod(reader, "read_path", "OO", path, input->options == NULL ? none : input->options);
    }
    if (answer != NULL && (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 2)) {
        PyErr_SetString(PyExc_SystemError, "smemkit._kernel_code.read_path did not return code and options");
    } else if (answer != NULL) {
        input->code = Py_NewRef(PyTuple_GET_ITEM(answer, 0));
        input->options = Py_NewRef(PyTuple_GET_ITEM(answer, 1));
        status = 0;
    }
    Py_XDECREF(reader);
    Py_XDECREF(none);
    Py_XDECREF(answer);
    return status;
}

static PyObject *construct(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"code", "path", "options", "name_expressions", "backend", "enable_cooperative_groups",
                            NULL};
    PyObject *path = NULL, *backend = NULL, *result = NULL;
    int cooperative = 0;
    smk_raw_input input = {0};
    const smk_state *state = PyType_GetModuleState(type);
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$OOOOp:RawModule", names, &input.code, &path,
                                     &input.options, &input.expressions, &backend, &cooperative)) {
        return NULL;
    }
    input.cooperative = cooperative != 0;
    input.code = smk_keywords_optional(input.code);
    path = smk_keywords_optional(path);
    input.expressions = smk_keywords_optional(input.expressions);
    if (path == NULL && input.code == NULL) {
        return smk_error_fail(state, SMK_TYPE, "RawModule takes code, or path= of a file");
    }
    if (path != NULL && read_path(state, path, &input) < 0) {
        return NULL;
    }
    result = (PyObject *)smk_raw_module_create(state, &input, smk_keywords_optional(backend));
    if (path != NULL) {
        Py_DECREF(input.code);
        Py_DECREF(input.options);
    }
    return result;
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
    Py_DECREF(((smk_raw_module *)(void *)self)->names);
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

static PyObject *get_cooperative(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((smk_raw_module *)(void *)self)->cooperative);
}

static PyObject *get_ptx(PyObject *self, void *closure)
{
    (void)closure;
    return smk_raw_module_ptx((smk_raw_module *)(void *)self);
}

static const char get_function_doc[] =
    "get_function($self, /, name)\n--\n\n"
    "The kernel of that name: as the CUDA C has it, with the arguments of a template, or as the PTX has it.\n"
    "\n"
    "Parameters\n"
    "----------\n"
    "name : str\n"
    "    scale, two::scale, scale<float, 4>, or _Z5scaleIfLi4EEvPT_. What only one kernel can be is enough.\n"
    "\n"
    "Returns\n"
    "-------\n"
    "RawKernel\n"
    "\n"
    "Raises\n"
    "------\n"
    "ArgumentError (ValueError) where there is none, or more than one; it lists the kernels that there are.\n"
    "\n"
    "Example\n"
    "-------\n"
    ">>> import smemkit\n"
    ">>> module = smemkit.RawModule(r'''\n"
    "... template <typename T> __global__ void fill(T *x, T value) { x[threadIdx.x] = value; }\n"
    "... ''', name_expressions=(\"fill<int>\", \"fill<float>\"))\n"
    ">>> module.get_function(\"fill<float>\").name\n"
    "'_Z4fillIfEvPT_S0_'\n";

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

static const char get_global_doc[] =
    "get_global($self, /, name, dtype=None, backend=None, *, device=None)\n--\n\n"
    "A variable of the module, __device__, __constant__ or __managed__, as an array over its memory.\n\n"
    "Parameters\n----------\n"
    "name : str\n"
    "    As the CUDA C has it, with namespaces and the arguments of a template (which name_expressions can\n"
    "    instantiate: \"&table<3>\"), or as the PTX has it.\n"
    "dtype : dtype-like, optional\n"
    "    Type of the elements; by default that of the declaration in CUDA C. Where none is found, or it is a\n"
    "    structure, uint8: PTX tells bytes alone.\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine, on which the module is loaded; each has a variable of its own.\n"
    "device : int, str or Device, optional\n"
    "    Of the machine; by default its present one. Each has a variable of its own.\n\n"
    "Shapes\n------\n"
    "That of the declaration, with an axis more for the lanes of float4 and its like. With dtype= one axis: the bytes\n"
    "of the variable over those of an element.\n\n"
    "Returns\n-------\nDeviceArray, which keeps the module; d[:] = values writes to the variable.\n"
    "numpy.asarray(d) shows a __managed__ variable without a copy, as memory of smemkit.managed_empty.\n\n"
    "Raises\n------\n"
    "ArgumentError (ValueError) where there is no such variable, which lists those that there are, or where its\n"
    "bytes are not whole elements; ArgumentTypeError (TypeError), BackendError.\n\n"
    "Example\n-------\n"
    ">>> import numpy, smemkit\n"
    ">>> module = smemkit.RawModule(r'''\n"
    "... __constant__ float weights[4];\n"
    "... extern \"C\" __global__ void scale(float *x) { x[threadIdx.x] *= weights[threadIdx.x]; }\n"
    "... ''')\n"
    ">>> module.get_global(\"weights\", backend=\"sim\")[:] = [1, 2, 3, 4]\n"
    ">>> x = numpy.ones(4, dtype=\"float32\")\n"
    ">>> module.get_function(\"scale\")((1,), (4,), (x,), backend=\"sim\")\n"
    ">>> x\n"
    "array([1., 2., 3., 4.], dtype=float32)\n";

static PyObject *get_global(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"name", "dtype", "backend", "device"};
    static const smk_keywords accepted = {"get_global", names, 4, 3, 1};
    PyObject *values[4];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    return smk_raw_global_get(smk_state_of_instance(self), (smk_raw_module *)(void *)self, values[0],
                              smk_keywords_optional(values[1]), smk_keywords_optional(values[2]),
                              smk_keywords_optional(values[3]));
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
    {"get_global", SMK_PY_FUNCTION(get_global), SMK_PY_FAST, get_global_doc},
    {"__reduce__", smk_raw_pickle_module, METH_NOARGS, smk_raw_pickle_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"kernels", get_kernels, NULL, "Names of the kernels (PTX entries), a tuple of str.", NULL},
    {"enable_cooperative_groups", get_cooperative, NULL, "Are all blocks of a launch there at once? A bool.", NULL},
    {"ptx", get_ptx, NULL, "The PTX, a str: that given, or what the compiler has made.", NULL},
    {"source", get_source, NULL, "The CUDA C that it was made from, a str; None for PTX.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const char documentation[] =
    "RawModule(code=None, *, path=None, options=(), name_expressions=None, backend=None,\n"
    "enable_cooperative_groups=False)\n--\n\n"
    "Kernels of one's own, from CUDA C or PTX text.\n"
    "\n"
    "Parameters\n"
    "----------\n"
    "code : str or bytes\n"
    "    PTX where it begins (behind comments) with .version or .target; anything else is CUDA C and is compiled\n"
    "    by NVRTC or nvcc, whichever is found. pip install \"smemkit[nvrtc]\" brings NVRTC and CUDA's headers;\n"
    "    <cstdint>, <cfloat>, <cstdio>, <algorithm> and the like then need no host compiler, and INFINITY, M_PI,\n"
    "    INT_MAX and the like no header. The PTX is cached on disk: see SMEMKIT_CACHE in help(smemkit).\n"
    "path : str or path-like, optional\n"
    "    A file to read instead of code. Reports name it, and the headers beside it are found.\n"
    "options : sequence of str\n"
    "    For the compiler of CUDA C, as in (\"-DTILE=16\", \"-arch=compute_80\").\n"
    "name_expressions : sequence of str, optional\n"
    "    Kernels to instantiate from templates of the CUDA C: (\"scale<float>\", \"scale<double>\"). get_function "
    "finds\n"
    "    them by these names.\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine of its kernels unless a call names another; the code is then loaded there at once. The simulator\n"
    "    makes each kernel ready when get_function first names it.\n"
    "enable_cooperative_groups : bool\n"
    "    Each launch of its kernels is a cooperative one: all blocks are on the machine at once, so that they may "
    "wait\n"
    "    for each other, by grid.sync(). A grid that has no room there is a LaunchError.\n\n"
    "Shapes\n------\nNone; arrays come with the calls of its kernels.\n\n"
    "Returns\n-------\nRawModule, with the attributes kernels, ptx and source and the methods get_function and "
    "get_global.\n\n"
    "A pickle or a copy of a module, or of a kernel, holds the PTX: it needs no compiler where it is read. Its "
    "__device__\n"
    "variables are its own, with their initial values.\n\n"
    "Raises\n------\n"
    "PtxError (ValueError), PtxTypeError, UnsupportedError (NotImplementedError) with line and column;\n"
    "CompileError with the compiler's log, or with what to install where there is no compiler; BackendError.\n"
    "On a GPU the text that the simulator refuses is left to the driver to judge.\n\n"
    "Example\n"
    "-------\n"
    ">>> import numpy, smemkit\n"
    ">>> module = smemkit.RawModule(r'''\n"
    "... template <typename T> __global__ void add(const T *x, const T *y, T *z)\n"
    "... {\n"
    "...     z[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x];\n"
    "... }\n"
    "... extern \"C\" __global__ void nothing() {}\n"
    "... ''', name_expressions=(\"add<float>\", \"add<int>\"), backend=\"sim\")\n"
    ">>> sorted(module.kernels)\n"
    "['_Z3addIfEvPKT_S2_PS0_', '_Z3addIiEvPKT_S2_PS0_', 'nothing']\n"
    ">>> x, z = numpy.arange(4, dtype=\"int32\"), numpy.zeros(4, dtype=\"int32\")\n"
    ">>> module.get_function(\"add<int>\")[1, 4](x, x, z)\n"
    ">>> z.tolist()\n"
    "[0, 2, 4, 6]\n";

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
