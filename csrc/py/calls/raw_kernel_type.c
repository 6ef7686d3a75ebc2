#include "py/calls/raw_kernel_type.h"

#include "py/backends/backend.h"
#include "py/backends/interrupt.h"
#include "py/backends/kernel_binary.h"
#include "py/calls/argument.h"
#include "py/calls/declaration.h"
#include "py/calls/direct.h"
#include "py/calls/raw_kernel.h"
#include "py/calls/raw_launch.h"
#include "py/calls/raw_module.h"
#include "py/calls/raw_pickle.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/state.h"
#include "py/streams/stream_scope.h"

enum { CARVEOUT_MAX = 100 };

static PyObject *construct(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"code", "name", "options", "enable_cooperative_groups", NULL};
    int cooperative = 0;
    PyObject *name = NULL, *result = NULL;
    smk_raw_input input = {.implied = true};
    const smk_state *state = PyType_GetModuleState(type);
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|$Op:RawKernel", names, &input.code, &name, &input.options,
                                     &cooperative)) {
        return NULL;
    }
    input.cooperative = cooperative != 0;
    if (PyUnicode_Check(name) && PyUnicode_FindChar(name, '<', 0, PyUnicode_GET_LENGTH(name), 1) >= 0) {
        input.expressions = PyTuple_Pack(1, name); /* an instance of a template */
        if (input.expressions == NULL) {
            return NULL;
        }
    }
    smk_raw_module *module = smk_raw_module_create(state, &input, NULL);
    Py_XDECREF(input.expressions);
    if (module != NULL) {
        result = smk_raw_kernel_create(state, module, name);
        Py_DECREF(module);
    }
    return result;
}

