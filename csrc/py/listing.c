#include "listing.h"

#include "bind.h"
#include "error.h"
#include "shelf.h"

#include "../base/heap.h"

#include <string.h>

/* A dict entry that takes the reference to value; NULL passes an error on. */
static int set_item(PyObject *dict, const char *key, PyObject *value)
{
    if (value == NULL) {
        return -1;
    }
    int status = PyDict_SetItemString(dict, key, value);
    Py_DECREF(value);
    return status;
}

/* A tuple of all items of a list, which it takes; NULL passes an error on. */
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

PyObject *smk_listing_families(PyObject *module, PyObject *ignored)
{
    PyObject *result = PyDict_New();
    (void)module;
    (void)ignored;
    for (size_t i = 0; result != NULL && i < smk_registry_family_count(); i++) {
        const smk_family *family = smk_registry_family(i);
        PyObject *facts = PyDict_New();
        if (facts == NULL || set_item(facts, "signature", PyUnicode_FromString(family->signature)) < 0 ||
            set_item(facts, "shows", PyUnicode_FromString(family->sentence)) < 0 ||
            set_item(facts, "variants", list_variants(family)) < 0 ||
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
    if (facts != NULL && (set_item(facts, "shows", PyUnicode_FromString(variant->shows)) < 0 ||
                          set_item(facts, "dtypes", split_types(variant)) < 0 ||
                          set_item(facts, "block", Py_BuildValue("(II)", variant->block_x, variant->block_y)) < 0 ||
                          set_item(facts, "tile", Py_BuildValue("(II)", variant->tile_x, variant->tile_y)) < 0 ||
                          set_item(facts, "auto", PyBool_FromLong(variant->speed > 0)) < 0)) {
        Py_CLEAR(facts);
    }
    return facts;
}

PyObject *smk_listing_variants(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"family"};
    static const smk_call call = {"variants", names, 1, 1, 1};
    const smk_state *state = smk_core_state(module);
    PyObject *values[1], *result = NULL;
    smk_error error = {0};
    const smk_variant *ignored = NULL;
    if (smk_bind_call(&call, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    const char *family = smk_bind_text(state, "variants", "family", values[0]);
    if (family == NULL) {
        return NULL;
    }
    if (smk_registry_find_family(family) == NULL) {
        /* the registry words the refusal, with the families that there are */
        (void)smk_registry_select(family, "auto", "", &ignored, &error);
        return smk_error_raise(state, &error);
    }
    result = PyDict_New();
    for (size_t i = 0; result != NULL && i < smk_registry_variant_count(); i++) {
        const smk_variant *variant = smk_registry_variant(i);
        if (strcmp(variant->family, family) == 0 && set_item(result, variant->name, describe(variant)) < 0) {
            Py_CLEAR(result);
        }
    }
    return result;
}

const smk_variant *smk_listing_find(const smk_state *state, const char *family, const char *variant)
{
    smk_error error = {0};
    const smk_variant *selected = NULL;
    for (size_t i = 0; i < smk_registry_variant_count(); i++) {
        const smk_variant *row = smk_registry_variant(i);
        if (strcmp(row->family, family) == 0 && strcmp(row->name, variant) == 0) {
            return row;
        }
    }
    smk_status status = smk_registry_select(family, variant, "", &selected, &error);
    if (status != SMK_ARGUMENT) { /* "auto", which stands for no file */
        smk_error_fail(state, SMK_ARGUMENT, "%s: name one variant, not '%s'", family, variant);
    } else {
        smk_error_raise(state, &error);
    }
    return NULL;
}

static PyObject *read_text(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords,
                           const char *function, const char *kind)
{
    static const char *const names[] = {"family", "variant"};
    const smk_call call = {function, names, 2, 2, 2};
    const smk_state *state = smk_core_state(module);
    PyObject *values[2], *result = NULL;
    smk_error error = {0};
    smk_status status = SMK_OK;
    char *text = NULL;
    size_t length = 0;
    if (smk_bind_call(&call, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    const char *family = smk_bind_text(state, function, "family", values[0]);
    const char *name = family == NULL ? NULL : smk_bind_text(state, function, "variant", values[1]);
    const smk_variant *variant = name == NULL ? NULL : smk_listing_find(state, family, name);
    if (variant == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = smk_shelf_read(state, variant, kind, &text, &length, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "strict");
    smk_heap_free(text);
    return result;
}

PyObject *smk_listing_source(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    return read_text(module, arguments, given, keywords, "source", "cu");
}

PyObject *smk_listing_ptx(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    return read_text(module, arguments, given, keywords, "ptx", "ptx");
}
