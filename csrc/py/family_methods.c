/* The families' rows in the method table, with docstrings written from the registry. */
#include "family.h"

#include "../base/heap.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DOCUMENT_BYTES = 8192, EXAMPLE_LENGTH = 2 };

#define SMK_FAMILY(name, signature, grid_x, grid_y, flops, sentence)                                                   \
    static PyObject *call_##name(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)   \
    {                                                                                                                  \
        return smk_family_call(module, #name, arguments, given, keywords);                                             \
    }
#include "../registry/families.def"
#undef SMK_FAMILY

static PyMethodDef methods[] = {
#define SMK_FAMILY(name, signature, grid_x, grid_y, flops, sentence)                                                   \
    {#name, SMK_PY_FUNCTION(call_##name), SMK_PY_FAST, NULL},
#include "../registry/families.def"
#undef SMK_FAMILY
    {NULL, NULL, 0, NULL},
};

typedef struct document {
    char *text;
    size_t used;
} document;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void write_text(document *d, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(d->text + d->used, DOCUMENT_BYTES - d->used, format, arguments);
    va_end(arguments);
    d->used += length > 0 ? (size_t)length : 0;
    d->used = d->used < DOCUMENT_BYTES ? d->used : DOCUMENT_BYTES - 1;
}

/* "(2, 3)": dimension i of the example has the length i + 2, so that all differ. */
static void write_shape(document *d, const smk_signature *signature, size_t operand)
{
    write_text(d, "(");
    for (size_t j = 0; j < signature->rank[operand]; j++) {
        bool last = j + 1 == signature->rank[operand];
        write_text(d, "%zu%s", signature->axis[operand][j] + EXAMPLE_LENGTH, !last ? ", " : j == 0 ? "," : "");
    }
    write_text(d, ")");
}

static void write_example(document *d, const smk_family *family, const smk_signature *signature)
{
    write_text(d, "Example\n-------\n>>> import numpy, smemkit\n");
    for (size_t i = 0; i < signature->input_count; i++) {
        write_text(d, ">>> %s = numpy.ones(", smk_family_input_names[i]);
        write_shape(d, signature, i);
        write_text(d, ", dtype=\"float32\")\n");
    }
    write_text(d, ">>> smemkit.%s(", family->name);
    for (size_t i = 0; i < signature->input_count; i++) {
        write_text(d, "%s, ", smk_family_input_names[i]);
    }
    write_text(d, "backend=\"sim\").shape\n");
    write_shape(d, signature, signature->input_count);
    write_text(d, "\n");
}

static void write_parameters(document *d, const smk_family *family, const smk_signature *signature)
{
    write_text(d, "Parameters\n----------\n");
    for (size_t i = 0; i < signature->input_count; i++) {
        write_text(d, "%s%s", smk_family_input_names[i], i + 1 < signature->input_count ? ", " : "");
    }
    write_text(d,
               " : array-like or DeviceArray\n"
               "    All NumPy or all device arrays, of one type. Any memory layout; never changed.\n"
               "variant : str\n"
               "    A key of smemkit.variants(\"%s\"), or \"auto\": the fastest that takes the type.\n"
               "out : numpy.ndarray or DeviceArray, optional\n"
               "    Takes the result; of the same kind as the inputs, of the result's type and shape, writeable.\n"
               "    A NumPy array may overlap the inputs; a device array may not be one of them.\n"
               "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
               "    The machine; by default that of smemkit.get_backend(), or that of the device arrays.\n\n",
               family->name);
}

static void write_document(document *d, const smk_family *family, const smk_signature *signature)
{
    write_text(d, "%s(", family->name);
    for (size_t i = 0; i < signature->input_count; i++) {
        write_text(d, "%s, ", smk_family_input_names[i]);
    }
    /* the blank row after "--" ends what inspect.signature reads */
    write_text(d, "*, variant=\"auto\", out=None, backend=None)\n--\n\n%s\n\n", family->sentence);
    write_parameters(d, family, signature);
    write_text(d, "Shapes\n------\n%s; any length, 0 included. No broadcasting.\n\n", family->signature);
    write_text(
        d, "Returns\n-------\nnumpy.ndarray for NumPy inputs, DeviceArray for device arrays; out itself where given.\n"
           "On the GPU a call with device arrays returns before the kernel has ended.\n\n"
           "Raises\n------\nArgumentTypeError (TypeError), ShapeError, ArgumentError (both ValueError), BackendError,\n"
           "OutOfMemoryError (MemoryError), StepBudgetError where SMEMKIT_MAX_STEPS is set too low.\n\n");
    write_example(d, family, signature);
}

PyMethodDef *smk_family_methods(void)
{
    for (PyMethodDef *row = methods; row->ml_name != NULL; row++) {
        const smk_family *family = smk_registry_find_family(row->ml_name);
        smk_signature signature;
        smk_error error = {0};
        if (row->ml_doc != NULL) {
            continue; /* a second import; the text lives as long as the process */
        }
        if (family == NULL || smk_signature_parse(family->signature, &signature, &error) != SMK_OK ||
            signature.input_count > SMK_FAMILY_INPUTS_MAX || signature.output_count != 1) {
            PyErr_Format(PyExc_SystemError, "families.def: %s: %s", row->ml_name, error.message);
            return NULL;
        }
        document d = {smk_heap_allocate(DOCUMENT_BYTES, 1), 0};
        if (d.text == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        write_document(&d, family, &signature);
        row->ml_doc = d.text;
    }
    return methods;
}
