#include "py/calls/family_methods.h"

#include "py/calls/family.h"

#include "base/heap.h"
#include "registry/registry.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DOCUMENT_BYTES = 8192, EXAMPLE_LENGTH = 2, TYPES_BYTES = 256 };

#define SMK_KERNEL_GROUP(name, sentence)
#define SMK_FAMILY(name, signature, inputs, result, grid_x, grid_y, flops, sentence)                                   \
    static PyObject *call_##name(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)   \
    {                                                                                                                  \
        return smk_family_invoke(module, #name, arguments, given, keywords);                                           \
    }
#include "registry/families.def"
#undef SMK_FAMILY

static PyMethodDef methods[] = {
#define SMK_FAMILY(name, signature, inputs, result, grid_x, grid_y, flops, sentence)                                   \
    {#name, SMK_PY_FUNCTION(call_##name), SMK_PY_FAST, NULL},
#include "registry/families.def"
#undef SMK_FAMILY
#undef SMK_KERNEL_GROUP
    {NULL, NULL, 0, NULL},
};

/* The contract of a family, from which its docstring is written. */
typedef struct contract {
    const smk_family *family;
    smk_signature signature;
    smk_input input[SMK_OPERANDS_MAX_FAMILY];
    size_t inputs;
} contract;

typedef struct document {
    char *text;
    size_t used;
} document;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
write_text(document *d, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(d->text + d->used, DOCUMENT_BYTES - d->used, format, arguments);
    va_end(arguments);
    d->used += length > 0 ? (size_t)length : 0;
    d->used = d->used < DOCUMENT_BYTES ? d->used : DOCUMENT_BYTES - 1;
}

/* Writes a shape such as "(2, 3)". Dimension i of the example has the length i + 2, so that all lengths differ. */
static void write_shape(document *d, const smk_signature *signature, size_t operand)
{
    write_text(d, "(");
    for (size_t j = 0; j < signature->rank[operand]; j++) {
        bool last = j + 1 == signature->rank[operand];
        write_text(d, "%zu%s", signature->axis[operand][j] + EXAMPLE_LENGTH, !last ? ", " : j == 0 ? "," : "");
    }
    write_text(d, ")");
}

/* Writes the example, with the first type of the family's first variant. */
static void write_example(document *d, const contract *c)
{
    char type[SMK_NAME_MAX] = "float32";
    for (size_t i = 0; i < smk_registry_variant_count(); i++) {
        const smk_variant *row = smk_registry_variant(i);
        if (strcmp(row->family, c->family->name) == 0) {
            (void)smk_registry_word(row->types, 0, type, sizeof type);
            break;
        }
    }
    const char *first = strncmp(type, "bits", 4) == 0 ? "float32" : type;
    write_text(d, "Example\n-------\n>>> import numpy, smemkit\n");
    for (size_t i = 0; i < c->inputs; i++) {
        write_text(d, ">>> %s = numpy.ones(", c->input[i].name);
        write_shape(d, &c->signature, i);
        write_text(d, ", dtype=\"%s\")\n", c->input[i].type[0] != '\0' ? c->input[i].type : first);
    }
    write_text(d, ">>> smemkit.%s(", c->family->name);
    for (size_t i = 0; i < c->inputs; i++) {
        write_text(d, "%s, ", c->input[i].name);
    }
    write_text(d, "backend=\"sim\").shape\n");
    write_shape(d, &c->signature, c->inputs);
    write_text(d, "\n");
}

/* Writes a sentence of a table with a capital first letter; a digit stays as it is. */
static void write_sentence(document *d, const char *sentence)
{
    const bool is_lower = sentence[0] >= 'a' && sentence[0] <= 'z';
    write_text(d, "%c%s", is_lower ? sentence[0] - 'a' + 'A' : sentence[0], sentence + 1);
}

static void write_input(document *d, const contract *c, size_t i)
{
    const smk_input *input = &c->input[i];
    write_text(d, "%s : array-like or DeviceArray\n    ", input->name);
    if (input->is_flat) {
        write_text(d, "Of any shape, taken as one dimension. ");
    }
    if (input->type[0] != '\0') {
        write_text(d, "Converted to %s where nothing is lost; a device array must be %s. ", input->type, input->type);
    }
    write_text(d, "Any memory layout; never changed.\n");
}

static void write_attributes(document *d, const contract *c)
{
    const smk_attribute *attribute = NULL;
    for (size_t i = 0; (attribute = smk_registry_attribute(c->family->name, i)) != NULL; i++) {
        char word[SMK_NAME_MAX];
        if (attribute->kind == SMK_ATTRIBUTE_DEVICES) {
            continue; /* by keyword only */
        }
        write_text(d, "%s : ", attribute->name);
        for (size_t j = 0; smk_registry_word(attribute->choices, j, word, sizeof word); j++) {
            write_text(d, "%s\"%s\"", j == 0 ? "" : ", ", word);
        }
        write_text(d, "\n    ");
        write_sentence(d, attribute->meaning);
        write_text(d, ".\n");
    }
}

/* The attribute devices= of a family; NULL where it has none. */
static const smk_attribute *find_devices(const contract *c)
{
    const smk_attribute *attribute = NULL;
    for (size_t i = 0; (attribute = smk_registry_attribute(c->family->name, i)) != NULL; i++) {
        if (attribute->kind == SMK_ATTRIBUTE_DEVICES) {
            break;
        }
    }
    return attribute;
}

static void write_devices(document *d, const smk_attribute *attribute)
{
    write_text(d, "%s : list or tuple of devices, optional\n    Divides the product among them: ", attribute->name);
    write_text(
        d,
        "%s, of the same rows of a and of all of b.\n"
        "    Device arrays may live on any devices of the machine. What a device needs and does not hold comes in\n"
        "    pieces while it multiplies the piece before, and its rows go to out in pieces too: directly from device "
        "to\n"
        "    device where they reach each other's memory, else through the host. For the time of the call a device "
        "has\n"
        "    copies of what it does not hold: its rows of a and c, and b. The result is out, or a new array on the "
        "first\n"
        "    of the devices. Of NumPy arrays each device gets its rows of a, and the first one b for all of them. A\n"
        "    device that is named twice works as two would. It pays where a product takes much longer than the copies "
        "of\n"
        "    its operands: small ones, and many of NumPy arrays, are faster on one device.\n",
        attribute->meaning);
}

/* Writes that a variant computes something else: its row begins with "no". */
static void write_exceptions(document *d, const contract *c)
{
    for (size_t i = 0; i < smk_registry_variant_count(); i++) {
        const smk_variant *row = smk_registry_variant(i);
        if (strcmp(row->family, c->family->name) == 0 && strncmp(row->summary, "no ", strlen("no ")) == 0) {
            write_text(d, "    \"%s\" is %s.\n", row->name, row->summary);
        }
    }
}

static void write_parameters(document *d, const contract *c)
{
    write_text(d, "Parameters\n----------\n");
    for (size_t i = 0; i < c->inputs; i++) {
        write_input(d, c, i);
    }
    write_attributes(d, c);
    write_text(d,
               "variant : str\n"
               "    A key of smemkit.variants(\"%s\"), or \"auto\": the fastest that takes the call on the machine.\n",
               c->family->name);
    write_exceptions(d, c);
    write_text(d,
               "out : numpy.ndarray or DeviceArray, optional\n"
               "    Takes the result; of the same kind as the inputs, of the result's type and shape, writeable.\n"
               "    A NumPy array may overlap the inputs; a device array may not be one of them.\n"
               "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
               "    The machine; by default that of smemkit.get_backend(), or that of the device arrays.\n"
               "device : int, str or Device, optional\n"
               "    Of the machine; by default its present one, or that of the device arrays, which all live on one.\n"
               "stream : stream, optional\n"
               "    Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has\n"
               "    __cuda_stream__; by default that of `with stream:`, else the default stream.\n");
    if (find_devices(c) != NULL) {
        write_devices(d, find_devices(c));
    }
    write_text(d, "\n");
}

static void write_signature(document *d, const contract *c)
{
    const smk_attribute *attribute = NULL;
    write_text(d, "%s(", c->family->name);
    for (size_t i = 0; i < c->inputs; i++) {
        write_text(d, "%s, ", c->input[i].name);
    }
    for (size_t i = 0; (attribute = smk_registry_attribute(c->family->name, i)) != NULL; i++) {
        char first[SMK_NAME_MAX] = "";
        if (attribute->kind == SMK_ATTRIBUTE_DEVICES) {
            continue;
        }
        bool has = smk_registry_word(attribute->choices, 0, first, sizeof first);
        write_text(d, has ? "%s=\"%s\", " : "%s=None%s, ", attribute->name, first);
    }
    /* the empty line after "--" ends the text that inspect.signature reads */
    write_text(d, "*, variant=\"auto\", out=None, backend=None, device=None, stream=None%s)\n--\n\n",
               find_devices(c) != NULL ? ", devices=None" : "");
}

/* The name of an input and the shape of a stack of it: "a (..., m, k)". */
static void write_stack(document *d, const contract *c, size_t operand)
{
    write_text(d, "(...");
    for (size_t j = 0; j < c->signature.rank[operand]; j++) {
        write_text(d, ", %s", c->signature.dimension[c->signature.axis[operand][j]]);
    }
    write_text(d, ")");
}

static void write_shapes(document *d, const contract *c)
{
    const smk_stack *stack = smk_registry_stack(c->family->name);
    write_text(d, "Shapes\n------\n%s; any length, 0 included. ", c->family->signature);
    if (stack == NULL) {
        write_text(d, "No broadcasting.\n\n");
        return;
    }
    write_text(d, "Stacks give a stack of %ss:\n", stack->item);
    for (size_t i = 0; i <= c->inputs; i++) {
        write_stack(d, c, i);
        write_text(d, i + 1 < c->inputs ? ", " : i < c->inputs ? " -> " : "");
    }
    write_text(d, ", where the dimensions in front are broadcast as NumPy does.\n"
                  "Transposed arrays and views are read as they lie where the variant's kernels can, else copied.\n\n");
}

/* Writes which types have results of another one, by sums.def. */
static void write_sums(document *d, const contract *c)
{
    static const char *const types[] = {
#define SMK_SUM(family, type, sum) #family, #type, #sum,
#include "registry/sums.def"
#undef SMK_SUM
    };
    char accepted[TYPES_BYTES];
    smk_registry_types(c->family->name, accepted, sizeof accepted);
    const char *before = ".\nThe result has the type of the sums: ";
    for (size_t i = 0; i + 2 < sizeof types / sizeof types[0]; i += 3) {
        if (strcmp(types[i], c->family->name) == 0 && strstr(accepted, types[i + 1]) != NULL) {
            write_text(d, "%s%s of %s", before, types[i + 2], types[i + 1]);
            before = ", ";
        }
    }
    write_text(d, ".\n");
}

/* The same of sums that are a choice of the call, by choices.def. */
static void write_chosen_sums(document *d, const contract *c)
{
    static const struct {
        const char *family, *choice, *type, *result;
    } rows[] = {
#define SMK_CHOICE(family, choice, type, result, expression, neutral) {#family, #choice, #type, #result},
#define SMK_AXIS_CHOICE(family, choice, type, result, accumulator, expression, keep, neutral, finish)                  \
    SMK_CHOICE(family, choice, type, result, expression, neutral)
#include "registry/choices.def"
#undef SMK_AXIS_CHOICE
#undef SMK_CHOICE
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].family, c->family->name) == 0 && strcmp(rows[i].choice, "sum") == 0 &&
            strcmp(rows[i].type, rows[i].result) != 0) {
            write_text(d, "Sums of %s have the type %s, and so has an out for them.\n", rows[i].type, rows[i].result);
        }
    }
    write_text(d, "\n");
}

