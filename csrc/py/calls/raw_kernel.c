#include "py/backends/backend.h"
#include "py/backends/capture.h"
#include "py/backends/interrupt.h"
#include "py/backends/kernel_binary.h"
#include "py/backends/selection.h"
#include "py/calls/argument.h"
#include "py/calls/execute.h"
#include "py/calls/raw.h"
#include "py/calls/step_budget.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/state.h"

#include <string.h>

typedef struct smk_raw_kernel {
    PyObject_HEAD smk_raw_module *module;
    PyObject *name;   /* str */
    const char *text; /* the same, kept alive by it */
    uint32_t entry;   /* in the parsed module; SMK_NO_INDEX where there is none */
    int carveout;     /* what is preferred, in percent; CARVEOUT_NONE: nothing */
} smk_raw_kernel;

enum { CARVEOUT_NONE = -1, CARVEOUT_MAX = 100 };

static const smk_function *get_function(const smk_raw_kernel *kernel)
{
    const smk_module *parsed = smk_raw_module_parsed(kernel->module);
    return parsed == NULL || kernel->entry == SMK_NO_INDEX ? NULL : &parsed->functions[kernel->entry];
}

/* Construction ----------------------------------------------------------------------------------- */

/* What may be wrong with a name that is not found, by the CUDA C that the module was made from. */
static const char *advise_name(const smk_raw_module *module)
{
    const char *source = module->source == Py_None ? NULL : PyUnicode_AsUTF8(module->source);
    if (source == NULL) {
        PyErr_Clear();
        return "";
    }
    if (strstr(source, "template") != NULL) {
        return "; of a template there is a kernel only where it is instantiated, as by \"template __global__ void "
               "scale<float>(float *);\" behind it, and its name is the mangled one that RawModule(code).kernels lists "
               "(or call the template from a kernel that is declared extern \"C\")";
    }
    return strstr(source, "__global__") == NULL
               ? "; kernels in CUDA C are declared extern \"C\" __global__"
               : "; kernels in CUDA C keep their name where they are declared extern \"C\"";
}

static PyObject *refuse_name(const smk_state *state, const smk_raw_module *module, const char *name)
{
    PyObject *known = smk_raw_module_names(module), *blank = NULL, *list = NULL;
    if (known == NULL) {
        return NULL;
    }
    blank = PyUnicode_FromString(", ");
    list = blank == NULL ? NULL : PyUnicode_Join(blank, known);
    if (list != NULL && PyTuple_GET_SIZE(known) == 0) {
        smk_error_fail(state, SMK_ARGUMENT, "the module has no kernel at all, so none is named '%.200s'%s", name,
                       advise_name(module));
    } else if (list != NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "the module has no kernel '%.200s'; it has: %U%s", name, list,
                       advise_name(module));
    }
    Py_DECREF(known);
    Py_XDECREF(blank);
    Py_XDECREF(list);
    return NULL;
}

/* Makes the kernel ready where the module is for the simulator, so that what it refuses shows now; a GPU's driver has
 * seen the whole module before. */
static int prepare(const smk_state *state, smk_raw_module *module, const char *entry)
{
    smk_kernel_facts facts = {0};
    smk_backend_code *code = NULL;
    smk_error error = {0};
    smk_interrupt_poll poll;
    if (module->backend == NULL || module->backend->id != SMK_BACKEND_SIM) {
        return 0;
    }
    smk_interrupt_poll_begin(&poll);
    smk_status status = smk_kernel_binary_code(module->binary, module->backend, entry, &code, &error);
    if (status == SMK_OK) {
        status = module->backend->query(code, entry, &facts, &error);
    }
    status = smk_interrupt_poll_end(&poll, status);
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

PyObject *smk_raw_kernel_create(const smk_state *state, smk_raw_module *module, PyObject *name)
{
    const smk_module *parsed = smk_raw_module_parsed(module);
    const char *text = smk_keywords_text(state, "RawKernel", "name", name);
    if (text == NULL) {
        return NULL;
    }
    uint32_t entry = parsed == NULL ? SMK_NO_INDEX : smk_module_find_entry(parsed, text);
    if (parsed != NULL && (entry == SMK_NO_INDEX || !parsed->functions[entry].is_defined)) {
        return refuse_name(state, module, text);
    }
    if (prepare(state, module, text) < 0) {
        return NULL;
    }
    smk_raw_kernel *self = PyObject_New(smk_raw_kernel, state->raw_kernel_type);
    if (self != NULL) {
        self->module = (smk_raw_module *)Py_NewRef((PyObject *)module);
        self->name = Py_NewRef(name);
        self->text = text;
        self->entry = entry;
        self->carveout = CARVEOUT_NONE;
    }
    return (PyObject *)self;
}

bool smk_raw_kernel_open(const smk_state *state, PyObject *object, const smk_raw_module **module, const char **entry)
{
    if (!Py_IS_TYPE(object, state->raw_kernel_type)) {
        return false;
    }
    const smk_raw_kernel *kernel = (const smk_raw_kernel *)(const void *)object;
    *module = kernel->module;
    *entry = kernel->text;
    return true;
}

static PyObject *construct(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"code", "name", "options", NULL};
    PyObject *code = NULL, *name = NULL, *options = NULL, *result = NULL;
    const smk_state *state = PyType_GetModuleState(type);
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|$O:RawKernel", names, &code, &name, &options)) {
        return NULL;
    }
    smk_raw_module *module = smk_raw_module_create(state, code, options, NULL);
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
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Launch configuration --------------------------------------------------------------------------- */

