#include "py/queries/config.h"

#include "py/backends/device.h"
#include "py/backends/selection.h"
#include "py/error.h"
#include "py/keywords.h"

#include "base/heap.h"
#include "base/quota.h"
#include "gpu/gpu.h"
#include "registry/registry.h"
#include "sim/code/isa.h"

#include <string.h>

static const char set_backend_doc[] =
    "set_backend(backend)\n--\n\n"
    "Choose the machine of every call that names none.\n\n"
    "Parameters\n----------\n"
    "backend : \"auto\", \"cuda\", \"sim\" or None\n"
    "    \"auto\" is the GPU where there is one and the simulator where not. None takes the choice back: then\n"
    "    the environment variable SMEMKIT_BACKEND decides, and \"auto\" where it is not set.\n\n"
    "Shapes\n------\n"
    "None.\n\n"
    "Returns\n-------\n"
    "None\n\n"
    "Raises\n------\n"
    "ArgumentError (ValueError) for another word; BackendError for \"cuda\" where there is no GPU.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> smemkit.set_backend(\"sim\")\n"
    ">>> smemkit.get_backend()\n"
    "'sim'\n"
    ">>> smemkit.set_backend(None)\n";

static PyObject *call_set_backend(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"backend"};
    static const smk_keywords accepted = {"set_backend", names, 1, 1, 1};
    PyObject *values[1];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0 ||
        smk_selection_prefer(smk_state_of_module(module), smk_keywords_optional(values[0])) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static const char get_backend_doc[] =
    "get_backend()\n--\n\n"
    "The machine that a call without backend= runs on now.\n\n"
    "Shapes\n------\n"
    "None.\n\n"
    "Returns\n-------\n"
    "\"cuda\" or \"sim\"\n\n"
    "Raises\n------\n"
    "BackendError where SMEMKIT_BACKEND asks for a GPU and there is none; ArgumentError (ValueError)\n"
    "where it holds another word.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> smemkit.get_backend() in (\"cuda\", \"sim\")\n"
    "True\n";

static PyObject *call_get_backend(PyObject *module, PyObject *ignored)
{
    const smk_backend *backend = NULL;
    (void)ignored;
    return smk_selection_choose(smk_state_of_module(module), NULL, &backend) < 0 ? NULL
                                                                                 : PyUnicode_FromString(backend->name);
}

/* The simulated machine under the names that facts.def gives to those of a GPU. */
static PyObject *describe_simulator(void)
{
    return Py_BuildValue("{s:s,s:s,s:i,s:i,s:i,s:i,s:i,s:i}", "name", "smemkit simulator", "compute_capability", "9.0",
                         "compute_capability_major", 9, "compute_capability_minor", 0, "warp_lanes", SMK_WARP_SIZE,
                         "threads_per_block_max", SMK_SIM_BLOCK_THREADS_MAX, "shared_bytes_per_block",
                         SMK_SIM_SHARED_STATIC_MAX, "shared_bytes_per_block_optin", SMK_SIM_SHARED_BYTES_MAX);
}

static PyObject *get_value(const smk_fact *fact)
{
    switch (fact->kind) {
    case SMK_FACT_INTEGER:
        return PyLong_FromLongLong(fact->integer);
    case SMK_FACT_REAL:
        return PyFloat_FromDouble(fact->real);
    case SMK_FACT_TEXT:
        return PyUnicode_DecodeUTF8(fact->text, (Py_ssize_t)strlen(fact->text), "replace");
    }
    Py_RETURN_NONE;
}

/* Describes a GPU. */
static PyObject *describe_device(const smk_state *state, int number)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    size_t count = 0;
    smk_fact *facts = smk_heap_allocate(SMK_FACTS_MAX, sizeof *facts);
    if (facts == NULL) {
        return smk_error_fail(state, SMK_MEMORY, "device_info: no memory left");
    }
    Py_BEGIN_ALLOW_THREADS
    if (number == SMK_DEVICE_PRESENT) {
        status = smk_context_current(&number, &error);
    }
    if (status == SMK_OK) {
        status = smk_context_facts(number, facts, &count, &error);
    }
    Py_END_ALLOW_THREADS
    PyObject *result = status == SMK_OK ? PyDict_New() : smk_error_raise(state, &error);
    for (size_t i = 0; result != NULL && i < count; i++) {
        PyObject *value = get_value(&facts[i]);
        if (value == NULL || PyDict_SetItemString(result, facts[i].name, value) < 0) {
            Py_CLEAR(result);
        }
        Py_XDECREF(value);
    }
    smk_heap_free(facts);
    return result;
}