static void deallocate(PyObject *self)
{
    smk_raw_kernel *kernel = (smk_raw_kernel *)(void *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(kernel->module);
    Py_DECREF(kernel->name);
    Py_DECREF(kernel->label);
    Py_DECREF(kernel->declaration);
    PyObject_Free(self);
    Py_DECREF(type);
}

static const char call_doc[] =
    "__call__($self, /, grid, block, args, *, shared_mem=0, backend=None, max_steps=None, device=None,\n"
    "stream=None, independent=None)\n--\n\n"
    "Runs the kernel and, unless all arrays are device arrays on a GPU, waits for it.\n\n"
    "Parameters\n----------\n"
    "grid, block : int or tuple of 1 to 3 ints\n"
    "    Blocks of the grid and threads of a block, x first.\n"
    "args : tuple or list\n"
    "    One value for each parameter. NumPy arrays are copied to the machine (C-contiguous, in native byte order)\n"
    "    and, where writeable, back after a run without error; an array given twice is one buffer. A read-only array\n"
    "    is for kernels that only read it: where one has changed it, that is an ArgumentError, and nothing is copied\n"
    "    back. Where the CUDA C says what a pointer points to, an array has such elements: float32 for float *, int32\n"
    "    or uint32 for int * and unsigned * (their bits are alike), for float4 * float32 or a structured dtype of its\n"
    "    size; void *, char *, unsigned char * and structures take any. x.view(numpy.float32) hands over the bytes of\n"
    "    any array. Device arrays are passed by address. Numbers are converted to the declared type of the parameter\n"
    "    and must fit it (as nvcc declares int and unsigned alike, an unsigned parameter takes both ranges). A\n"
    "    structure is given as bytes, numpy.void or a structured 0-d array of its exact size. Of code that only the\n"
    "    GPU takes, the number and the sizes of the parameters are known: an int and a float take the size of theirs;\n"
    "    NumPy scalars and bytes must have it.\n"
    "shared_mem : int\n"
    "    Bytes of dynamic shared memory of a block.\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine; by default that of the device arrays, of the module, or of smemkit.get_backend().\n"
    "device : int, str or Device, optional\n"
    "    Of the machine; by default its present one, or that of the device arrays, which all live on one.\n"
    "stream : stream, optional\n"
    "    Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has\n"
    "    __cuda_stream__; by default that of `with stream:`, else the default stream.\n"
    "max_steps : int, optional\n"
    "    Warp instructions after which the simulator gives up; by default SMEMKIT_MAX_STEPS or 20 billion.\n"
    "independent : bool, optional\n"
    "    Of the simulator: whether lanes of a warp make progress one by one where they wait for each other, as on\n"
    "    GPUs since Volta (a spin lock, say). False: they run in lock step, and such a wait is a DeadlockError. By\n"
    "    default SMEMKIT_INDEPENDENT, else True. Kernels whose lanes do not wait for each other run alike.\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError), ArgumentError, LaunchError (ValueError), SharedMemoryError (MemoryError),\n"
    "StepBudgetError (TimeoutError) and every other ExecutionError with kernel, line, block and thread;\n"
    "KeyboardInterrupt.\n\n"
    "Example\n"
    "-------\n"
    ">>> import numpy, smemkit\n"
    ">>> scale = smemkit.RawKernel(r'''\n"
    "... extern \"C\" __global__ void scale(float *x, float factor, int n)\n"
    "... {\n"
    "...     int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "...     if (i < n)\n"
    "...         x[i] *= factor;\n"
    "... }\n"
    "... ''', \"scale\")\n"
    ">>> x = numpy.ones(100, dtype=\"float32\")\n"
    ">>> scale(1, 128, (x, 2, x.size), backend=\"sim\")\n"
    ">>> scale[1, 128](x, 2, x.size, backend=\"sim\")\n"
    ">>> x[:3].tolist()\n"
    "[4.0, 4.0, 4.0]\n";

static PyObject *call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"grid",      "block",  "args",   "shared_mem",  "backend",
                            "max_steps", "device", "stream", "independent", NULL};
    PyObject *values[SMK_RAW_LAUNCH_VALUES] = {NULL};
    if (PyTuple_GET_SIZE(arguments) > 3) {
        return smk_error_fail(smk_state_of_instance(self), SMK_TYPE,
                              "%U: %zd arguments by position; the kernel's own go into one tuple, as in "
                              "kernel(grid, block, (x, y, n))",
                              ((smk_raw_kernel *)(void *)self)->label, PyTuple_GET_SIZE(arguments));
    }
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO|$OOOOOO:RawKernel.__call__", names, &values[0],
                                     &values[1], &values[2], &values[3], &values[4], &values[5], &values[6], &values[7],
                                     &values[8])) {
        return NULL;
    }
    values[4] = smk_keywords_optional(values[4]);
    values[5] = smk_keywords_optional(values[5]);
    values[6] = smk_keywords_optional(values[6]);
    values[8] = smk_keywords_optional(values[8]);
    return smk_raw_launch_run((smk_raw_kernel *)(void *)self, values);
}

/* smk_direct_launch on the stream that is the fourth argument. */
static int launch_on_stream(smk_raw_kernel *kernel, PyObject *const *arguments)
{
    smk_stream_scope scope = {.named = false};
    if (smk_stream_scope_begin(smk_state_of_instance((PyObject *)kernel), PyUnicode_AsUTF8(kernel->label), arguments[3],
                               &scope) < 0) {
        return -1;
    }
    const int launched = smk_direct_launch(kernel, arguments[0], arguments[1], arguments[2], &scope);
    smk_stream_scope_end(&scope);
    return launched;
}