/* One length of a grid or block, 1 to 2^32 - 1; the machine knows its own limits. */
static int read_length(const smk_raw_kernel *kernel, const char *what, Py_ssize_t axis, PyObject *value,
                       uint32_t *length)
{
    const smk_state *state = smk_state_of_instance((PyObject *)kernel);
    int overflow = 0;
    PyObject *whole = smk_keywords_index(value);
    if (whole == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (whole == NULL) {
        smk_error_fail(state, SMK_TYPE, "%U: %s must be an int or a tuple of 1 to 3 ints, not %.100s", kernel->name,
                       what, Py_TYPE(value)->tp_name);
        return -1;
    }
    long long number = PyLong_AsLongLongAndOverflow(whole, &overflow);
    Py_DECREF(whole);
    const bool low = overflow < 0 || (overflow == 0 && number < 1);
    if (low || overflow > 0 || number > (long long)UINT32_MAX) {
        smk_error_fail(state, SMK_LAUNCH, "%U: %s[%zd] is %R; %s", kernel->name, what, axis, value,
                       low ? "1 or more is needed" : "no machine has that many");
        return -1;
    }
    *length = (uint32_t)number;
    return 0;
}

static int read_lengths(const smk_raw_kernel *kernel, const char *what, PyObject *value, smk_dim3 *result)
{
    uint32_t lengths[3] = {1, 1, 1};
    PyObject *tuple = NULL;
    int status = -1;
    if (!PyTuple_Check(value) && !PyList_Check(value)) {
        status = read_length(kernel, what, 0, value, &lengths[0]);
    } else if ((tuple = PySequence_Tuple(value)) != NULL) {
        Py_ssize_t count = PyTuple_GET_SIZE(tuple);
        status = 0;
        if (count < 1 || count > 3) {
            smk_error_fail(smk_state_of_instance((PyObject *)kernel), SMK_LAUNCH,
                           "%U: %s has %zd lengths; 1 to 3 are needed", kernel->name, what, count);
            status = -1;
        }
        for (Py_ssize_t i = 0; status == 0 && i < count; i++) {
            status = read_length(kernel, what, i, PyTuple_GET_ITEM(tuple, i), &lengths[i]);
        }
        Py_DECREF(tuple);
    }
    if (status == 0) {
        *result = (smk_dim3){lengths[0], lengths[1], lengths[2]};
    }
    return status;
}

static int read_shared_bytes(const smk_raw_kernel *kernel, PyObject *value, size_t *bytes)
{
    const smk_state *state = smk_state_of_instance((PyObject *)kernel);
    int overflow = 0;
    if (value == NULL) {
        *bytes = 0;
        return 0;
    }
    PyObject *whole = smk_keywords_index(value);
    if (whole == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (whole == NULL) {
        smk_error_fail(state, SMK_TYPE, "%U: shared_mem must be an int, not %.100s", kernel->name,
                       Py_TYPE(value)->tp_name);
        return -1;
    }
    long long number = PyLong_AsLongLongAndOverflow(whole, &overflow);
    Py_DECREF(whole);
    if (overflow > 0) {
        smk_error_fail(state, SMK_SHARED_MEMORY, "%U: shared_mem is %R bytes; no machine has that", kernel->name,
                       value);
        return -1;
    }
    if (overflow < 0 || number < 0) {
        smk_error_fail(state, SMK_LAUNCH, "%U: shared_mem is %R; bytes cannot be negative", kernel->name, value);
        return -1;
    }
    *bytes = (size_t)number;
    return 0;
}

/* Launch ----------------------------------------------------------------------------------------- */

/* The keyword, else the machine of the device arrays, else that of the module, else as for every call. */
static int choose_machine(const smk_raw_kernel *kernel, const smk_arguments *arguments, PyObject *keyword,
                          const smk_backend **backend)
{
    const smk_state *state = arguments->state;
    if (keyword != NULL) {
        if (smk_selection_choose(state, keyword, backend) < 0) {
            return -1;
        }
    } else if (arguments->backend != NULL) {
        *backend = arguments->backend;
    } else if (kernel->module->backend != NULL && !smk_capture_simulates()) {
        *backend = kernel->module->backend;
    } else if (smk_selection_choose(state, NULL, backend) < 0) {
        return -1;
    }
    if (arguments->backend != NULL && arguments->backend != *backend) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "%U: the arrays live on '%s', the call is for '%s'; move them with smemkit.asarray",
                       kernel->name, arguments->backend->name, (*backend)->name);
        return -1;
    }
    if ((*backend)->id == SMK_BACKEND_SIM && kernel->module->refusal.status != SMK_OK) {
        smk_error_raise(state, &kernel->module->refusal);
        return -1;
    }
    return 0;
}