PyObject *smk_config_describe(const smk_state *state, const smk_backend *backend, int device)
{
    return backend->id == SMK_BACKEND_CUDA ? describe_device(state, device) : describe_simulator();
}

PyObject *smk_config_device_info(const smk_state *state, PyObject *device, PyObject *backend)
{
    const smk_backend *machine = NULL;
    int number = 0;
    return smk_device_choose(state, "device_info", device, backend, &machine, &number) < 0
               ? NULL
               : smk_config_describe(state, machine, number);
}

static const char device_info_doc[] =
    "device_info(device=None, backend=None)\n--\n\n"
    "Facts of a machine; the unit stands in the name of each.\n\n"
    "Parameters\n----------\n"
    "device : int, str or Device, optional\n"
    "    A GPU, by its number or as smemkit.Device has it; by default the present one.\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    \"sim\" gives the limits of the simulated machine, under the names they have on a GPU.\n\n"
    "Shapes\n------\n"
    "None.\n\n"
    "Returns\n-------\n"
    "dict from str to int, float or str\n\n"
    "Raises\n------\n"
    "BackendError where there is no GPU, ArgumentError (ValueError) where there is no such device.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> smemkit.device_info(backend=\"sim\")[\"warp_lanes\"]\n"
    "32\n";

static PyObject *call_device_info(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"device", "backend"};
    static const smk_keywords accepted = {"device_info", names, 2, 2, 0};
    PyObject *values[2];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    return smk_config_device_info(smk_state_of_module(module), smk_keywords_optional(values[0]),
                                  smk_keywords_optional(values[1]));
}

static const char release_memory_doc[] =
    "release_memory()\n--\n\n"
    "Return to the system the memory that is kept for later calls.\n\n"
    "Freed memory of a GPU stays in a pool for the next array, and the pinned buffers through which NumPy arrays\n"
    "are copied stay for the next copy. Arrays, and copies that other threads make now, keep theirs. The memory\n"
    "comes back by itself at the end of the process.\n\n"
    "Shapes\n------\n"
    "None.\n\n"
    "Returns\n-------\n"
    "None\n\n"
    "Raises\n------\n"
    "CudaError where the GPU has failed.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> smemkit.release_memory()\n";

static PyObject *call_release_memory(PyObject *module, PyObject *ignored)
{
    const smk_state *state = smk_state_of_module(module);
    smk_error error = {0};
    smk_status status = SMK_OK;
    (void)ignored;
    Py_BEGIN_ALLOW_THREADS
    smk_ring_free_kept();
    status = smk_buffer_trim(&error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    Py_RETURN_NONE;
}

static const char config_doc[] = "_config()\n--\n\n";

static PyObject *call_config(PyObject *module, PyObject *ignored)
{
    const smk_state *state = smk_state_of_module(module);
    const smk_backend *backend = NULL;
    const char *reason = NULL;
    smk_error error = {0};
    int driver = 0, runtime = 0, devices = 0;
    smk_status status = SMK_OK;
    (void)ignored;
    if (smk_selection_explain(state, &backend, &reason) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    smk_context_versions(&driver, &runtime);
    status = smk_context_count(&devices, &error);
    Py_END_ALLOW_THREADS
    return Py_BuildValue("{s:s,s:s,s:s,s:I,s:K,s:i,s:i,s:i,s:s,s:n}", "backend", backend->name, "reason", reason, "isa",
                         smk_isa_name(), "threads", smk_quota_cores(), "memory_bytes",
                         (unsigned long long)smk_memory_limit(), "cuda_driver", driver, "cuda_runtime", runtime,
                         "cuda_devices", status == SMK_OK ? devices : 0, "cuda_absence",
                         status == SMK_OK ? "" : error.message, "kernels", (Py_ssize_t)smk_registry_variant_count());
}

PyMethodDef smk_config_methods[] = {
    {"set_backend", SMK_PY_FUNCTION(call_set_backend), SMK_PY_FAST, set_backend_doc},
    {"get_backend", call_get_backend, METH_NOARGS, get_backend_doc},
    {"device_info", SMK_PY_FUNCTION(call_device_info), SMK_PY_FAST, device_info_doc},
    {"release_memory", call_release_memory, METH_NOARGS, release_memory_doc},
    {"_config", call_config, METH_NOARGS, config_doc},
    {NULL, NULL, 0, NULL},
};
