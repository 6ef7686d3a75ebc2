#include "py/queries/occupancy_query.h"

#include "py/backends/backend.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/named_tuple.h"
#include "py/queries/kernel_resources.h"
#include "py/queries/limits.h"

#include <string.h>

int smk_occupancy_query_create(PyObject *module, smk_state *state)
{
    state->occupancy =
        smk_named_tuple_create(module, "Occupancy",
                               "blocks warps threads percent limited_by limits registers block_registers shared_bytes "
                               "block_shared_bytes spare_shared_bytes carveout_bytes compute_capability");
    return state->occupancy == NULL ? -1 : 0;
}

/* Block and shared memory --------------------------------------------------------------------------- */

/* Reads the block: a number of threads, or a tuple of 1 to 3 lengths. NULL: the block of the variant. */
static int read_block(smk_kernel_resources *resources, PyObject *value)
{
    PyObject *tuple = NULL;
    if (value == NULL && resources->variant != NULL) {
        resources->block.threads = resources->variant->block_x * resources->variant->block_y;
        return 0;
    }
    tuple = value == NULL                                 ? NULL
            : PyTuple_Check(value) || PyList_Check(value) ? PySequence_Tuple(value)
                                                          : PyTuple_Pack(1, value);
    Py_ssize_t count = tuple == NULL ? 0 : PyTuple_GET_SIZE(tuple);
    uint64_t threads = 1;
    bool good = count >= 1 && count <= 3;
    for (Py_ssize_t i = 0; good && i < count; i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        PyObject *integer = smk_keywords_index(item);
        if (integer == NULL && PyErr_Occurred()) {
            Py_DECREF(tuple);
            return -1;
        }
        long length = integer == NULL ? 0 : PyLong_AsLong(integer);
        good = integer != NULL;
        Py_XDECREF(integer);
        PyErr_Clear(); /* too large for a long: refused below */
        if (good && (length < 1 || length > INT32_MAX)) {
            smk_error_fail(resources->state, SMK_LAUNCH, "%s: block is %R; each length must be from 1 to 2**31 - 1",
                           resources->function, value);
            Py_DECREF(tuple);
            return -1;
        }
        threads = threads > UINT32_MAX ? threads : threads * (uint64_t)length;
    }
    Py_XDECREF(tuple);
    if (!good) {
        smk_error_fail(resources->state, SMK_TYPE, "%s: block must be an int or a tuple of 1 to 3 ints, not %R",
                       resources->function, value == NULL ? Py_None : value);
        return -1;
    }
    resources->block.threads = threads > UINT32_MAX ? UINT32_MAX : (uint32_t)threads;
    return 0;
}

