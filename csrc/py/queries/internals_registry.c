#include "py/queries/internals_registry.h"

#include "py/error.h"
#include "py/queries/catalog.h"
#include "py/state.h"

#include "registry/plan.h"
#include "registry/registry.h"

/* Reads the integers of a sequence, at most `room`. Returns their number, or -1 with an exception set. */
static Py_ssize_t read_integers(PyObject *sequence, int64_t *values, Py_ssize_t room)
{
    PyObject *tuple = PySequence_Tuple(sequence);
    Py_ssize_t count = tuple == NULL ? -1 : PyTuple_GET_SIZE(tuple);
    if (count > room) {
        PyErr_Format(PyExc_ValueError, "at most %zd numbers, not %zd", room, count);
        count = -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        values[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
        if (values[i] == -1 && PyErr_Occurred()) {
            count = -1;
        }
    }
    Py_XDECREF(tuple);
    return count;
}

/* _registry_plan(family, variant, dimensions) -> (grid, block, empty): (x, y, z), (x, y, z), bool */
static const char registry_plan_doc[] = "_registry_plan(family, variant, dimensions, /)\n--\n\n";

static PyObject *call_registry_plan(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    const smk_state *state = smk_state_of_module(module);
    int64_t dimensions[SMK_DIMENSIONS_MAX] = {0};
    smk_dim3 grid = {0}, block = {0};
    smk_error error = {0};
    bool empty = false;
    const char *family = given == 3 ? PyUnicode_AsUTF8(arguments[0]) : NULL;
    const char *name = family != NULL ? PyUnicode_AsUTF8(arguments[1]) : NULL;
    if (name == NULL || read_integers(arguments[2], dimensions, SMK_DIMENSIONS_MAX) < 0) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "_registry_plan(family, variant, dimensions) takes 3 arguments");
        }
        return NULL;
    }
    const smk_variant *variant = smk_catalog_find(state, family, name);
    if (variant == NULL) {
        return NULL;
    }
    if (smk_plan_grid(smk_registry_find_family(family), variant, dimensions, &grid, &block, &empty, &error) != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    return Py_BuildValue("(III)(III)N", grid.x, grid.y, grid.z, block.x, block.y, block.z, PyBool_FromLong(empty));
}

/* _flops(family, dimensions) -> float: operations as families.def counts them, 0 for a family that only moves bytes */
static const char flops_doc[] = "_flops(family, dimensions, /)\n--\n\n";

static PyObject *call_flops(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    int64_t dimensions[SMK_DIMENSIONS_MAX] = {0};
    const char *name = given == 2 ? PyUnicode_AsUTF8(arguments[0]) : NULL;
    if (name == NULL || read_integers(arguments[1], dimensions, SMK_DIMENSIONS_MAX) < 0) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "_flops(family, dimensions) takes 2 arguments");
        }
        return NULL;
    }
    const smk_family *family = smk_registry_find_family(name);
    if (family == NULL || family->flops == NULL) {
        return smk_error_fail(smk_state_of_module(module), SMK_ARGUMENT, "no kernel family '%.60s' has a contract",
                              name);
    }
    return PyFloat_FromDouble(family->flops(dimensions));
}

static PyObject *describe_dimensions(const smk_signature *signature, const int64_t *dimensions)
{
    PyObject *result = PyDict_New();
    for (size_t i = 0; result != NULL && i < signature->dimension_count; i++) {
        PyObject *length = PyLong_FromLongLong(dimensions[i]);
        if (length == NULL || PyDict_SetItemString(result, signature->dimension[i], length) < 0) {
            Py_CLEAR(result);
        }
        Py_XDECREF(length);
    }
    return result;
}

/* _signature_bind(signature, family, names, shapes) -> {"m": 3, ...} */
static const char signature_bind_doc[] = "_signature_bind(signature, family, names, shapes, /)\n--\n\n";

static PyObject *call_signature_bind(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    enum { AXES_MAX = 64 };
    const smk_state *state = smk_state_of_module(module);
    const char *names[SMK_OPERANDS_MAX_FAMILY + 1] = {NULL};
    int64_t lengths[SMK_OPERANDS_MAX_FAMILY + 1][AXES_MAX];
    const int64_t *shapes[SMK_OPERANDS_MAX_FAMILY + 1];
    size_t ranks[SMK_OPERANDS_MAX_FAMILY + 1] = {0};
    int64_t dimensions[SMK_DIMENSIONS_MAX] = {0};
    smk_signature signature;
    smk_error error = {0};
    PyObject *result = NULL, *name_tuple = NULL, *shape_tuple = NULL;
    const char *text = given == 4 ? PyUnicode_AsUTF8(arguments[0]) : NULL;
    const char *family = text != NULL ? PyUnicode_AsUTF8(arguments[1]) : NULL;
    if (family == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "_signature_bind(signature, family, names, shapes) takes 4 arguments");
        }
        return NULL;
    }
    name_tuple = PySequence_Tuple(arguments[2]);
    shape_tuple = PySequence_Tuple(arguments[3]);
    if (name_tuple == NULL || shape_tuple == NULL) {
        goto done;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(shape_tuple);
    if (count > SMK_OPERANDS_MAX_FAMILY + 1 || PyTuple_GET_SIZE(name_tuple) != count) {
        PyErr_SetString(PyExc_ValueError, "too many shapes, or another number of names");
        goto done;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        names[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(name_tuple, i));
        Py_ssize_t rank = names[i] == NULL ? -1 : read_integers(PyTuple_GET_ITEM(shape_tuple, i), lengths[i], AXES_MAX);
        if (rank < 0) {
            goto done;
        }
        ranks[i] = (size_t)rank;
        shapes[i] = lengths[i];
    }
    if (smk_signature_parse(text, &signature, &error) != SMK_OK ||
        smk_signature_bind(&signature, family, names, ranks, shapes, (size_t)count, dimensions, &error) != SMK_OK) {
        smk_error_raise(state, &error);
        goto done;
    }
    result = describe_dimensions(&signature, dimensions);
done:
    Py_XDECREF(name_tuple);
    Py_XDECREF(shape_tuple);
    return result;
}

PyMethodDef smk_internals_registry_methods[] = {
    {"_registry_plan", SMK_PY_FUNCTION(call_registry_plan), METH_FASTCALL, registry_plan_doc},
    {"_flops", SMK_PY_FUNCTION(call_flops), METH_FASTCALL, flops_doc},
    {"_signature_bind", SMK_PY_FUNCTION(call_signature_bind), METH_FASTCALL, signature_bind_doc},
    {NULL, NULL, 0, NULL},
};
