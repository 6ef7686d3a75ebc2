#include "py/queries/kernel_resources.h"

#include "py/backends/backend_sim.h"
#include "py/backends/interrupt.h"
#include "py/backends/kernel_binary.h"
#include "py/backends/package_kernels.h"
#include "py/calls/raw_kernel.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/queries/catalog.h"
#include "py/queries/limits.h"

#include "base/heap.h"
#include "ptx/opcode.h"
#include "registry/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BARRIERS_MAX = 16, NAME_BYTES = 128, UNKNOWN = -1 };

/* The kernel ---------------------------------------------------------------------------------------- */

static int refuse_kernel(const smk_kernel_resources *resources, PyObject *value)
{
    smk_error_fail(resources->state, SMK_TYPE,
                   "%s: kernel must be a RawKernel, a text like \"gemm/tiled\" or a tuple (family, variant[, dtype]), "
                   "not %R",
                   resources->function, value);
    return -1;
}

/* Splits "gemm/tiled" into ("gemm", "tiled"); a tuple is returned as it is. NULL for anything else, or with an
 * exception set. */
static PyObject *split_name(PyObject *given)
{
    if (PyTuple_Check(given)) {
        return Py_NewRef(given);
    }
    PyObject *slash = PyUnicode_Check(given) ? PyUnicode_FromString("/") : NULL;
    PyObject *list = slash == NULL ? NULL : PyUnicode_Split(given, slash, 1);
    PyObject *parts = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(slash);
    Py_XDECREF(list);
    return parts;
}

/* Makes the kernel of "family/variant" or (family, variant[, dtype]), as smemkit.kernel does. */
static int open_variant(smk_kernel_resources *resources, const smk_kernel_query *arguments)
{
    PyObject *parts = split_name(arguments->kernel);
    const Py_ssize_t count = parts == NULL ? 0 : PyTuple_GET_SIZE(parts);
    if (PyErr_Occurred()) {
        return -1;
    }
    if (count < 2 || count > 3) {
        (void)refuse_kernel(resources, arguments->kernel);
    } else if (count == 3 && arguments->dtype != NULL) {
        smk_error_fail(resources->state, SMK_ARGUMENT, "%s: the element type is given twice, in %R and as dtype",
                       resources->function, arguments->kernel);
    } else {
        PyObject *dtype = count == 3 ? PyTuple_GET_ITEM(parts, 2) : arguments->dtype;
        resources->kernel = smk_catalog_kernel(resources->state, PyTuple_GET_ITEM(parts, 0), PyTuple_GET_ITEM(parts, 1),
                                               dtype == Py_None ? NULL : dtype, arguments->choice);
    }
    Py_XDECREF(parts);
    return resources->kernel == NULL ? -1 : 0;
}

/* The variant that an entry belongs to: the one with the longest "<family>_<variant>_" that the entry begins with. */
static const smk_variant *find_variant(const char *entry)
{
    const smk_variant *found = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < smk_registry_variant_count(); i++) {
        const smk_variant *row = smk_registry_variant(i);
        char start[NAME_BYTES];
        int length = snprintf(start, sizeof start, "%s_%s_", row->family, row->name);
        if (length > 0 && (size_t)length > longest && strncmp(entry, start, (size_t)length) == 0) {
            found = row;
            longest = (size_t)length;
        }
    }
    return found;
}

static int open_kernel(smk_kernel_resources *resources, const smk_kernel_query *arguments)
{
    PyObject *given = arguments->kernel;
    if (smk_raw_kernel_cast(resources->state, given) == NULL) {
        if (open_variant(resources, arguments) < 0) {
            return -1;
        }
    } else if (arguments->dtype != NULL || arguments->choice != NULL) {
        smk_error_fail(resources->state, SMK_ARGUMENT, "%s: dtype and choice belong to a family's variant, not to %R",
                       resources->function, given);
        return -1;
    } else {
        resources->kernel = Py_NewRef(given);
    }
    const smk_raw_kernel *kernel = smk_raw_kernel_cast(resources->state, resources->kernel);
    resources->module = kernel->module;
    resources->entry = kernel->text;
    /* a kernel of the package, perhaps made by smemkit.kernel; only the package's modules have a fatbin */
    bool is_packaged = resources->kernel != given || resources->module->binary->fatbin != NULL;
    resources->variant = is_packaged ? find_variant(resources->entry) : NULL;
    return 0;
}

/* What the kernel takes ----------------------------------------------------------------------------- */

/* The number of the block barrier that an instruction names, plus one; BARRIERS_MAX where a register names it; 0 for
 * other instructions. */