/* Reads shared_bytes; NULL: none. */
static int read_bytes(smk_kernel_resources *resources, PyObject *value)
{
    int overflow = 0;
    if (value == NULL) {
        return 0;
    }
    PyObject *integer = smk_keywords_index(value);
    if (integer == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (integer == NULL) {
        smk_error_fail(resources->state, SMK_TYPE, "%s: shared_bytes must be an int, not %.100s", resources->function,
                       Py_TYPE(value)->tp_name);
        return -1;
    }
    long long bytes = PyLong_AsLongLongAndOverflow(integer, &overflow);
    Py_DECREF(integer);
    if (overflow < 0 || (overflow == 0 && bytes < 0)) {
        smk_error_fail(resources->state, SMK_ARGUMENT, "%s: shared_bytes is %R; bytes cannot be negative",
                       resources->function, value);
        return -1;
    }
    resources->block.shared_dynamic = overflow > 0 ? (uint64_t)INT64_MAX : (uint64_t)bytes;
    return 0;
}

/* Reads shared_bytes, which may be a function of the block size. */
static int ask_bytes(smk_kernel_resources *resources, PyObject *value)
{
    if (value == NULL || !PyCallable_Check(value)) {
        return read_bytes(resources, value);
    }
    PyObject *answer = PyObject_CallFunction(value, "I", resources->block.threads);
    int status = answer == NULL ? -1 : read_bytes(resources, answer);
    Py_XDECREF(answer);
    return status;
}

/* Results ------------------------------------------------------------------------------------------- */

static PyObject *describe_limits(const smk_occupancy *found, PyObject **limited_by)
{
    PyObject *limits = PyDict_New(), *names = PyList_New(0);
    for (int i = 0; limits != NULL && names != NULL && i < SMK_OCCUPANCY_LIMIT_COUNT; i++) {
        PyObject *name = PyUnicode_FromString(smk_occupancy_limit_name((smk_occupancy_limit)i));
        PyObject *blocks =
            found->limit[i] == SMK_OCCUPANCY_NONE ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(found->limit[i]);
        if (name == NULL || blocks == NULL || PyDict_SetItem(limits, name, blocks) < 0 ||
            ((found->limited_by >> i & 1U) != 0 && PyList_Append(names, name) < 0)) {
            Py_CLEAR(limits);
        }
        Py_XDECREF(name);
        Py_XDECREF(blocks);
    }
    *limited_by = limits == NULL || names == NULL ? NULL : PyList_AsTuple(names);
    Py_XDECREF(names);
    if (*limited_by == NULL) {
        Py_CLEAR(limits);
    }
    return limits;
}

static PyObject *create_result(const smk_state *state, const smk_limits *limits, const smk_block_use *resources,
                               const smk_occupancy *found)
{
    PyObject *limited_by = NULL, *all = describe_limits(found, &limited_by);
    if (all == NULL) {
        return NULL;
    }
    PyObject *fields =
        Py_BuildValue("(IIIdNNIKKKKKN)", found->blocks, found->warps, found->threads,
                      100.0 * (double)found->warps / (double)limits->warps_sm, limited_by, all, resources->registers,
                      (unsigned long long)found->registers_block,
                      (unsigned long long)(resources->shared_static + resources->shared_dynamic),
                      (unsigned long long)found->shared_block, (unsigned long long)found->shared_spare,
                      (unsigned long long)found->carveout, PyUnicode_FromFormat("%d.%d", limits->major, limits->minor));
    PyObject *result = fields == NULL ? NULL : PyObject_CallObject(state->occupancy, fields);
    Py_XDECREF(fields);
    return result;
}

/* Parameters that occupancy and suggest_block have in common. */
#define KERNEL_PARAMETERS                                                                                              \
    "compute_capability : str or tuple of two ints, optional\n"                                                        \
    "    \"9.0\" or (9, 0), or the name of a card, as \"RTX 3060\"; by default the present machine's (the\n"           \
    "    simulator's is 9.0).\n"                                                                                       \
    "dtype : dtype-like, optional\n"                                                                                   \
    "    Of a variant; by default the first that it takes.\n"                                                          \
    "choice : str, optional\n"                                                                                         \
    "    Of a variant whose family compiles a choice in (the op of reduce).\n"                                         \
    "registers : int, optional\n"                                                                                      \
    "    Of a thread, in the place of what is known: on a GPU of that compute capability the loaded kernel's; else\n"  \
    "    for the package's kernels what ptxas used when they were built; else those of a compilation for that\n"       \
    "    compute capability, which takes CUDA C and NVRTC or nvcc, or PTX and ptxas. (RawKernel runs what\n"           \
    "    NVRTC makes, which is asked first; nvcc may differ by a few registers.) It also gives the static\n"           \
    "    shared memory, barriers and launch bounds, which the source may choose by __CUDA_ARCH__.\n"

static const char occupancy_doc[] =
    "occupancy(kernel, block=None, shared_bytes=None, compute_capability=None, *, dtype=None, choice=None, "
    "registers=None)\n--\n\n"
    "How many blocks of a kernel a multiprocessor holds at once, and what limits them.\n\n"
    "Parameters\n----------\n"
    "kernel : RawKernel, str or tuple\n"
    "    One of your own, or \"gemm/tiled\", or (family, variant) or (family, variant, dtype).\n"
    "block : int or tuple of 1 to 3 ints\n"
    "    Threads of a block; by default a variant's own.\n"
    "shared_bytes : int, optional\n"
    "    Dynamic shared memory of a block; static shared memory is the kernel's. By default what a variant asks for\n"
    "    (conv2d/shared: for a filter of one weight), and none for a kernel of your own.\n" KERNEL_PARAMETERS "\n"
    "Shapes\n------\n"
    "None.\n\n"
    "Returns\n-------\n"
    "Occupancy, a named tuple: blocks, warps and threads resident on a multiprocessor (0: a block does not run);\n"
    "percent, of the warps that it can hold; limited_by, the names of the limits that are reached; limits, a dict\n"
    "of the blocks that each admits (threads, blocks, registers, shared_memory, barriers; None: any number);\n"
    "registers of a thread and block_registers that a block is given; shared_bytes that a block asks for, static\n"
    "and dynamic, and block_shared_bytes that it is given, rounded up and with the driver's own; spare_shared_bytes\n"
    "that it could ask for more without a loss of blocks; carveout_bytes, the smallest shared part of the L1\n"
    "storage that holds the blocks; compute_capability.\n\n"
    "Raises\n------\n"
    "ArgumentError (ValueError) for an unknown variant or compute capability, and where the registers are not\n"
    "known; CompileError where the source does not compile for that compute capability; ArgumentTypeError\n"
    "(TypeError); LaunchError for a length below 1; BackendError.\n\n"
    "See also occupancy_table, for every compute capability at once.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> found = smemkit.occupancy(\"gemm/tiled\", (32, 32), compute_capability=\"8.6\", registers=40)\n"
    ">>> found.blocks, found.warps, round(found.percent), found.limited_by\n"
    "(1, 32, 67, ('threads', 'registers'))\n";

static PyObject *call_occupancy(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"kernel", "block",  "shared_bytes", "compute_capability",
                                        "dtype",  "choice", "registers"};
    static const smk_keywords accepted = {"occupancy", names, 7, 4, 1};
    smk_kernel_resources resources = {.state = smk_state_of_module(module), .function = "occupancy"};
    PyObject *values[7], *result = NULL;
    smk_occupancy found = {0};
    smk_error error = {0};
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    const smk_kernel_query kernel = {.kernel = values[0],
                                     .compute_capability = smk_keywords_optional(values[3]),
                                     .dtype = smk_keywords_optional(values[4]),
                                     .choice = smk_keywords_optional(values[5]),
                                     .registers = smk_keywords_optional(values[6])};
    if (smk_kernel_resources_read(&resources, &kernel) == 0 &&
        read_block(&resources, smk_keywords_optional(values[1])) == 0 &&
        read_bytes(&resources, smk_keywords_optional(values[2])) == 0) {
        if (smk_occupancy_count(resources.limits, &resources.block, &found, &error) == SMK_OK) {
            result = create_result(resources.state, resources.limits, &resources.block, &found);
        } else {
            smk_error_raise(resources.state, &error);
        }
    }
    smk_kernel_resources_release(&resources);
    return result;
}