/* kernel(grid, block, args), perhaps with stream=: launched at once where the arguments allow that. */
PyObject *smk_raw_kernel_type_call(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *keywords)
{
    const Py_ssize_t given = PyVectorcall_NARGS(flags);
    const bool has_stream = keywords != NULL && PyTuple_GET_SIZE(keywords) == 1 &&
                            PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "stream") == 0;
    if (given == 3 && (keywords == NULL || has_stream)) {
        smk_raw_kernel *kernel = (smk_raw_kernel *)(void *)self;
        const int launched = has_stream ? launch_on_stream(kernel, arguments)
                                        : smk_direct_launch(kernel, arguments[0], arguments[1], arguments[2], NULL);
        if (launched != 0) {
            return launched < 0 ? NULL : Py_NewRef(Py_None);
        }
    }
    const Py_ssize_t named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    PyObject *tuple = PyTuple_New(given), *dict = named == 0 ? NULL : PyDict_New(), *result = NULL;
    bool ready = tuple != NULL && (named == 0 || dict != NULL);
    for (Py_ssize_t i = 0; ready && i < given; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(arguments[i]));
    }
    for (Py_ssize_t i = 0; ready && i < named; i++) {
        ready = PyDict_SetItem(dict, PyTuple_GET_ITEM(keywords, i), arguments[given + i]) == 0;
    }
    if (ready) {
        result = call(self, tuple, dict);
    }
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return result;
}

/* Attributes ------------------------------------------------------------------------------------- */

/* ({"name": ..., "type": ..., "nbytes": ...}, ...), or None where the parameters are not known. */
static PyObject *describe_parameters(const smk_raw_kernel *kernel)
{
    const smk_function *function = smk_raw_kernel_function(kernel);
    if (function == NULL) {
        return Py_NewRef(Py_None);
    }
    PyObject *result = PyTuple_New((Py_ssize_t)function->parameter_count);
    for (uint32_t i = 0; result != NULL && i < function->parameter_count; i++) {
        const smk_variable *parameter = &function->variables[function->result_count + i];
        PyObject *facts = Py_BuildValue(
            "{s:s#,s:s,s:K}", "name", parameter->name.start, (Py_ssize_t)parameter->name.length, "type",
            smk_module_type_name((smk_type)parameter->type), "nbytes", (unsigned long long)parameter->bytes);
        if (facts == NULL) {
            Py_CLEAR(result);
        } else {
            PyTuple_SET_ITEM(result, (Py_ssize_t)i, facts);
        }
    }
    return result;
}

/* .maxntid or .reqntid as (x, y, z), or None. */
static PyObject *describe_block_limit(const smk_raw_kernel *kernel)
{
    const smk_function *function = smk_raw_kernel_function(kernel);
    smk_dim3 limit = {0};
    if (function != NULL) {
        limit = function->maxntid.x != 0 ? function->maxntid : function->reqntid;
    }
    return limit.x == 0 ? Py_NewRef(Py_None) : Py_BuildValue("(III)", limit.x, limit.y, limit.z);
}

static PyObject *number_or_none(int number)
{
    return number <= 0 ? Py_NewRef(Py_None) : PyLong_FromLong(number);
}

static const char attributes_doc[] =
    "What the machine says of the kernel, a dict: num_regs (None where unknown), shared_size_bytes,\n"
    "local_size_bytes, const_size_bytes, max_threads_per_block, maxntid (None where not declared), ptx_version,\n"
    "binary_version (None on the simulator), parameters (a dict of name, type and nbytes each).";

static PyObject *get_attributes(PyObject *self, void *closure)
{
    const smk_raw_kernel *kernel = (smk_raw_kernel *)(void *)self;
    const smk_state *state = smk_state_of_instance(self);
    const smk_arguments none = {.state = state};
    const smk_backend *backend = NULL;
    smk_kernel_facts facts = {0};
    smk_backend_code *code = NULL;
    smk_error error = {0};
    smk_status status = SMK_OK;
    (void)closure;
    if (smk_raw_launch_choose_machine(kernel, &none, NULL, &backend) < 0) {
        return NULL;
    }
    smk_interrupt interrupt;
    smk_interrupt_begin(&interrupt);
    status = smk_kernel_binary_code(kernel->module->binary, backend, kernel->text, &code, &error);
    if (status == SMK_OK) {
        status = backend->query(code, kernel->text, &facts, &error);
    }
    status = smk_interrupt_end(&interrupt, status);
    if (status != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    return Py_BuildValue("{s:N,s:n,s:n,s:n,s:I,s:N,s:N,s:N,s:N}", /* N steals the reference, also NULL */
                         "num_regs", facts.registers < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(facts.registers),
                         "shared_size_bytes", (Py_ssize_t)facts.shared_bytes, "local_size_bytes",
                         (Py_ssize_t)facts.local_bytes, "const_size_bytes", (Py_ssize_t)facts.const_bytes,
                         "max_threads_per_block", facts.max_threads, "maxntid", describe_block_limit(kernel),
                         "ptx_version", number_or_none(facts.ptx_version), "binary_version",
                         number_or_none(facts.binary_version), "parameters", describe_parameters(kernel));
}

static PyObject *get_name(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((smk_raw_kernel *)(void *)self)->name);
}

