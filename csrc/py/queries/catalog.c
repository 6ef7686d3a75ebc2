#include "py/queries/catalog.h"

#include "py/arrays/bfloat16.h"
#include "py/arrays/ndarray.h"
#include "py/backends/package_kernels.h"
#include "py/calls/raw_kernel.h"
#include "py/calls/raw_module.h"
#include "py/dict.h"
#include "py/error.h"
#include "py/keywords.h"

#include "base/heap.h"

#include <stdio.h>
#include <string.h>

/* Converts a list to a tuple. Steals the reference; NULL where the list is NULL. */
static PyObject *freeze(PyObject *list)
{
    PyObject *tuple = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return tuple;
}

static PyObject *list_variants(const smk_family *family)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < smk_registry_variant_count(); i++) {
        const smk_variant *variant = smk_registry_variant(i);
        PyObject *name = NULL;
        if (strcmp(variant->family, family->name) != 0) {
            continue;
        }
        name = PyUnicode_FromString(variant->name);
        if (name == NULL || PyList_Append(list, name) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(name);
    }
    return freeze(list);
}

static PyObject *optional_text(const char *text)
{
    return text == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(text);
}

static const char families_doc[] =
    "families()\n--\n\n"
    "The kernel families.\n\n"
    "Shapes\n------\n"
    "A family's signature is in the language of NumPy's generalised ufuncs.\n\n"
    "Returns\n-------\n"
    "dict from name to {\"signature\": str, \"shows\": str, \"variants\": tuple of names}\n\n"
    "Raises\n------\n"
    "Nothing.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> smemkit.families()[\"gemm\"][\"signature\"]\n"
    "'(m,k),(k,n)->(m,n)'\n";

static PyObject *call_families(PyObject *module, PyObject *ignored)
{
    PyObject *result = PyDict_New();
    (void)module;
    (void)ignored;
    for (size_t i = 0; result != NULL && i < smk_registry_family_count(); i++) {
        const smk_family *family = smk_registry_family(i);
        PyObject *facts = PyDict_New();
        if (facts == NULL || smk_dict_set(facts, "signature", optional_text(family->signature)) < 0 ||
            smk_dict_set(facts, "shows", PyUnicode_FromString(family->sentence)) < 0 ||
            smk_dict_set(facts, "variants", list_variants(family)) < 0 ||
            PyDict_SetItemString(result, family->name, facts) < 0) {
            Py_CLEAR(result);
        }
        Py_XDECREF(facts);
    }
    return result;
}

/* "float32 float64" -> ("float32", "float64") */
static PyObject *split_types(const smk_variant *variant)
{
    PyObject *text = PyUnicode_FromString(variant->types), *list = NULL;
    if (text != NULL) {
        list = PyUnicode_Split(text, NULL, -1);
        Py_DECREF(text);
    }
    return freeze(list);
}

static PyObject *describe(const smk_variant *variant)
{
    PyObject *facts = PyDict_New();
    if (facts != NULL && (smk_dict_set(facts, "shows", PyUnicode_FromString(variant->summary)) < 0 ||
                          smk_dict_set(facts, "dtypes", split_types(variant)) < 0 ||
                          smk_dict_set(facts, "block", Py_BuildValue("(II)", variant->block_x, variant->block_y)) < 0 ||
                          smk_dict_set(facts, "tile", Py_BuildValue("(II)", variant->tile_x, variant->tile_y)) < 0 ||
                          smk_dict_set(facts, "compute_capability",
                                       PyUnicode_FromFormat("%d.%d", variant->arch / 10, variant->arch % 10)) < 0 ||
                          smk_dict_set(facts, "auto", PyBool_FromLong(variant->speed > 0)) < 0)) {
        Py_CLEAR(facts);
    }
    return facts;
}

static const char variants_doc[] =
    "variants(family)\n--\n\n"
    "The variants of a family: what each shows and accepts.\n\n"
    "Parameters\n----------\n"
    "family : str\n"
    "    A key of smemkit.families().\n\n"
    "Shapes\n------\n"
    "block is threads, tile is elements of the result that one block computes, both (x, y).\n\n"
    "Returns\n-------\n"
    "dict from name to {\"shows\": str, \"dtypes\": tuple of str, \"block\": (x, y), \"tile\": (x, y),\n"
    "\"compute_capability\": str, \"auto\": bool}; dtypes are NumPy's names, or bits8 to bits128: any "
    "type\n"
    "of that size; compute_capability is the lowest it runs on; auto says whether variant=\"auto\" may take it.\n\n"
    "Raises\n------\n"
    "ArgumentError (ValueError) where there is no such family.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> smemkit.variants(\"gemm\")[\"padded\"][\"tile\"]\n"
    "(32, 32)\n";

