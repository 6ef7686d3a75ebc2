#include "py/queries/internals.h"

#include "py/backends/backend_sim.h"

#include "base/heap.h"
#include "base/quota.h"
#include "sim/code/isa.h"
#include "sim/profile/count.h"

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
    {"_fail_after", call_fail_after, METH_O, fail_after_doc},
    {"_quota", call_quota, METH_O, quota_doc},
    {"_isa", call_isa, METH_NOARGS, isa_doc},
    {"_counters", call_counters, METH_NOARGS, counters_doc},
    {"_run_stats", call_run_stats, METH_NOARGS, run_stats_doc},
    {NULL, NULL, 0, NULL},
};