static PyObject *get_source(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((smk_raw_kernel *)(void *)self)->module->source);
}

static PyObject *get_ptx(PyObject *self, void *closure)
{
    (void)closure;
    return smk_raw_module_ptx(((smk_raw_kernel *)(void *)self)->module);
}

static PyObject *get_cooperative(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((smk_raw_kernel *)(void *)self)->module->cooperative);
}

static const char carveout_doc[] =
    "How much of the L1 storage this object's launches would have as shared memory, in percent of the most there can\n"
    "be: 0 to 100, or -1, which leaves it to the driver. May be set. A wish to the GPU, which takes the next larger\n"
    "size that it has, and what a launch needs in any case; the simulator has no L1 cache, and nothing changes there.";

static PyObject *get_carveout(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((smk_raw_kernel *)(void *)self)->carveout);
}

static int set_carveout(PyObject *self, PyObject *value, void *closure)
{
    smk_raw_kernel *kernel = (smk_raw_kernel *)(void *)self;
    const smk_state *state = smk_state_of_instance(self);
    int overflow = 0;
    (void)closure;
    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "preferred_shared_memory_carveout cannot be deleted; -1 takes it back");
        return -1;
    }
    PyObject *integer = smk_keywords_index(value);
    if (integer == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (integer == NULL) {
        smk_error_fail(state, SMK_TYPE, "%U: preferred_shared_memory_carveout must be an int, not %.100s",
                       kernel->label, Py_TYPE(value)->tp_name);
        return -1;
    }
    long long number = PyLong_AsLongLongAndOverflow(integer, &overflow);
    Py_DECREF(integer);
    if (overflow != 0 || number < SMK_RAW_KERNEL_NO_CARVEOUT || number > CARVEOUT_MAX) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "%U: preferred_shared_memory_carveout is %R; accepted are 0 to 100 (percent) and -1 (none)",
                       kernel->label, value);
        return -1;
    }
    kernel->carveout = (int)number;
    return 0;
}

/* Calls a function of one of the package's modules, with the kernel before the arguments. */
static PyObject *call_with_kernel(PyObject *self, const char *module, const char *name, PyObject *arguments,
                                  PyObject *keywords)
{
    PyObject *owner = PyImport_ImportModule(module), *function = NULL, *all = NULL, *result = NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    function = owner == NULL ? NULL : PyObject_GetAttrString(owner, name);
    all = function == NULL ? NULL : PyTuple_New(count + 1);
    if (all != NULL) {
        PyTuple_SET_ITEM(all, 0, Py_NewRef(self));
        for (Py_ssize_t i = 0; i < count; i++) {
            PyTuple_SET_ITEM(all, i + 1, Py_NewRef(PyTuple_GET_ITEM(arguments, i)));
        }
        result = PyObject_Call(function, all, keywords);
    }
    Py_XDECREF(owner);
    Py_XDECREF(function);
    Py_XDECREF(all);
    return result;
}

