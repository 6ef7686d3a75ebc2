/* The definition of the module smemkit._core, which gathers the functions and types of all files. */
#define SMK_PY_IMPORTS_NUMPY
#include "py/arrays/array_type.h"
#include "py/arrays/dlpack_export.h"
#include "py/arrays/foreign.h"
#include "py/arrays/from_dlpack.h"
#include "py/arrays/host_memory.h"
#include "py/arrays/pinned_array.h"
#include "py/arrays/texture_type.h"
#include "py/arrays/transfer.h"
#include "py/backends/package_kernels.h"
#include "py/calls/captured_call.h"
#include "py/calls/family.h"
#include "py/calls/family_again.h"
#include "py/calls/family_methods.h"
#include "py/calls/permute.h"
#include "py/calls/raw_kernel_type.h"
#include "py/calls/raw_module_type.h"
#include "py/error.h"
#include "py/queries/access_query.h"
#include "py/queries/catalog.h"
#include "py/queries/config.h"
#include "py/queries/describe_ptx.h"
#include "py/queries/device_type.h"
#include "py/queries/internals.h"
#include "py/queries/internals_bus.h"
#include "py/queries/internals_calculator.h"
#include "py/queries/internals_coverage.h"
#include "py/queries/internals_fusion.h"
#include "py/queries/internals_partition.h"
#include "py/queries/internals_pickle.h"
#include "py/queries/internals_ptx.h"
#include "py/queries/internals_registry.h"
#include "py/queries/limits.h"
#include "py/queries/measure.h"
#include "py/queries/occupancy_query.h"
#include "py/queries/plan_machine.h"
#include "py/state.h"
#include "py/streams/event_type.h"
#include "py/streams/stream_type.h"

#include <stdlib.h>

enum { NUMPY_OLDEST = 2 };

/* The functions of the module, but for those of the families, which are built when the module is imported. */
static PyMethodDef *const tables[] = {
    smk_transfer_methods,
    smk_from_dlpack_methods,
    smk_captured_call_methods,
    smk_access_query_methods,
    smk_catalog_methods,
    smk_config_methods,
    smk_device_type_methods,
    smk_limits_methods,
    smk_occupancy_query_methods,
    smk_plan_machine_methods,
    smk_measure_methods,
    smk_internals_methods,
    smk_internals_bus_methods,
    smk_host_memory_methods,
    smk_pinned_array_methods,
    smk_internals_calculator_methods,
    smk_internals_fusion_methods,
    smk_internals_partition_methods,
    smk_internals_pickle_methods,
    smk_internals_coverage_methods,
    smk_internals_ptx_methods,
    smk_internals_registry_methods,
    smk_describe_ptx_methods,
    smk_permute_methods,
    smk_family_explain_methods,
};

/* The folder of the extension, which is that of the package. */
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

/* A process has one simulator memory, one driver and one choice of machine, and NumPy supports its first interpreter
 * alone. Python honours the slot Py_mod_multiple_interpreters below only where an interpreter asks for the check. */
static int check_interpreter(void)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "smemkit works in the main interpreter only, not in a subinterpreter: "
                                           "neither its own memory and devices nor NumPy can be had in several");
        return -1;
    }
    return 0;
}

/* PyArray_ImportNumPyAPI reports every failure alike, without its reason; so the version is checked first. */
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

static int add_functions(PyObject *module)
{
    PyMethodDef *families = smk_family_methods_get();
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (PyModule_AddFunctions(module, tables[i]) < 0) {
            return -1;
        }
    }
    return families == NULL ? -1 : PyModule_AddFunctions(module, families);
}

static int execute(PyObject *module)
{
    smk_state *state = smk_state_of_module(module);
    if (check_interpreter() < 0 || import_numpy() < 0) {
        return -1;
    }
    state->folder = find_folder(module);
    state->raw_kernel_call = smk_raw_kernel_type_call;
    if (state->folder == NULL || smk_error_create(module, state) < 0 || smk_foreign_create(state) < 0 ||
        smk_package_kernels_create(state) < 0 || add_functions(module) < 0 ||
        add_type(module, &smk_device_type_spec, &state->device_type) < 0 || smk_device_type_create(module, state) < 0 ||
        add_type(module, &smk_stream_type_spec, &state->stream_type) < 0 ||
        add_type(module, &smk_event_type_spec, &state->event_type) < 0 ||
        add_type(module, &smk_texture_type_spec, &state->texture_type) < 0 ||
        add_type(module, &smk_array_type_spec, &state->array_type) < 0 || smk_dlpack_export_add_table(state) < 0 ||
        add_type(module, &smk_raw_module_type_spec, &state->raw_module_type) < 0 ||
        add_type(module, &smk_raw_kernel_type_spec, &state->raw_kernel_type) < 0 ||
        smk_access_query_create(module, state) < 0 || smk_occupancy_query_create(module, state) < 0) {
        return -1;
    }
    return 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    smk_state *state = smk_state_of_module(module);
    Py_VISIT(state->root);
    for (size_t i = 0; i < SMK_STATUS_COUNT; i++) {
        Py_VISIT(state->exceptions[i]);
    }
    Py_VISIT(state->device_type);
    Py_VISIT(state->stream_type);
    Py_VISIT(state->event_type);
    Py_VISIT(state->texture_type);
    Py_VISIT(state->device_memory);
    Py_VISIT(state->array_type);
    Py_VISIT(state->raw_module_type);
    Py_VISIT(state->raw_kernel_type);
    Py_VISIT(state->bank_access);
    Py_VISIT(state->occupancy);
    return smk_foreign_traverse(state, visit, arg);
}

static int clear(PyObject *module)
{
    smk_state *state = smk_state_of_module(module);
    Py_CLEAR(state->root);
    for (size_t i = 0; i < SMK_STATUS_COUNT; i++) {
        Py_CLEAR(state->exceptions[i]);
    }
    Py_CLEAR(state->device_type);
    Py_CLEAR(state->stream_type);
    Py_CLEAR(state->event_type);
    Py_CLEAR(state->texture_type);
    Py_CLEAR(state->device_memory);
    Py_CLEAR(state->array_type);
    Py_CLEAR(state->raw_module_type);
    Py_CLEAR(state->raw_kernel_type);
    smk_foreign_clear(state);
    Py_CLEAR(state->bank_access);
    Py_CLEAR(state->occupancy);
    return 0;
}

static void release(void *module)
{
    smk_state *state = smk_state_of_module(module);
    (void)clear(module);
    smk_dlpack_export_drop_table(state);
    Py_CLEAR(state->folder);
    smk_foreign_free(state);
    smk_family_again_forget();
    smk_package_kernels_free(state);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, SMK_PY_SLOT(execute)},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    /* What calls share is atomic (the loaded kernels, the choice of machine), of one thread (the captures) or behind a
     * lock (the simulator's memory); an object is written once, while only its maker knows it.
     * tests/py/test_free_threads.py holds it. */
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "smemkit._core",
    .m_doc = "The compiled part of smemkit; import smemkit instead.",
    .m_size = sizeof(smk_state),
    .m_slots = module_slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
