/* smemkit._core: the module itself. */
#define SMK_PY_IMPORTS_NUMPY
#include "py/py.h"

#include "py/array.h"
#include "py/config.h"
#include "py/docs.h"
#include "py/door.h"
#include "py/error.h"
#include "py/family.h"
#include "py/limits.h"
#include "py/limits_docs.h"
#include "py/listing.h"
#include "py/measure.h"
#include "py/raw.h"
#include "py/resident.h"
#include "py/rules.h"
#include "py/shelf.h"
#include "py/watch.h"

#include <stdlib.h>

enum { NUMPY_OLDEST = 2 };

smk_state *smk_core_state(PyObject *module)
{
    return PyModule_GetState(module);
}

smk_state *smk_core_state_of(PyObject *object)
{
    return PyType_GetModuleState(Py_TYPE(object));
}

static PyMethodDef methods[] = {
    {"asarray", SMK_PY_FUNCTION(smk_array_asarray), SMK_PY_FAST, SMK_DOCS_ASARRAY},
    {"empty", SMK_PY_FUNCTION(smk_array_empty), SMK_PY_FAST, SMK_DOCS_EMPTY},
    {"asnumpy", SMK_PY_FUNCTION(smk_array_asnumpy), SMK_PY_FAST, SMK_DOCS_ASNUMPY},
    {"families", smk_listing_families, METH_NOARGS, SMK_DOCS_FAMILIES},
    {"variants", SMK_PY_FUNCTION(smk_listing_variants), SMK_PY_FAST, SMK_DOCS_VARIANTS},
    {"source", SMK_PY_FUNCTION(smk_listing_source), SMK_PY_FAST, SMK_DOCS_SOURCE},
    {"ptx", SMK_PY_FUNCTION(smk_listing_ptx), SMK_PY_FAST, SMK_DOCS_PTX},
    {"kernel", SMK_PY_FUNCTION(smk_listing_kernel), SMK_PY_FAST, SMK_DOCS_KERNEL},
    {"set_backend", SMK_PY_FUNCTION(smk_config_set_backend), SMK_PY_FAST, SMK_DOCS_SET_BACKEND},
    {"get_backend", smk_config_get_backend, METH_NOARGS, SMK_DOCS_GET_BACKEND},
    {"device_info", SMK_PY_FUNCTION(smk_config_device_info), SMK_PY_FAST, SMK_DOCS_DEVICE_INFO},
    {"bank_access", SMK_PY_FUNCTION(smk_rules_bank_access), SMK_PY_FAST, SMK_DOCS_BANK_ACCESS},
    {"sectors", SMK_PY_FUNCTION(smk_rules_sectors), SMK_PY_FAST, SMK_DOCS_SECTORS},
    {"limits", SMK_PY_FUNCTION(smk_limits_limits), SMK_PY_FAST, SMK_DOCS_LIMITS},
    {"occupancy", SMK_PY_FUNCTION(smk_resident_occupancy), SMK_PY_FAST, SMK_DOCS_OCCUPANCY},
    {"suggest_block", SMK_PY_FUNCTION(smk_resident_suggest_block), SMK_PY_FAST, SMK_DOCS_SUGGEST_BLOCK},
    {"_config", smk_config_facts, METH_NOARGS, "_config()\n--\n\n"},
    {"_ptx_print", smk_door_ptx_print, METH_O, "_ptx_print(text, /)\n--\n\n"},
    {"_ptx_equal", SMK_PY_FUNCTION(smk_door_ptx_equal), METH_FASTCALL, "_ptx_equal(a, b, /)\n--\n\n"},
    {"_registry_plan", SMK_PY_FUNCTION(smk_door_registry_plan), METH_FASTCALL,
     "_registry_plan(family, variant, dimensions, /)\n--\n\n"},
    {"_flops", SMK_PY_FUNCTION(smk_door_flops), METH_FASTCALL, "_flops(family, dimensions, /)\n--\n\n"},
    {"_signature_bind", SMK_PY_FUNCTION(smk_door_signature_bind), METH_FASTCALL,
     "_signature_bind(signature, family, names, shapes, /)\n--\n\n"},
    {"_fail_after", smk_door_fail_after, METH_O, "_fail_after(count, /)\n--\n\n"},
    {"_quota", smk_door_quota, METH_O, "_quota(root, /)\n--\n\n"},
    {"_isa", smk_door_isa, METH_NOARGS, "_isa()\n--\n\n"},
    {"_watch", SMK_PY_FUNCTION(smk_watch_call), METH_FASTCALL,
     "_watch(mode, function, args, kwargs, blocks, model, reverse=False, padding=0, /)\n--\n\n"},
    {"_counters", smk_watch_counters, METH_NOARGS, "_counters()\n--\n\n"},
    {"_fuse", SMK_PY_FUNCTION(smk_door_fuse), METH_FASTCALL, "_fuse(ptx, entry, /)\n--\n\n"},
    {"_occupancy", SMK_PY_FUNCTION(smk_resident_door), METH_FASTCALL,
     "_occupancy(compute_capability, threads, threads_max, registers, barriers, static, dynamic, /)\n--\n\n"},
    {"_calculator", SMK_PY_FUNCTION(smk_resident_calculator), METH_FASTCALL,
     "_calculator(kernel, threads, shared_bytes, /)\n--\n\n"},
    {"_timer", smk_measure_create, METH_NOARGS, "_timer()\n--\n\n"},
    {"_timer_start", smk_measure_start, METH_O, "_timer_start(timer, /)\n--\n\n"},
    {"_timer_stop", smk_measure_stop, METH_O, "_timer_stop(timer, /)\n--\n\n"},
    {"_synchronize", smk_measure_synchronize, METH_NOARGS, "_synchronize()\n--\n\n"},
    {"_clear", smk_measure_clear, METH_O, "_clear(array, /)\n--\n\n"},
    {"_beside", SMK_PY_FUNCTION(smk_array_beside), METH_FASTCALL, "_beside(d, x, dtype=None, /)\n--\n\n"},
    {"_copy", SMK_PY_FUNCTION(smk_measure_copy), METH_FASTCALL, "_copy(target, source, /)\n--\n\n"},
    {"_run_stats", smk_door_run_stats, METH_NOARGS, "_run_stats()\n--\n\n"},
    {NULL, NULL, 0, NULL},
};