static void write_document(document *d, const contract *c)
{
    write_signature(d, c);
    write_sentence(d, c->family->sentence);
    char types[TYPES_BYTES];
    smk_registry_types(c->family->name, types, sizeof types);
    write_text(d,
               ".\n\nThe inputs are all NumPy or all device arrays%s. Arrays of CuPy, PyTorch, JAX and Numba count as\n"
               "device arrays where they lie on a GPU, else as NumPy arrays.\nElement types: %s",
               c->inputs > 1 && c->input[1].type[0] == '\0' ? ", of one type" : "", types);
    write_sums(d, c);
    write_chosen_sums(d, c);
    write_parameters(d, c);
    write_shapes(d, c);
    write_text(
        d,
        "Returns\n-------\nnumpy.ndarray%s for NumPy inputs, DeviceArray for device arrays; out itself where given.\n"
        "On the GPU a call with device arrays returns before the kernel has ended.\n\n"
        "Raises\n------\nArgumentTypeError (TypeError), ShapeError, ArgumentError (both ValueError), BackendError,\n"
        "OutOfMemoryError (MemoryError), StepBudgetError where SMEMKIT_MAX_STEPS is set too low.\n\n",
        c->signature.rank[c->inputs] == 0 ? " without axes, a scalar" : "");
    write_example(d, c);
}

PyMethodDef *smk_family_methods_get(void)
{
    for (PyMethodDef *row = methods; row->ml_name != NULL; row++) {
        contract found = {.family = smk_registry_find_family(row->ml_name)};
        smk_error error = {0};
        if (row->ml_doc != NULL) {
            continue; /* of an earlier import; the text lives as long as the process */
        }
        if (found.family == NULL || smk_signature_parse(found.family->signature, &found.signature, &error) != SMK_OK ||
            smk_registry_inputs(found.family, found.input, &found.inputs, &error) != SMK_OK ||
            found.signature.input_count != found.inputs || found.signature.output_count != 1) {
            PyErr_Format(PyExc_SystemError, "families.def: %s: %s", row->ml_name, error.message);
            return NULL;
        }
        document d = {smk_heap_allocate(DOCUMENT_BYTES, 1), 0};
        if (d.text == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        write_document(&d, &found);
        row->ml_doc = d.text;
    }
    return methods;
}