static const char profile_doc[] =
    "profile($self, /, grid, block, args, *, shared_mem=0, backend=None, max_steps=None, blocks=None, "
    "model=True, independent=None)\n--\n\n"
    "Runs the kernel on the simulator and counts what it does; smemkit.profile(kernel, grid, block, args).\n\n"
    "Parameters\n----------\n"
    "grid, block, args, shared_mem, max_steps, independent\n"
    "    As for a call of the kernel.\n"
    "backend : \"cuda\" or None\n"
    "    \"cuda\" adds the time that the GPU takes.\n"
    "blocks : int, optional\n"
    "    Counts only so many blocks, evenly spread over the grid; results are then incomplete.\n"
    "model : bool\n"
    "    Counts accesses as ptxas fuses them; False: as the PTX has them.\n\n"
    "Returns\n-------\n"
    "Report\n\n"
    "Raises\n------\n"
    "As a call of the kernel; ArgumentError (ValueError) from within another profile.\n\n"
    "Example\n-------\n"
    ">>> import numpy, smemkit\n"
    ">>> kernel = smemkit.RawKernel(r'''\n"
    "... extern \"C\" __global__ void column(const float *x, float *y)\n"
    "... {\n"
    "...     __shared__ float tile[32][32];\n"
    "...     tile[threadIdx.x][0] = x[threadIdx.x];\n"
    "...     y[threadIdx.x] = tile[threadIdx.x][0];\n"
    "... }\n"
    "... ''', \"column\")\n"
    ">>> x, y = numpy.ones(32, dtype=\"float32\"), numpy.zeros(32, dtype=\"float32\")\n"
    ">>> report = kernel.profile(1, 32, (x, y))\n"
    ">>> report.counters[\"shared.store.conflicts\"], report.counters[\"global.load.sectors\"]\n"
    "(31, 4)\n";

static PyObject *profile(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    return call_with_kernel(self, "smemkit.report", "profile", arguments, keywords);
}

static const char check_doc[] =
    "check($self, /, grid, block, args, *, shared_mem=0, backend=None, max_steps=None, blocks=None, "
    "ignore_same_value=False, order='forward', padding=0, independent=None)\n--\n\n"
    "Runs the kernel on the simulator and judges what its threads do; smemkit.check(kernel, grid, block, args).\n\n"
    "Parameters\n----------\n"
    "grid, block, args, shared_mem, max_steps, independent\n"
    "    As for a call of the kernel.\n"
    "backend : None\n"
    "    There is no other machine that can.\n"
    "blocks : int, optional\n"
    "    Runs only so many blocks, evenly spread over the grid; results are then incomplete.\n"
    "ignore_same_value : bool\n"
    "    Leaves out races of stores that all write one value; the report counts them as ignored.\n"
    "order : {'forward', 'reverse', 'both'}\n"
    "    Which blocks and warps begin; 'both' runs it twice, first in reverse on copies of the arrays.\n"
    "padding : int\n"
    "    Bytes that are kept free between shared variables, and behind arrays.\n\n"
    "Returns\n-------\n"
    "CheckReport, true where nothing was found.\n\n"
    "Raises\n------\n"
    "As a call of the kernel, but for what check looks for (smemkit.check has the kinds): that is a finding.\n"
    "Where nothing was found, a trap, a failed assert and endless waits raise TrapError and DeadlockError.\n\n"
    "Example\n-------\n"
    ">>> import numpy, smemkit\n"
    ">>> kernel = smemkit.RawKernel(r'''\n"
    "... extern \"C\" __global__ void reverse(float *x)\n"
    "... {\n"
    "...     __shared__ float tile[64];\n"
    "...     tile[threadIdx.x] = x[threadIdx.x];\n"
    "...     x[threadIdx.x] = tile[63 - threadIdx.x];  // a barrier is missing\n"
    "... }\n"
    "... ''', \"reverse\")\n"
    ">>> report = kernel.check(1, 64, (numpy.ones(64, dtype=\"float32\"),))\n"
    ">>> bool(report), report.findings[0].kind, report.findings[0].first.variable\n"
    "(False, 'race', 'tile[32]')\n";

