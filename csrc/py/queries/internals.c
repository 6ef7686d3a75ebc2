#include "py/queries/internals.h"

#include "py/backends/backend_sim.h"
#include "py/error.h"
#include "py/queries/catalog.h"
#include "py/state.h"

#include "base/heap.h"
#include "base/quota.h"
#include "registry/plan.h"
#include "sim/code/isa.h"
#include "sim/profile/count.h"

/* The characters of a str or bytes; NULL with an exception set. */
static const char *get_text(PyObject *object, Py_ssize_t *length)
{
    if (PyBytes_Check(object)) {
        *length = PyBytes_GET_SIZE(object);
        return PyBytes_AS_STRING(object);
    }
    return PyUnicode_AsUTF8AndSize(object, length);
}

/* _ptx_print(text) -> str */
static const char ptx_print_doc[] = "_ptx_print(text, /)\n--\n\n";

static PyObject *call_ptx_print(PyObject *module, PyObject *text)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    smk_module *parsed = NULL;
    char *printed = NULL;
    size_t printed_length = 0;
    Py_ssize_t length = 0;
    PyObject *result = NULL;
    const char *start = get_text(text, &length);
    if (start == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = smk_parse_module(start, (size_t)length, &parsed, &error);
    if (status == SMK_OK) {
        status = smk_printer_print(parsed, &printed, &printed_length, &error);
    }
    smk_module_free(parsed);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        return smk_error_raise(smk_state_of_module(module), &error);
    }
    result = PyUnicode_DecodeUTF8(printed, (Py_ssize_t)printed_length, "surrogateescape");
    smk_heap_free(printed);
    return result;
}

/* _ptx_equal(a, b) -> bool: whether two texts declare the same module */
static const char ptx_equal_doc[] = "_ptx_equal(a, b, /)\n--\n\n";

static PyObject *call_ptx_equal(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    smk_module *parsed[2] = {NULL, NULL};
    const char *texts[2];
    Py_ssize_t lengths[2];
    bool equal = false;
    if (given != 2) {
        PyErr_SetString(PyExc_TypeError, "_ptx_equal(a, b) takes 2 arguments");
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        texts[i] = get_text(arguments[i], &lengths[i]);
        if (texts[i] == NULL) {
            return NULL;
        }
    }
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; i < 2 && status == SMK_OK; i++) {
        status = smk_parse_module(texts[i], (size_t)lengths[i], &parsed[i], &error);
    }
    equal = status == SMK_OK && smk_equal_modules(parsed[0], parsed[1]);
    smk_module_free(parsed[0]);
    smk_module_free(parsed[1]);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        return smk_error_raise(smk_state_of_module(module), &error);
    }
    return PyBool_FromLong(equal);
}

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

/* _fail_after(n): makes the n-th allocation from now of the layers below fail; 0 stops that */
static const char fail_after_doc[] = "_fail_after(count, /)\n--\n\n";

static PyObject *call_fail_after(PyObject *module, PyObject *count)
{
    unsigned long long after = PyLong_AsUnsignedLongLong(count);
    (void)module;
    if (PyErr_Occurred()) {
        return NULL;
    }
    smk_heap_fail_after(after);
    Py_RETURN_NONE;
}

static PyObject *describe_limit(uint64_t limit, bool limited)
{
    return limited ? PyLong_FromUnsignedLongLong(limit) : Py_NewRef(Py_None);
}

/* _quota(root) -> (bytes of memory or None, cores or None): the limits of the control groups below a folder */
static const char quota_doc[] = "_quota(root, /)\n--\n\n";

static PyObject *call_quota(PyObject *module, PyObject *root)
{
    const char *folder = PyUnicode_AsUTF8(root);
    (void)module;
    if (folder == NULL) {
        return NULL;
    }
    const smk_quota quota = smk_quota_read(folder);
    return Py_BuildValue("(NN)", describe_limit(quota.memory_bytes, quota.memory_bytes != UINT64_MAX),
                         describe_limit(quota.cores, quota.cores != 0));
}

/* _isa() -> "avx512", "avx2" or "baseline" */
static const char isa_doc[] = "_isa()\n--\n\n";

static PyObject *call_isa(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return PyUnicode_FromString(smk_isa_name());
}

/* _run_stats() -> {"steps", "blocks", "threads"} of this thread's last simulation */
static const char run_stats_doc[] = "_run_stats()\n--\n\n";

static PyObject *call_run_stats(PyObject *module, PyObject *ignored)
{
    smk_run_result last = smk_backend_sim_last_run();
    (void)module;
    (void)ignored;
    return Py_BuildValue("{s:K,s:K,s:I}", "steps", (unsigned long long)last.steps, "blocks",
                         (unsigned long long)last.blocks, "threads", last.threads);
}

/* _counters() -> tuple of dicts, one for each row of counters.def */
static const char counters_doc[] = "_counters()\n--\n\n";

static PyObject *call_counters(PyObject *module, PyObject *ignored)
{
    PyObject *result = PyTuple_New((Py_ssize_t)smk_counter_row_count);
    (void)module;
    (void)ignored;
    for (unsigned i = 0; result != NULL && i < smk_counter_row_count; i++) {
        const smk_counter_row *row = &smk_counter_rows[i];
        PyObject *facts = Py_BuildValue("{s:s,s:s,s:s,s:s,s:N}", "name", row->name, "unit", row->unit, "ncu", row->ncu,
                                        "meaning", row->meaning, "ratio", PyBool_FromLong(row->is_ratio));
        if (facts == NULL) {
            Py_CLEAR(result);
        } else {
            PyTuple_SET_ITEM(result, (Py_ssize_t)i, facts);
        }
    }
    return result;
}

PyMethodDef smk_internals_methods[] = {
    {"_ptx_print", call_ptx_print, METH_O, ptx_print_doc},
    {"_ptx_equal", SMK_PY_FUNCTION(call_ptx_equal), METH_FASTCALL, ptx_equal_doc},
    {"_registry_plan", SMK_PY_FUNCTION(call_registry_plan), METH_FASTCALL, registry_plan_doc},
    {"_flops", SMK_PY_FUNCTION(call_flops), METH_FASTCALL, flops_doc},
    {"_signature_bind", SMK_PY_FUNCTION(call_signature_bind), METH_FASTCALL, signature_bind_doc},
    {"_fail_after", call_fail_after, METH_O, fail_after_doc},
    {"_quota", call_quota, METH_O, quota_doc},
    {"_isa", call_isa, METH_NOARGS, isa_doc},
    {"_counters", call_counters, METH_NOARGS, counters_doc},
    {"_run_stats", call_run_stats, METH_NOARGS, run_stats_doc},
    {NULL, NULL, 0, NULL},
};