/* Tries all block sizes in descending order. `smallest`: of equally good sizes the smallest, else the largest. */
static int search_block(smk_kernel_resources *resources, PyObject *shared_bytes, bool smallest, uint32_t *best)
{
    smk_occupancy found = {0};
    smk_error error = {0};
    uint32_t most = 0;
    *best = 0;
    for (uint32_t size = smk_occupancy_next_block(0, resources->block.threads_max); size > 0;
         size = smk_occupancy_next_block(size, resources->block.threads_max)) {
        resources->block.threads = size;
        if (ask_bytes(resources, shared_bytes) < 0) {
            return -1;
        }
        if (smk_occupancy_count(resources->limits, &resources->block, &found, &error) != SMK_OK) {
            smk_error_raise(resources->state, &error);
            return -1;
        }
        if (found.threads > most || (smallest && found.threads == most && most > 0)) {
            most = found.threads;
            *best = size;
        }
    }
    return 0;
}

static int read_prefer(const smk_kernel_resources *resources, PyObject *value, bool *smallest)
{
    const char *text =
        value == NULL ? "largest" : smk_keywords_text(resources->state, resources->function, "prefer", value);
    if (text == NULL) {
        return -1;
    }
    *smallest = strcmp(text, "smallest") == 0;
    if (!*smallest && strcmp(text, "largest") != 0) {
        smk_error_fail(resources->state, SMK_ARGUMENT, "%s: prefer is %R; accepted are 'largest' and 'smallest'",
                       resources->function, value);
        return -1;
    }
    return 0;
}