static PyObject *check(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    return call_with_kernel(self, "smemkit.report", "check", arguments, keywords);
}

static const char predict_doc[] =
    "predict($self, /, grid, block, args, *, device='h200', cache='warm', blocks=6, shared_mem=0, max_steps=None, "
    "independent=None)\n--\n\n"
    "Predicts what a launch would take on a card, without the card; smemkit.predict(kernel, grid, block, args).\n\n"
    "Parameters\n----------\n"
    "grid, block, args, shared_mem, max_steps, independent\n"
    "    As for a call of the kernel. Arrays that it writes are incomplete afterwards.\n"
    "device : str or Card\n"
    "    The card, as smemkit.card takes it.\n"
    "cache : {'warm', 'cold'}\n"
    "    'warm': the launch has just run before, so that what fits into the L2 cache is there.\n"
    "blocks : int or None\n"
    "    So many blocks are counted, evenly spread, and stand for the others; None: all of them.\n\n"
    "Returns\n-------\n"
    "Prediction, with time_ms, low_ms, high_ms, limited_by and terms.\n\n"
    "Raises\n------\n"
    "As a call of the kernel; ArgumentError (ValueError) for a card that is not in the table.\n\n"
    "Example\n-------\n"
    ">>> import numpy, smemkit\n"
    ">>> x, y = numpy.ones((2, 1 << 20), dtype=\"float32\")\n"
    ">>> kernel = smemkit.kernel(\"vector_add\", \"naive\", \"float32\")\n"
    ">>> slow = kernel.predict(x.size // 256, 256, (x, y, y, x.size), device=\"t4\")\n"
    ">>> fast = kernel.predict(x.size // 256, 256, (x, y, y, x.size), device=\"h200\")\n"
    ">>> slow.time_ms > 2 * fast.time_ms\n"
    "True\n";

static PyObject *predict(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    return call_with_kernel(self, "smemkit.predict.predict_call", "predict", arguments, keywords);
}

static PyObject *represent(PyObject *self)
{
    return PyUnicode_FromFormat("RawKernel(name=%R)", ((smk_raw_kernel *)(void *)self)->label);
}

static PyObject *configure(PyObject *self, PyObject *key)
{
    PyObject *module = PyImport_ImportModule("smemkit._configured");
    PyObject *result = module == NULL ? NULL : PyObject_CallMethod(module, "configure", "OO", self, key);
    Py_XDECREF(module);
    return result;
}

static const char declare_doc[] =
    "_declare($self, parameters, /)\n--\n\n"
    "Says what the parameters are, a tuple of smemkit._declarations.Parameter, of a kernel that came without CUDA C.\n"
    "Returns whether they agree with the PTX; others are left out.";

static PyObject *declare(PyObject *self, PyObject *parameters)
{
    smk_raw_kernel *kernel = (smk_raw_kernel *)(void *)self;
    const smk_function *function = smk_raw_kernel_function(kernel);
    if (function != NULL) {
        Py_SETREF(kernel->declaration, smk_declaration_confirm(parameters, function));
    }
    return PyBool_FromLong(kernel->declaration != Py_None);
}