static PyObject *call_variants(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"family"};
    static const smk_keywords accepted = {"variants", names, 1, 1, 1};
    const smk_state *state = smk_state_of_module(module);
    PyObject *values[1], *result = NULL;
    smk_error error = {0};
    const smk_variant *ignored = NULL;
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    const char *family = smk_keywords_text(state, "variants", "family", values[0]);
    if (family == NULL) {
        return NULL;
    }
    if (smk_registry_find_family(family) == NULL) {
        /* the message of the registry lists the families */
        (void)smk_registry_select(family, "auto", "", &ignored, &error);
        return smk_error_raise(state, &error);
    }
    result = PyDict_New();
    for (size_t i = 0; result != NULL && i < smk_registry_variant_count(); i++) {
        const smk_variant *variant = smk_registry_variant(i);
        if (strcmp(variant->family, family) == 0 && smk_dict_set(result, variant->name, describe(variant)) < 0) {
            Py_CLEAR(result);
        }
    }
    return result;
}

const smk_variant *smk_catalog_find(const smk_state *state, const char *family, const char *variant)
{
    smk_error error = {0};
    const smk_variant *selected = NULL;
    for (size_t i = 0; i < smk_registry_variant_count(); i++) {
        const smk_variant *row = smk_registry_variant(i);
        if (strcmp(row->family, family) == 0 && strcmp(row->name, variant) == 0) {
            return row;
        }
    }
    if (smk_registry_find_family(family) == NULL) {
        (void)smk_registry_select(family, variant, "", &selected, &error);
    } else {
        (void)smk_registry_refuse_variant(family, variant, true, &error);
    }
    smk_error_raise(state, &error);
    return NULL;
}

static PyObject *read_text(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords,
                           const char *function, const char *kind)
{
    static const char *const names[] = {"family", "variant"};
    const smk_keywords accepted = {function, names, 2, 2, 2};
    const smk_state *state = smk_state_of_module(module);
    PyObject *values[2], *result = NULL;
    smk_error error = {0};
    smk_status status = SMK_OK;
    char *text = NULL;
    size_t length = 0;
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    const char *family = smk_keywords_text(state, function, "family", values[0]);
    const char *name = family == NULL ? NULL : smk_keywords_text(state, function, "variant", values[1]);
    const smk_variant *variant = name == NULL ? NULL : smk_catalog_find(state, family, name);
    if (variant == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = smk_package_kernels_read(state, variant, kind, &text, &length, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "strict");
    smk_heap_free(text);
    return result;
}

static const char source_doc[] =
    "source(family, variant)\n--\n\n"
    "The CUDA C source of a kernel; T stands for the element type.\n\n"
    "Parameters\n----------\n"
    "family, variant : str\n"
    "    Keys of smemkit.families() and smemkit.variants(family).\n\n"
    "Shapes\n------\n"
    "None.\n\n"
    "Returns\n-------\n"
    "str\n\n"
    "Raises\n------\n"
    "ArgumentError (ValueError) where there is no such variant; it lists those there are.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> \"__global__\" in smemkit.source(\"gemm\", \"padded\")\n"
    "True\n";

static PyObject *call_source(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    return read_text(module, arguments, given, keywords, "source", "cu");
}

static const char ptx_doc[] = "ptx(family, variant)\n--\n\n"
                              "The PTX of a kernel: one entry for each element type, <family>_<variant>_<dtype>.\n\n"
                              "Parameters\n----------\n"
                              "family, variant : str\n"
                              "    Keys of smemkit.families() and smemkit.variants(family).\n\n"
                              "Shapes\n------\n"
                              "None.\n\n"
                              "Returns\n-------\n"
                              "str\n\n"
                              "Raises\n------\n"
                              "ArgumentError (ValueError) where there is no such variant; it lists those there are.\n\n"
                              "Example\n-------\n"
                              ">>> import smemkit\n"
                              ">>> smemkit.RawModule(smemkit.ptx(\"gemm\", \"tiled\")).kernels\n"
                              "('gemm_tiled_float32', 'gemm_tiled_float64')\n";

static PyObject *call_ptx(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    return read_text(module, arguments, given, keywords, "ptx", "ptx");
}

/* Finds the type's word as the row spells it: "float32" itself, or bits32 for it. Returns 0, or -1 with an exception
 * set. */
static int find_type(const smk_state *state, const smk_variant *variant, PyObject *value, char *type, size_t type_bytes)
{
    PyArray_Descr *descr = NULL;
    PyObject *name = NULL;
    int64_t index = 0;
    if (value == NULL) {
        return smk_registry_word(variant->types, 0, type, type_bytes) ? 0 : -1;
    }
    if (smk_bfloat16_convert(value, &descr) == NPY_FAIL) {
        return -1;
    }
    name = smk_ndarray_type_name(descr);
    const char *text = name == NULL ? NULL : PyUnicode_AsUTF8(name);
    if (text != NULL) {
        (void)snprintf(type, type_bytes, "%s", text);
        const char *own = smk_registry_type(variant, text);
        if (own != NULL) {
            (void)snprintf(type, type_bytes, "%s", own);
        } else {
            (void)snprintf(type, type_bytes, "bits%d", (int)PyDataType_ELSIZE(descr) * 8);
        }
        if (!smk_registry_lists(variant->types, type, &index)) {
            smk_error_fail(state, SMK_TYPE, "%s variant '%s' is compiled for %s, not %s", variant->family,
                           variant->name, variant->types, text);
            text = NULL;
        }
    }
    Py_XDECREF(name);
    Py_DECREF(descr);
    return text == NULL ? -1 : 0;
}

/* Finds the compiled choice by name, by default the first; "" where the family has none. Returns 0, or -1 with an
 * exception set. */
static int find_choice(const smk_state *state, const smk_variant *variant, PyObject *value, char *choice,
                       size_t choice_bytes)
{
    const smk_attribute *attribute = NULL;
    int64_t index = 0;
    for (size_t i = 0; (attribute = smk_registry_attribute(variant->family, i)) != NULL; i++) {
        if (attribute->kind == SMK_ATTRIBUTE_COMPILED) {
            break;
        }
    }
    const char *word = value == NULL ? NULL : smk_keywords_text(state, "kernel", "choice", value);
    if (value != NULL && word == NULL) {
        return -1;
    }
    if (attribute == NULL && word != NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "%s has no choices that are compiled in", variant->family);
        return -1;
    }
    if (word != NULL && !smk_registry_lists(attribute->choices, word, &index)) {
        smk_error_fail(state, SMK_ARGUMENT, "%s: choice is '%s', accepted are: %s", variant->family, word,
                       attribute->choices);
        return -1;
    }
    if (attribute != NULL) {
        (void)smk_registry_word(attribute->choices, (size_t)index, choice, choice_bytes);
    }
    return 0;
}

