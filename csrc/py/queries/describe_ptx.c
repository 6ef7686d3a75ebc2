#include "py/queries/describe_ptx.h"

#include "py/backends/selection.h"
#include "py/dict.h"
#include "py/error.h"
#include "py/mangled.h"
#include "py/state.h"

#include "ptx/opcode.h"

#include <string.h>

/* A module that is described: `code` is NULL where the simulator refuses its variables, and `load_error` says why. */
typedef struct description {
    const smk_state *state;
    const smk_module *module;
    smk_backend_code *code;
    smk_error load_error;
} description;

/* The exception of an error, not raised; a new reference, or NULL with an exception set. */
static PyObject *make_exception(const smk_state *state, const smk_error *error)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    smk_error_raise(state, error);
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

/* The words of instructions that affect no result, each once: a new tuple. */
static PyObject *list_hints(const smk_function *function)
{
    PyObject *set = PySet_New(NULL), *sorted = NULL, *result = NULL;
    for (uint32_t i = 0; set != NULL && i < function->instruction_count; i++) {
        const smk_instruction *instruction = &function->instructions[i];
        if (smk_opcode_class(instruction) == SMK_CLASS_HINT) {
            PyObject *name = PyUnicode_FromString(smk_module_opcode_name((smk_opcode)instruction->opcode));
            if (name == NULL || PySet_Add(set, name) < 0) {
                Py_CLEAR(set);
            }
            Py_XDECREF(name);
        }
    }
    sorted = set == NULL ? NULL : PySequence_List(set);
    if (sorted != NULL && PyList_Sort(sorted) == 0) {
        result = PyList_AsTuple(sorted);
    }
    Py_XDECREF(set);
    Py_XDECREF(sorted);
    return result;
}

/* Sets what a launch of the kernel takes, or why it is refused. */
static int set_launch(const description *d, uint32_t index, PyObject *dict)
{
    const smk_function *function = &d->module->functions[index];
    smk_kernel_facts facts = {0};
    smk_error error = d->load_error;
    smk_status status = d->load_error.status;
    char *name = PyMem_Malloc(function->name.length + 1);
    if (name == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(name, function->name.start, function->name.length);
    name[function->name.length] = '\0';
    if (status == SMK_OK && function->is_entry) {
        status = smk_selection_backend(SMK_BACKEND_SIM)->query(d->code, name, &facts, &error);
    } else if (status == SMK_OK) {
        status = smk_refused_check(d->module, index, &error);
    }
    const bool known = status == SMK_OK && function->is_entry;
    PyObject *label = smk_mangled_read(name);
    PyMem_Free(name);
    return smk_dict_set(dict, "label", label) < 0 ||
                   smk_dict_set(dict, "refused",
                                status == SMK_OK ? Py_NewRef(Py_None) : make_exception(d->state, &error)) < 0 ||
                   smk_dict_set(dict, "shared_bytes",
                                known ? PyLong_FromSize_t(facts.shared_bytes) : Py_NewRef(Py_None)) < 0 ||
                   smk_dict_set(dict, "local_bytes",
                                known ? PyLong_FromSize_t(facts.local_bytes) : Py_NewRef(Py_None)) < 0
               ? -1
               : 0;
}

static PyObject *describe_function(const description *d, uint32_t index)
{
    const smk_function *function = &d->module->functions[index];
    PyObject *dict = PyDict_New();
    bool good =
        dict != NULL &&
        smk_dict_set(dict, "name",
                     PyUnicode_DecodeUTF8(function->name.start, (Py_ssize_t)function->name.length, "replace")) == 0 &&
        smk_dict_set(dict, "entry", PyBool_FromLong(function->is_entry)) == 0 &&
        smk_dict_set(dict, "line", PyLong_FromUnsignedLong(function->line)) == 0 &&
        smk_dict_set(dict, "hints", list_hints(function)) == 0 && set_launch(d, index, dict) == 0;
    if (!good) {
        Py_CLEAR(dict);
    }
    return dict;
}

/* A list of dicts, one for each function with a body. */
static PyObject *describe_functions(const description *d)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < d->module->function_count; i++) {
        if (!d->module->functions[i].is_defined) {
            continue;
        }
        PyObject *function = describe_function(d, i);
        if (function == NULL || PyList_Append(list, function) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(function);
    }
    return list;
}

/* _describe_ptx(text) -> list of dicts: what each function takes on the simulator, or why it is refused there */
static const char describe_ptx_doc[] = "_describe_ptx(text, /)\n--\n\n";

static PyObject *call_describe_ptx(PyObject *core, PyObject *text)
{
    description d = {.state = smk_state_of_module(core)};
    smk_module *module = NULL;
    smk_error error = {0};
    Py_ssize_t length = 0;
    const char *start = PyUnicode_AsUTF8AndSize(text, &length);
    const smk_backend *backend = smk_selection_backend(SMK_BACKEND_SIM);
    if (start == NULL) {
        return NULL;
    }
    smk_status status = smk_parse_module(start, (size_t)length, &module, &error);
    if (status != SMK_OK) {
        return smk_error_raise(d.state, &error);
    }
    const smk_backend_image image = {.ptx = start, .module = module};
    d.module = module;
    d.load_error.status = backend->load(&image, NULL, &d.code, &d.load_error);
    PyObject *list = describe_functions(&d);
    backend->unload(d.code);
    smk_module_free(module);
    return list;
}

PyMethodDef smk_describe_ptx_methods[] = {
    {"_describe_ptx", call_describe_ptx, METH_O, describe_ptx_doc},
    {NULL, NULL, 0, NULL},
};