static PyMethodDef methods[] = {
    {"__call__", SMK_PY_FUNCTION(call), METH_VARARGS | METH_KEYWORDS | METH_COEXIST, call_doc},
    {"profile", SMK_PY_FUNCTION(profile), METH_VARARGS | METH_KEYWORDS, profile_doc},
    {"check", SMK_PY_FUNCTION(check), METH_VARARGS | METH_KEYWORDS, check_doc},
    {"predict", SMK_PY_FUNCTION(predict), METH_VARARGS | METH_KEYWORDS, predict_doc},
    {"_declare", SMK_PY_FUNCTION(declare), METH_O, declare_doc},
    {"__reduce__", smk_raw_pickle_kernel, METH_NOARGS, smk_raw_pickle_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"name", get_name, NULL, "Name of the kernel (PTX entry), a str.", NULL},
    {"enable_cooperative_groups", get_cooperative, NULL, "Are all blocks of a launch there at once? A bool.", NULL},
    {"ptx", get_ptx, NULL, "The PTX of its module, a str.", NULL},
    {"source", get_source, NULL, "The CUDA C that it was made from, a str; None for PTX.", NULL},
    {"attributes", get_attributes, NULL, attributes_doc, NULL},
    {"preferred_shared_memory_carveout", get_carveout, set_carveout, carveout_doc, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const char documentation[] =
    "RawKernel(code, name, *, options=(), enable_cooperative_groups=False)\n--\n\n"
    "A kernel of one's own, from CUDA C or PTX text; smemkit.RawModule(code).get_function(name) in one step.\n"
    "\n"
    "Parameters\n"
    "----------\n"
    "code : str or bytes\n"
    "    CUDA C or PTX, as for RawModule.\n"
    "name : str\n"
    "    The kernel: scale, two::scale, or scale<float>, which instantiates the template.\n"
    "options : sequence of str\n"
    "    For the compiler of CUDA C.\n"
    "enable_cooperative_groups : bool\n"
    "    Launches are cooperative: all blocks are on the machine at once, and may wait for each other (grid.sync()).\n"
    "\n"
    "Shapes\n"
    "------\n"
    "Any; the kernel gets addresses.\n"
    "\n"
    "Returns\n"
    "-------\n"
    "RawKernel, to be called as kernel(grid, block, args, *, shared_mem=0, backend=None, max_steps=None), or as\n"
    "kernel[grid, block](*args); kernel[grid, block] has profile(*args), check(*args) and predict(*args) too.\n"
    "\n"
    "A call copies NumPy arrays to the machine and back; it converts each argument to the type of its parameter. An\n"
    "array whose elements are not those of the parameter's C declaration is an error (float64 for float *), and so "
    "are\n"
    "an integer that does not fit into the bits of its parameter (PTX does not tell int from unsigned: the range of\n"
    "either is taken), and a kernel that changes a read-only array.\n"
    "\n"
    "Raises\n"
    "------\n"
    "As RawModule; ArgumentError (ValueError) where there is no kernel of that name.\n"
    "\n"
    "Example\n"
    "-------\n"
    ">>> import numpy, smemkit\n"
    ">>> scale = smemkit.RawKernel(r'''\n"
    "... template <typename T> __global__ void scale(T *x, T factor, int n)\n"
    "... {\n"
    "...     int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "...     if (i < n)\n"
    "...         x[i] *= factor;\n"
    "... }\n"
    "... ''', \"scale<float>\")\n"
    ">>> x = numpy.ones(100, dtype=\"float32\")\n"
    ">>> scale[1, 128](x, 2, x.size, backend=\"sim\")\n"
    ">>> x[:3].tolist()\n"
    "[2.0, 2.0, 2.0]\n"
    ">>> scale(1, 128, (numpy.ones(100), 2, 100), backend=\"sim\")  # doctest: +ELLIPSIS\n"
    "Traceback (most recent call last):\n"
    "    ...\n"
    "smemkit.ArgumentTypeError: scale<float>: args[0]: x is T * (float32), the array is float64, and ...\n";

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(smk_raw_kernel, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, SMK_PY_SLOT(construct)},
    {Py_tp_dealloc, SMK_PY_SLOT(deallocate)},
    {Py_tp_call, SMK_PY_SLOT(PyVectorcall_Call)},
    {Py_tp_repr, SMK_PY_SLOT(represent)},
    {Py_mp_subscript, SMK_PY_SLOT(configure)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {Py_tp_doc, SMK_PY_TEXT(documentation)},
    {0, NULL},
};

PyType_Spec smk_raw_kernel_type_spec = {
    .name = "smemkit.RawKernel",
    .basicsize = sizeof(smk_raw_kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = slots,
};