static const char suggest_block_doc[] =
    "suggest_block(kernel, shared_bytes=None, compute_capability=None, *, dtype=None, choice=None, registers=None, "
    "prefer=\"largest\")\n--\n\n"
    "The block size with the best occupancy: the most resident threads.\n\n"
    "Parameters\n----------\n"
    "kernel : RawKernel, str or tuple\n"
    "    One of your own, or \"gemm/tiled\", or (family, variant) or (family, variant, dtype).\n"
    "shared_bytes : int or callable, optional\n"
    "    Dynamic shared memory of a block, or a function of the block size that gives it; by default as for\n"
    "    occupancy.\n" KERNEL_PARAMETERS "prefer : \"largest\" or \"smallest\"\n"
    "    Which of equally good sizes; the CUDA runtime's calculator takes the largest.\n\n"
    "Shapes\n------\n"
    "None.\n\n"
    "Returns\n-------\n"
    "int: a multiple of 32, or the most threads that the kernel's launch bounds allow. (A kernel whose tile fixes\n"
    "its block must be launched with that one: its launch bounds say only what is the most.)\n\n"
    "Raises\n------\n"
    "As occupancy; SharedMemoryError (MemoryError) where no block runs at all.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> smemkit.suggest_block(\"gemm/tiled16\", registers=32, compute_capability=\"9.0\")\n"
    "256\n";

static PyObject *call_suggest_block(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"kernel",    "shared_bytes", "compute_capability", "dtype", "choice",
                                        "registers", "prefer"};
    static const smk_keywords accepted = {"suggest_block", names, 7, 3, 1};
    smk_kernel_resources resources = {.state = smk_state_of_module(module), .function = "suggest_block"};
    PyObject *values[7], *result = NULL;
    bool smallest = false;
    uint32_t best = 0;
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    const smk_kernel_query kernel = {.kernel = values[0],
                                     .compute_capability = smk_keywords_optional(values[2]),
                                     .dtype = smk_keywords_optional(values[3]),
                                     .choice = smk_keywords_optional(values[4]),
                                     .registers = smk_keywords_optional(values[5])};
    if (read_prefer(&resources, smk_keywords_optional(values[6]), &smallest) == 0 &&
        smk_kernel_resources_read(&resources, &kernel) == 0 &&
        search_block(&resources, smk_keywords_optional(values[1]), smallest, &best) == 0) {
        if (best != 0) {
            result = PyLong_FromUnsignedLong(best);
        } else {
            smk_error_fail(resources.state, SMK_SHARED_MEMORY,
                           "suggest_block: no block of %s runs at compute capability %d.%d: one of %u threads needs "
                           "%llu bytes of shared memory, and a block has %u at most",
                           resources.entry, resources.limits->major, resources.limits->minor, resources.block.threads,
                           (unsigned long long)(resources.block.shared_static + resources.block.shared_dynamic),
                           resources.limits->shared_optin);
        }
    }
    smk_kernel_resources_release(&resources);
    return result;
}

/* For tests ----------------------------------------------------------------------------------------- */

/* _occupancy(...) -> Occupancy: the arithmetic alone */
static const char occupancy_arithmetic_doc[] =
    "_occupancy(compute_capability, threads, threads_max, registers, barriers, static, dynamic, /)\n--\n\n";

static PyObject *call_occupancy_arithmetic(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    const smk_state *state = smk_state_of_module(module);
    const smk_limits *limits = NULL;
    const smk_backend *ignored = NULL;
    unsigned long long numbers[6];
    smk_occupancy found = {0};
    smk_error error = {0};
    if (given != 7) {
        PyErr_SetString(PyExc_TypeError, "_occupancy takes 7 arguments");
        return NULL;
    }
    for (int i = 0; i < 6; i++) {
        numbers[i] = PyLong_AsUnsignedLongLong(arguments[i + 1]);
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    if (smk_limits_read(state, "_occupancy", arguments[0], &limits, &ignored) < 0) {
        return NULL;
    }
    const smk_block_use resources = {
        .threads = (uint32_t)numbers[0],
        .threads_max = (uint32_t)numbers[1],
        .registers = (uint32_t)numbers[2],
        .barriers = (uint32_t)numbers[3],
        .shared_static = numbers[4],
        .shared_dynamic = numbers[5],
    };
    if (smk_occupancy_count(limits, &resources, &found, &error) != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    return create_result(state, limits, &resources, &found);
}

PyMethodDef smk_occupancy_query_methods[] = {
    {"occupancy", SMK_PY_FUNCTION(call_occupancy), SMK_PY_FAST, occupancy_doc},
    {"suggest_block", SMK_PY_FUNCTION(call_suggest_block), SMK_PY_FAST, suggest_block_doc},
    {"_occupancy", SMK_PY_FUNCTION(call_occupancy_arithmetic), METH_FASTCALL, occupancy_arithmetic_doc},
    {NULL, NULL, 0, NULL},
};