static uint32_t read_barrier(const smk_instruction *in)
{
    bool reduces = smk_module_has(in, SMK_MODIFIER_RED);
    if (smk_opcode_class(in) != SMK_CLASS_BARRIER || smk_module_has(in, SMK_MODIFIER_WARP) ||
        in->operand_count <= (reduces ? 1 : 0)) {
        return 0;
    }
    const smk_operand *number = &in->operands[reduces ? 1 : 0];
    return number->kind == SMK_OPERAND_IMMEDIATE && number->bits < BARRIERS_MAX ? (uint32_t)number->bits + 1
                                                                                : BARRIERS_MAX;
}

/* Counts the barriers that an entry, or a function that it may call, names. */
static uint32_t count_barriers(const smk_module *module, const smk_function *entry)
{
    uint32_t most = 0;
    for (uint32_t f = 0; f < module->function_count; f++) {
        const smk_function *function = &module->functions[f];
        for (uint32_t i = 0; (function == entry || !function->is_entry) && i < function->instruction_count; i++) {
            uint32_t number = read_barrier(&function->instructions[i]);
            most = number > most ? number : most;
        }
    }
    return most;
}

/* Reads launch bounds and barriers from the PTX, where our parser accepts it. */
static void read_ptx(smk_kernel_resources *resources)
{
    const smk_module *parsed = smk_raw_module_parsed(resources->module);
    uint32_t index = parsed == NULL ? SMK_NO_INDEX : smk_module_find_entry(parsed, resources->entry);
    resources->block.barriers = 1;
    if (index != SMK_NO_INDEX) {
        const smk_function *function = &parsed->functions[index];
        smk_dim3 most = function->maxntid.x != 0 ? function->maxntid : function->reqntid;
        resources->block.threads_max = most.x * most.y * most.z;
        resources->block.barriers = count_barriers(parsed, function);
    }
}

/* Reads the registers and static shared memory of the kernel as a machine has loaded it. */
static int read_loaded(smk_kernel_resources *resources, const smk_backend *backend, int *registers)
{
    smk_kernel_facts facts = {0};
    smk_backend_code *code = NULL;
    smk_error error = {0};
    smk_kernel_binary *binary = resources->module->binary;
    const char *entry = resources->entry;
    smk_status status = SMK_OK;
    if (backend->id == SMK_BACKEND_SIM && resources->module->refusal.status != SMK_OK) {
        smk_error_raise(resources->state, &resources->module->refusal);
        return -1;
    }
    smk_interrupt interrupt;
    smk_interrupt_begin(&interrupt);
    status = smk_kernel_binary_code(binary, backend, entry, &code, &error);
    if (status == SMK_OK) {
        status = backend->query(code, entry, &facts, &error);
    }
    status = smk_interrupt_end(&interrupt, status);
    if (status != SMK_OK) {
        smk_error_raise(resources->state, &error);
        return -1;
    }
    *registers = facts.registers;
    resources->block.shared_static = facts.shared_bytes;
    return 0;
}

/* Finds the line of the build's record with the machine code that the compute capability runs: the same major number,
 * and the highest minor number that is not above its own. `known`, an empty text, gets the list of
 * all, such as "sm_75, sm_90". */
static bool find_usage(const char *text, const smk_kernel_resources *resources, int *registers, uint64_t *shared,
                       char *known, size_t known_bytes)
{
    const int wanted = resources->limits->major * 10 + resources->limits->minor;
    int best = 0;
    size_t used = 0;
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
        char name[NAME_BYTES];
        int arch = 0, count = 0;
        unsigned long long bytes = 0;
        if (strchr(line, '\n') == NULL || sscanf(line, "%127s %d %d %llu", name, &arch, &count, &bytes) != 4) {
            break;
        }
        if (strcmp(name, resources->entry) != 0) {
            continue;
        }
        int written = snprintf(known + used, known_bytes - used, "%ssm_%d", used == 0 ? "" : ", ", arch);
        used += written > 0 && (size_t)written < known_bytes - used ? (size_t)written : 0;
        if (arch / 10 == wanted / 10 && arch <= wanted && arch > best) {
            best = arch;
            *registers = count;
            *shared = bytes;
        }
    }
    return best != 0;
}

/* Reads what ptxas reported for a kernel of the package when it was built. Returns 0, or -1 with an exception set. */
static int read_built(smk_kernel_resources *resources, int *registers, char *known, size_t known_bytes)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    char *text = NULL;
    size_t length = 0;
    uint64_t shared = 0;
    if (resources->variant == NULL) {
        return 0;
    }
    const smk_state *state = resources->state;
    const smk_variant *variant = resources->variant;
    Py_BEGIN_ALLOW_THREADS
    status = smk_package_kernels_read(state, variant, "usage", &text, &length, &error);
    Py_END_ALLOW_THREADS
    if (status == SMK_MEMORY) {
        smk_error_raise(state, &error);
        return -1;
    }
    if (status == SMK_OK && find_usage(text, resources, registers, &shared, known, known_bytes)) {
        resources->block.shared_static = shared;
    }
    smk_heap_free(text);
    return 0;
}