/* The parameters of a kernel that our parser refuses, as the GPU has them; the simulator refuses it. `tuple` takes the
 * values as they are now, a new reference. */
static int find_layout(const smk_raw_kernel *kernel, PyObject *values, PyObject *keyword, smk_arguments *arguments,
                       PyObject **tuple)
{
    const smk_backend *backend = NULL;
    if ((!PyTuple_Check(values) && !PyList_Check(values)) || arguments->function != NULL) {
        return 0; /* what is no list is refused by who converts it */
    }
    *tuple = PySequence_Tuple(values);
    if (*tuple == NULL || choose_machine(kernel, arguments, keyword, &backend) < 0) {
        return -1;
    }
    return smk_raw_layout_make(arguments->state, kernel->module->binary, kernel->text, *tuple, &arguments->arena,
                               &arguments->function);
}

static PyObject *launch_kernel(const smk_raw_kernel *kernel, PyObject *const values[6])
{
    PyObject *result = NULL, *tuple = NULL;
    smk_arguments arguments = {
        .state = smk_state_of_instance((PyObject *)kernel),
        .kernel = kernel->text,
        .module = smk_raw_module_parsed(kernel->module),
        .function = get_function(kernel),
    };
    smk_execution_step step = {.entry = kernel->text};
    smk_execution execution = {.binary = kernel->module->binary, .steps = &step, .step_count = 1};
    if (read_lengths(kernel, "grid", values[0], &step.launch.grid) < 0 ||
        read_lengths(kernel, "block", values[1], &step.launch.block) < 0 ||
        read_shared_bytes(kernel, values[3], &step.launch.shared_bytes) < 0 ||
        smk_step_budget_read(arguments.state, values[5], SMK_RUN_STEPS_DEFAULT, &execution.max_steps) < 0 ||
        find_layout(kernel, values[2], values[4], &arguments, &tuple) < 0 ||
        smk_argument_convert(&arguments, tuple != NULL ? tuple : values[2]) < 0 ||
        choose_machine(kernel, &arguments, values[4], &execution.backend) < 0) {
        goto done;
    }
    smk_error error = {0};
    if (arguments.function != NULL && smk_module_check_block(arguments.function, step.launch.block, &error) != SMK_OK) {
        (void)snprintf(error.kernel, sizeof error.kernel, "%s", kernel->text);
        smk_error_raise(arguments.state, &error);
        goto done;
    }
    execution.device = arguments.backend != NULL ? arguments.device : SMK_DEVICE_PRESENT;
    execution.wait = arguments.backend == NULL; /* nothing stays on a device: who calls sees the kernel's end */
    step.launch.parameters = arguments.parameters;
    step.launch.parameter_count = arguments.count;
    step.launch.prefers_carveout = kernel->carveout != CARVEOUT_NONE;
    step.launch.carveout_percent = kernel->carveout;
    execution.transfers = arguments.transfers;
    execution.transfer_count = arguments.transfer_count;
    if (smk_execute_run(arguments.state, &execution) < 0 || smk_argument_copy_back(&arguments) < 0) {
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    smk_argument_free(&arguments);
    Py_XDECREF(tuple);
    return result;
}

static const char call_doc[] =
    "__call__($self, /, grid, block, args, *, shared_mem=0, backend=None, max_steps=None)\n--\n\n"
    "Runs the kernel and, unless all arrays are device arrays on a GPU, waits for it.\n\n"
    "Parameters\n----------\n"
    "grid, block : int or tuple of 1 to 3 ints\n"
    "    Blocks of the grid and threads of a block, x first.\n"
    "args : tuple or list\n"
    "    One value for each parameter. NumPy arrays are copied to the machine (C-contiguous, in native byte order)\n"
    "    and, where writeable, back after a run without error; an array given twice is one buffer. A read-only array\n"
    "    is for kernels that only read it: where one has changed it, that is an ArgumentError, and nothing is copied\n"
    "    back. Device arrays are passed by address. Numbers are converted to the declared type of the parameter and\n"
    "    must fit it (as nvcc declares int and unsigned alike, an unsigned parameter takes both ranges). A structure "
    "is\n"
    "    given as bytes, numpy.void or a structured 0-d array of its exact size. Of code that only the GPU takes, the\n"
    "    number and the sizes of the parameters are known: an int and a float take the size of theirs; NumPy scalars\n"
    "    and bytes must have it.\n"
    "shared_mem : int\n"
    "    Bytes of dynamic shared memory of a block.\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine; by default that of the device arrays, of the module, or of smemkit.get_backend().\n"
    "max_steps : int, optional\n"
    "    Warp instructions after which the simulator gives up; by default SMEMKIT_MAX_STEPS or 20 billion.\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError), ArgumentError, LaunchError (ValueError), SharedMemoryError (MemoryError),\n"
    "StepBudgetError (TimeoutError) and every other ExecutionError with kernel, line, block and thread;\n"
    "KeyboardInterrupt.\n";

static PyObject *call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"grid", "block", "args", "shared_mem", "backend", "max_steps", NULL};
    PyObject *values[6] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO|$OOO:RawKernel.__call__", names, &values[0], &values[1],
                                     &values[2], &values[3], &values[4], &values[5])) {
        return NULL;
    }
    values[4] = smk_keywords_optional(values[4]);
    values[5] = smk_keywords_optional(values[5]);
    return launch_kernel((smk_raw_kernel *)(void *)self, values);
}