PyObject *smk_catalog_kernel(const smk_state *state, PyObject *family, PyObject *variant, PyObject *dtype,
                             PyObject *choice)
{
    enum { ENTRY_BYTES = 128 };
    char type[SMK_NAME_MAX] = "", word[SMK_NAME_MAX] = "", entry[ENTRY_BYTES];
    PyObject *name = NULL, *result = NULL;
    smk_raw_module *code = NULL;
    const char *family_name = smk_keywords_text(state, "kernel", "family", family);
    const char *variant_name = family_name == NULL ? NULL : smk_keywords_text(state, "kernel", "variant", variant);
    const smk_variant *row = variant_name == NULL ? NULL : smk_catalog_find(state, family_name, variant_name);
    if (row == NULL || find_type(state, row, dtype, type, sizeof type) < 0 ||
        find_choice(state, row, choice, word, sizeof word) < 0) {
        return NULL;
    }
    smk_registry_entry(row, "", word, type, entry, sizeof entry);
    name = PyUnicode_FromString(entry);
    code = name == NULL ? NULL : smk_raw_module_of_variant(state, row);
    if (code != NULL) {
        result = smk_raw_kernel_create(state, code, name);
        Py_DECREF(code);
    }
    Py_XDECREF(name);
    return result;
}

static const char kernel_doc[] =
    "kernel(family, variant, dtype=None, choice=None)\n--\n\n"
    "One of the package's kernels as a RawKernel, for launches, profiles and checks of your own.\n\n"
    "Parameters\n----------\n"
    "family, variant : str\n"
    "    Keys of smemkit.families() and smemkit.variants(family).\n"
    "dtype : dtype-like, optional\n"
    "    The element type; by default the first that the variant takes.\n"
    "choice : str, optional\n"
    "    Where the family compiles a choice in (the op of reduce): which; by default the first.\n\n"
    "Shapes\n------\n"
    "None; the kernel's header says what its parameters are, and smemkit.variants its block.\n\n"
    "Returns\n-------\n"
    "RawKernel\n\n"
    "Raises\n------\n"
    "ArgumentError (ValueError), ArgumentTypeError (TypeError).\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> smemkit.kernel(\"gemm\", \"padded\", \"float64\").name\n"
    "'gemm_padded_float64'\n";

static PyObject *call_kernel(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"family", "variant", "dtype", "choice"};
    static const smk_keywords accepted = {"kernel", names, 4, 4, 2};
    PyObject *values[4];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    return smk_catalog_kernel(smk_state_of_module(module), values[0], values[1], smk_keywords_optional(values[2]),
                              smk_keywords_optional(values[3]));
}

PyMethodDef smk_catalog_methods[] = {
    {"families", call_families, METH_NOARGS, families_doc},
    {"variants", SMK_PY_FUNCTION(call_variants), SMK_PY_FAST, variants_doc},
    {"source", SMK_PY_FUNCTION(call_source), SMK_PY_FAST, source_doc},
    {"ptx", SMK_PY_FUNCTION(call_ptx), SMK_PY_FAST, ptx_doc},
    {"kernel", SMK_PY_FUNCTION(call_kernel), SMK_PY_FAST, kernel_doc},
    {NULL, NULL, 0, NULL},
};