/* Reads (registers, static shared bytes, barriers, threads_max) of a compilation; the last three are -1 where the
 * compiler does not tell. Returns 0, or -1 with an exception set. */
static int read_usage(smk_kernel_resources *resources, PyObject *usage, int *registers)
{
    int threads_max = -1, barriers = -1;
    long long shared = -1;
    if (!PyArg_ParseTuple(usage, "iLii", registers, &shared, &barriers, &threads_max)) {
        return -1;
    }
    if (shared >= 0) {
        resources->block.shared_static = (uint64_t)shared;
    }
    if (barriers >= 0) {
        resources->block.barriers = (uint32_t)barriers;
    }
    if (threads_max >= 0) {
        resources->block.threads_max = (uint32_t)threads_max;
    }
    return 0;
}

static PyObject *or_none(PyObject *value)
{
    return value == NULL ? Py_None : value;
}

/* Compiles the kernel for the compute capability: smemkit._ptxas.find_usage(ptx, source, options, expressions, entry,
 * major, minor), which returns the usage, or a str that says why there is none. That goes to *reason, a new reference.
 * Returns 0, or -1 with an exception set. */
static int compile_kernel(smk_kernel_resources *resources, int *registers, PyObject **reason)
{
    const smk_raw_module *module = resources->module;
    PyObject *compiler = PyImport_ImportModule("smemkit._ptxas"), *answer = NULL;
    if (compiler != NULL) {
        answer = PyObject_CallMethod(compiler, "find_usage", "s#OOOsii", module->binary->ptx,
                                     (Py_ssize_t)module->binary->ptx_length, or_none(module->source),
                                     or_none(module->options), or_none(module->names), resources->entry,
                                     resources->limits->major, resources->limits->minor);
    }
    Py_XDECREF(compiler);
    if (answer == NULL) {
        return -1;
    }
    if (PyUnicode_Check(answer)) {
        *reason = answer;
        return 0;
    }
    const int status = read_usage(resources, answer, registers);
    Py_DECREF(answer);
    return status;
}

/* `known`: the architectures for which the package has machine code, or empty; `reason`: why no compiler knows. */
static int refuse_unknown(const smk_kernel_resources *resources, const char *known, PyObject *reason)
{
    const smk_limits *limits = resources->limits;
    PyObject *built = known[0] == '\0' ? PyUnicode_FromString("")
                                       : PyUnicode_FromFormat("this build has machine code of it for %s, and ", known);
    if (built != NULL) {
        smk_error_fail(resources->state, SMK_ARGUMENT,
                       "%s: the registers of %s are not known for compute capability %d.%d: %U%U; or give registers=",
                       resources->function, resources->entry, limits->major, limits->minor, built, reason);
    }
    Py_XDECREF(built);
    return -1;
}

static int read_registers(const smk_kernel_resources *resources, PyObject *value, int *registers)
{
    PyObject *integer = smk_keywords_index(value);
    if (integer == NULL && PyErr_Occurred()) {
        return -1;
    }
    long number = integer == NULL ? -1 : PyLong_AsLong(integer);
    Py_XDECREF(integer);
    PyErr_Clear();
    if (integer == NULL) {
        smk_error_fail(resources->state, SMK_TYPE, "%s: registers must be an int, not %.100s", resources->function,
                       Py_TYPE(value)->tp_name);
        return -1;
    }
    if (number < 0 || number > (long)resources->limits->registers_thread) {
        smk_error_fail(resources->state, SMK_ARGUMENT,
                       "%s: registers is %R; a thread has 0 to %d of them at compute "
                       "capability %d.%d",
                       resources->function, value, (int)resources->limits->registers_thread, resources->limits->major,
                       resources->limits->minor);
        return -1;
    }
    *registers = (int)number;
    return 0;
}

/* Reads from the best source: the loaded kernel, the build's record, a compilation. `given` overrides the registers. */
static int read_resources(smk_kernel_resources *resources, PyObject *given)
{
    char known[NAME_BYTES] = "";
    PyObject *reason = NULL;
    int registers = UNKNOWN, wanted = UNKNOWN;
    if (given != NULL && read_registers(resources, given, &wanted) < 0) {
        return -1;
    }
    read_ptx(resources);
    if (resources->present != NULL && resources->present->id == SMK_BACKEND_CUDA) {
        if (read_loaded(resources, resources->present, &registers) < 0) {
            return -1;
        }
    } else if (read_built(resources, &registers, known, sizeof known) < 0) {
        return -1;
    }
    if (registers == UNKNOWN) {
        int ignored = UNKNOWN;
        if (read_loaded(resources, &smk_backend_sim, &ignored) < 0 ||
            (wanted == UNKNOWN && compile_kernel(resources, &registers, &reason) < 0)) {
            return -1;
        }
    }
    registers = wanted == UNKNOWN ? registers : wanted;
    if (registers == UNKNOWN) {
        const int status = refuse_unknown(resources, known, reason);
        Py_XDECREF(reason);
        return status;
    }
    resources->block.registers = (uint32_t)registers;
    return 0;
}