/* Attributes ------------------------------------------------------------------------------------- */

/* ({"name": ..., "type": ..., "nbytes": ...}, ...), or None where the parameters are not known. */
static PyObject *describe_parameters(const smk_raw_kernel *kernel)
{
    const smk_function *function = get_function(kernel);
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
    const smk_function *function = get_function(kernel);
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
    if (choose_machine(kernel, &none, NULL, &backend) < 0) {
        return NULL;
    }
    smk_interrupt_poll poll;
    smk_interrupt_poll_begin(&poll);
    status = smk_kernel_binary_code(kernel->module->binary, backend, kernel->text, &code, &error);
    if (status == SMK_OK) {
        status = backend->query(code, kernel->text, &facts, &error);
    }
    status = smk_interrupt_poll_end(&poll, status);
    if (status != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    return Py_BuildValue("{s:N,s:n,s:n,s:n,s:I,s:N,s:N,s:N,s:N}", /* N takes the reference, NULL included */
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
    PyObject *whole = smk_keywords_index(value);
    if (whole == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (whole == NULL) {
        smk_error_fail(state, SMK_TYPE, "%U: preferred_shared_memory_carveout must be an int, not %.100s", kernel->name,
                       Py_TYPE(value)->tp_name);
        return -1;
    }
    long long number = PyLong_AsLongLongAndOverflow(whole, &overflow);
    Py_DECREF(whole);
    if (overflow != 0 || number < CARVEOUT_NONE || number > CARVEOUT_MAX) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "%U: preferred_shared_memory_carveout is %R; accepted are 0 to 100 (percent) and -1 (none)",
                       kernel->name, value);
        return -1;
    }
    kernel->carveout = (int)number;
    return 0;
}

/* smemkit.report's function of that name with the kernel before the arguments. */
static PyObject *call_report(PyObject *self, const char *name, PyObject *arguments, PyObject *keywords)
{
    PyObject *report = PyImport_ImportModule("smemkit.report"), *function = NULL, *all = NULL, *result = NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    function = report == NULL ? NULL : PyObject_GetAttrString(report, name);
    all = function == NULL ? NULL : PyTuple_New(count + 1);
    if (all != NULL) {
        PyTuple_SET_ITEM(all, 0, Py_NewRef(self));
        for (Py_ssize_t i = 0; i < count; i++) {
            PyTuple_SET_ITEM(all, i + 1, Py_NewRef(PyTuple_GET_ITEM(arguments, i)));
        }
        result = PyObject_Call(function, all, keywords);
    }
    Py_XDECREF(report);
    Py_XDECREF(function);
    Py_XDECREF(all);
    return result;
}

static const char profile_doc[] =
    "profile($self, /, grid, block, args, *, shared_mem=0, backend=None, max_steps=None, blocks=None, "
    "model=True)\n--\n\n"
    "Runs the kernel on the simulator and counts what it does; smemkit.profile(kernel, grid, block, args).\n\n"
    "Parameters\n----------\n"
    "grid, block, args, shared_mem, max_steps\n"
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
    ">>> kernel = smemkit.RawKernel(\"\"\"\n"
    "... .version 7.0\n"
    "... .target sm_75\n"
    "... .address_size 64\n"
    "... .visible .entry store(.param .u64 to)\n"
    "... {\n"
    "...     .reg .b32 %r<2>;\n"
    "...     .reg .b64 %rd<4>;\n"
    "...     ld.param.u64 %rd1, [to];\n"
    "...     mov.u32 %r1, %tid.x;\n"
    "...     cvta.to.global.u64 %rd1, %rd1;\n"
    "...     mul.wide.u32 %rd2, %r1, 4;\n"
    "...     add.s64 %rd3, %rd1, %rd2;\n"
    "...     st.global.u32 [%rd3], %r1;\n"
    "...     ret;\n"
    "... }\n"
    "... \"\"\", \"store\")\n"
    ">>> out = numpy.zeros(64, dtype=\"uint32\")\n"
    ">>> report = kernel.profile(1, 64, (out,))\n"
    ">>> report.counters[\"global.store.requests\"], report.counters[\"global.store.sectors\"]\n"
    "(2, 8)\n";

static PyObject *profile(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    return call_report(self, "profile", arguments, keywords);
}

static const char check_doc[] =
    "check($self, /, grid, block, args, *, shared_mem=0, backend=None, max_steps=None, blocks=None, "
    "ignore_same_value=False, order='forward', padding=0)\n--\n\n"
    "Runs the kernel on the simulator and judges what its threads do; smemkit.check(kernel, grid, block, args).\n\n"
    "Parameters\n----------\n"
    "grid, block, args, shared_mem, max_steps\n"
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
    ">>> kernel = smemkit.RawKernel(\"\"\"\n"
    "... .version 7.0\n"
    "... .target sm_75\n"
    "... .address_size 64\n"
    "... .visible .entry store(.param .u64 to)\n"
    "... {\n"
    "...     .reg .b32 %r<2>;\n"
    "...     .reg .b64 %rd<4>;\n"
    "...     ld.param.u64 %rd1, [to];\n"
    "...     mov.u32 %r1, %tid.x;\n"
    "...     cvta.to.global.u64 %rd1, %rd1;\n"
    "...     mul.wide.u32 %rd2, %r1, 4;\n"
    "...     add.s64 %rd3, %rd1, %rd2;\n"
    "...     st.global.u32 [%rd3], %r1;\n"
    "...     ret;\n"
    "... }\n"
    "... \"\"\", \"store\")\n"
    ">>> bool(kernel.check(1, 64, (numpy.zeros(64, dtype=\"uint32\"),)))\n"
    "True\n"
    ">>> [finding.kind for finding in kernel.check(1, 64, (numpy.zeros(60, dtype=\"uint32\"),)).findings]\n"
    "['out_of_bounds']\n";

static PyObject *check(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    return call_report(self, "check", arguments, keywords);
}

static PyObject *represent(PyObject *self)
{
    return PyUnicode_FromFormat("RawKernel(name=%R)", ((smk_raw_kernel *)(void *)self)->name);
}

static PyMethodDef methods[] = {
    {"__call__", SMK_PY_FUNCTION(call), METH_VARARGS | METH_KEYWORDS | METH_COEXIST, call_doc},
    {"profile", SMK_PY_FUNCTION(profile), METH_VARARGS | METH_KEYWORDS, profile_doc},
    {"check", SMK_PY_FUNCTION(check), METH_VARARGS | METH_KEYWORDS, check_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"name", get_name, NULL, "Name of the kernel (PTX entry), a str.", NULL},
    {"source", get_source, NULL, "The CUDA C that it was made from, a str; None for PTX.", NULL},
    {"attributes", get_attributes, NULL,
     "What the machine says of the kernel, a dict: num_regs (None where unknown), shared_size_bytes,\n"
     "local_size_bytes, const_size_bytes, max_threads_per_block, maxntid (None where not declared), ptx_version,\n"
     "binary_version (None on the simulator), parameters (a dict of name, type and nbytes each).",
     NULL},
    {"preferred_shared_memory_carveout", get_carveout, set_carveout,
     "How much of the L1 storage this object's launches would have as shared memory, in percent of the most there can\n"
     "be: 0 to 100, or -1, which leaves it to the driver. May be set. A wish to the GPU, which takes the next larger\n"
     "size that it has, and what a launch needs in any case; the simulator has no L1 cache, and nothing changes there.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const char documentation[] =
    "RawKernel(code, name, *, options=())\n--\n\n"
    "A kernel of one's own, from PTX text or CUDA C; smemkit.RawModule(code).get_function(name) in one step.\n\n"
    "Parameters\n----------\n"
    "code : str or bytes\n    PTX or CUDA C, as for RawModule.\n"
    "name : str\n    The kernel; in CUDA C declare it extern \"C\".\n"
    "options : sequence of str\n    For the compiler of CUDA C.\n\n"
    "Shapes\n------\nAny; the kernel gets addresses.\n\n"
    "Returns\n-------\nRawKernel, to be called as kernel(grid, block, args, *, shared_mem=0, backend=None, "
    "max_steps=None).\n\n"
    "Raises\n------\nAs RawModule; ArgumentError (ValueError) where there is no kernel of that name.\n\n"
    "Example\n-------\n"
    ">>> import numpy, smemkit\n"
    ">>> store = smemkit.RawKernel(\"\"\"\n"
    "... .version 7.0\n"
    "... .target sm_75\n"
    "... .address_size 64\n"
    "... .visible .entry store(.param .u64 to, .param .s32 value)\n"
    "... {\n"
    "...     .reg .b32 %r<3>;\n"
    "...     .reg .b64 %rd<4>;\n"
    "...     ld.param.u64 %rd1, [to];\n"
    "...     ld.param.s32 %r1, [value];\n"
    "...     mov.u32 %r2, %tid.x;\n"
    "...     cvta.to.global.u64 %rd1, %rd1;\n"
    "...     mul.wide.u32 %rd2, %r2, 4;\n"
    "...     add.s64 %rd3, %rd1, %rd2;\n"
    "...     st.global.u32 [%rd3], %r1;\n"
    "...     ret;\n"
    "... }\n"
    "... \"\"\", \"store\")\n"
    ">>> out = numpy.zeros(4, dtype=\"int32\")\n"
    ">>> store(1, 4, (out, -7), backend=\"sim\")\n"
    ">>> out.tolist()\n"
    "[-7, -7, -7, -7]\n";

static PyType_Slot slots[] = {
    {Py_tp_new, SMK_PY_SLOT(construct)},
    {Py_tp_dealloc, SMK_PY_SLOT(deallocate)},
    {Py_tp_call, SMK_PY_SLOT(call)},
    {Py_tp_repr, SMK_PY_SLOT(represent)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, SMK_PY_TEXT(documentation)},
    {0, NULL},
};

PyType_Spec smk_raw_kernel_spec = {
    .name = "smemkit.RawKernel",
    .basicsize = sizeof(smk_raw_kernel),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