/* The folder that the extension lies in, which is the package's. */
static PyObject *find_folder(PyObject *module)
{
    PyObject *file = PyModule_GetFilenameObject(module), *path = NULL, *folder = NULL, *result = NULL;
    if (file == NULL) {
        return NULL;
    }
    path = PyImport_ImportModule("os.path");
    folder = path == NULL ? NULL : PyObject_CallMethod(path, "dirname", "O", file);
    result = folder == NULL ? NULL : PyUnicode_EncodeFSDefault(folder);
    Py_DECREF(file);
    Py_XDECREF(path);
    Py_XDECREF(folder);
    return result;
}

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)(void *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type == NULL ? -1 : PyModule_AddType(module, *type);
}

/* The simulator's memory, the driver and the choice of machine belong to the process, and NumPy holds to its first
 * interpreter. The slot below says so too, but Python minds it only where an interpreter asks for it. */
static int check_interpreter(void)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "smemkit works in the main interpreter only, not in a subinterpreter: "
                                           "neither its own memory and devices nor NumPy can be had in several");
        return -1;
    }
    return 0;
}

/* NumPy's own import of its API says of every failure that it failed, and prints the reason or keeps it to itself. */
static int import_numpy(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *version = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, "__version__");
    const char *text = version == NULL ? NULL : PyUnicode_AsUTF8(version);
    int result = -1;
    if (text != NULL && strtol(text, NULL, 10) < NUMPY_OLDEST) {
        PyErr_Format(PyExc_ImportError, "smemkit needs NumPy %d.0 or newer, this is %s: %R", NUMPY_OLDEST, text, numpy);
    } else if (text != NULL) {
        result = PyArray_ImportNumPyAPI();
    }
    Py_XDECREF(numpy);
    Py_XDECREF(version);
    return result;
}

static int execute(PyObject *module)
{
    smk_state *state = smk_core_state(module);
    if (check_interpreter() < 0 || import_numpy() < 0) {
        return -1;
    }
    PyMethodDef *family_methods = smk_family_methods();
    state->folder = find_folder(module);
    if (family_methods == NULL || state->folder == NULL || smk_error_create(module, state) < 0 ||
        smk_shelf_create(state) < 0 || PyModule_AddFunctions(module, family_methods) < 0 ||
        add_type(module, &smk_array_spec, &state->array_type) < 0 ||
        add_type(module, &smk_raw_module_spec, &state->raw_module_type) < 0 ||
        add_type(module, &smk_raw_kernel_spec, &state->raw_kernel_type) < 0 || smk_rules_create(module, state) < 0 ||
        smk_resident_create(module, state) < 0) {
        return -1;
    }
    return 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    smk_state *state = smk_core_state(module);
    Py_VISIT(state->root);
    for (size_t i = 0; i < SMK_STATUS_COUNT; i++) {
        Py_VISIT(state->exceptions[i]);
    }
    Py_VISIT(state->array_type);
    Py_VISIT(state->raw_module_type);
    Py_VISIT(state->raw_kernel_type);
    Py_VISIT(state->bank_access);
    Py_VISIT(state->occupancy);
    return 0;
}

static int clear(PyObject *module)
{
    smk_state *state = smk_core_state(module);
    Py_CLEAR(state->root);
    for (size_t i = 0; i < SMK_STATUS_COUNT; i++) {
        Py_CLEAR(state->exceptions[i]);
    }
    Py_CLEAR(state->array_type);
    Py_CLEAR(state->raw_module_type);
    Py_CLEAR(state->raw_kernel_type);
    Py_CLEAR(state->bank_access);
    Py_CLEAR(state->occupancy);
    return 0;
}

static void release(void *module)
{
    smk_state *state = smk_core_state(module);
    (void)clear(module);
    Py_CLEAR(state->folder);
    smk_shelf_free(state);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, SMK_PY_SLOT(execute)},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    /* The GIL guards the module's state: the shelf of loaded kernels, the choice of machine, what watches calls. Nobody
     * has shown that these hold without it, so a free-threaded Python turns it on. */
    {Py_mod_gil, Py_MOD_GIL_USED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "smemkit._core",
    .m_doc = "The compiled part of smemkit; import smemkit instead.",
    .m_size = sizeof(smk_state),
    .m_methods = methods,
    .m_slots = module_slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