/* What the kernel's plan asks for: dynamic shared memory ---------------------------------------------- */

/* True where the family compiles this choice into its kernels. Another word in this place names a secondary kernel, of
 * which the table says nothing. */
static bool is_choice(const char *family, const char *word)
{
    const smk_attribute *attribute = NULL;
    int64_t ignored = 0;
    for (size_t i = 0; (attribute = smk_registry_attribute(family, i)) != NULL; i++) {
        if (attribute->kind == SMK_ATTRIBUTE_COMPILED && smk_registry_lists(attribute->choices, word, &ignored)) {
            return true;
        }
    }
    return false;
}

/* The largest dimensions that are tried, a power of two. */
enum { DIMENSION_MOST = 1 << 12 };

/* The dynamic shared memory that a plan asks for the kernel with the variant's name; false where it launches none. */
static bool find_bytes(const smk_request *request, uint64_t *most)
{
    smk_plan plan = {.step_count = 0};
    bool found = false;
    if (request->variant->plan(request, &plan, NULL) != SMK_OK) {
        return false;
    }
    for (size_t i = 0; i < plan.step_count; i++) {
        found = found || plan.step[i].part == NULL;
        const bool larger = plan.step[i].part == NULL && plan.step[i].shared_bytes > *most;
        *most = larger ? plan.step[i].shared_bytes : *most;
    }
    return found;
}

/* The dynamic shared memory that a variant's plan asks for with dimensions of 1, the least where it depends on the
 * shape, or with the smallest for which it launches the kernel. 0 where the plan does not say. */
static uint64_t plan_bytes(const smk_kernel_resources *resources)
{
    const smk_variant *variant = resources->variant;
    const smk_family *family = variant == NULL ? NULL : smk_registry_find_family(variant->family);
    const char *type = strrchr(resources->entry, '_');
    char name[NAME_BYTES], choice[NAME_BYTES] = "";
    smk_signature signature;
    int64_t dimensions[SMK_DIMENSIONS_MAX], numbers[SMK_DIMENSIONS_MAX] = {0};
    uint64_t most = 0;
    if (family == NULL || family->signature == NULL || type == NULL ||
        smk_signature_parse(family->signature, &signature, NULL) != SMK_OK) {
        return 0;
    }
    const int length = snprintf(name, sizeof name, "%s_%s_", variant->family, variant->name);
    const size_t before = (size_t)(type - resources->entry);
    if (length > 0 && before > (size_t)length && before - (size_t)length < sizeof choice) {
        memcpy(choice, resources->entry + length, before - (size_t)length);
        choice[before - (size_t)length] = '\0';
    }
    if (choice[0] != '\0' && !is_choice(family->name, choice)) {
        return 0;
    }
    const smk_machine machine = {resources->limits->major * 10 + resources->limits->minor, SMK_H200_MULTIPROCESSORS,
                                 SIZE_MAX, NULL};
    const smk_request request = {
        .family = family,
        .variant = variant,
        .signature = &signature,
        .dimensions = dimensions,
        .numbers = numbers,
        .choice = choice,
        .type = type + 1,
        .item_bytes = strtoul(type + 1 + strcspn(type + 1, "0123456789"), NULL, 10) / 8, /* 4 for "float32" */
        .machine = &machine,
    };
    bool found = request.item_bytes == 0;
    for (int64_t size = 1; !found && size <= DIMENSION_MOST; size *= 2) {
        for (size_t i = 0; i < SMK_DIMENSIONS_MAX; i++) {
            dimensions[i] = size;
        }
        found = find_bytes(&request, &most);
    }
    return most;
}

void smk_kernel_resources_release(smk_kernel_resources *resources)
{
    Py_CLEAR(resources->kernel);
}

int smk_kernel_resources_read(smk_kernel_resources *resources, const smk_kernel_query *arguments)
{
    if (smk_limits_read(resources->state, resources->function, arguments->compute_capability, &resources->limits,
                        &resources->present) < 0 ||
        open_kernel(resources, arguments) < 0 || read_resources(resources, arguments->registers) < 0) {
        return -1;
    }
    resources->block.shared_dynamic = plan_bytes(resources);
    return 0;
}
