#include "py/calls/raw_kernel.h"

#include "py/backends/backend.h"
#include "py/backends/interrupt.h"
#include "py/backends/kernel_binary.h"
#include "py/backends/selection.h"
#include "py/calls/declaration.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/mangled.h"

#include <string.h>

const smk_function *smk_raw_kernel_function(const smk_raw_kernel *kernel)
{
    const smk_module *parsed = smk_raw_module_parsed(kernel->module);
    return parsed == NULL || kernel->entry == SMK_NO_INDEX ? NULL : &parsed->functions[kernel->entry];
}

/* Advice for a name that is not found, from the CUDA C of the module. */
static const char *advise_name(const smk_raw_module *module)
{
    const char *source = module->source == Py_None ? NULL : PyUnicode_AsUTF8(module->source);
    if (source == NULL) {
        PyErr_Clear();
        return "";
    }
    if (strstr(source, "template") != NULL) {
        return "; of a template there is a kernel only where it is instantiated, as by "
               "RawModule(code, name_expressions=(\"scale<float>\",)) or RawKernel(code, \"scale<float>\")";
    }
    return strstr(source, "__global__") == NULL ? "; kernels in CUDA C are declared __global__" : "";
}

/* The names of all kernels as messages have them, a new tuple. */
static PyObject *list_labels(const smk_raw_module *module)
{
    PyObject *names = smk_raw_module_names(module);
    PyObject *result = names == NULL ? NULL : PyTuple_New(PyTuple_GET_SIZE(names));
    for (Py_ssize_t i = 0; result != NULL && i < PyTuple_GET_SIZE(names); i++) {
        const char *text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
        PyObject *label = text == NULL ? NULL : smk_mangled_read(text);
        if (label != NULL && PyUnicode_FindChar(label, '<', 0, PyUnicode_GET_LENGTH(label), 1) == -1 &&
            strncmp(text, "_Z", 2) == 0) { /* one of several of that name, perhaps */
            Py_SETREF(label, PyUnicode_FromFormat("%U (%s)", label, text));
        }
        if (label == NULL) {
            Py_CLEAR(result);
        } else {
            PyTuple_SET_ITEM(result, i, label);
        }
    }
    Py_XDECREF(names);
    return result;
}

/* Whether one of the labels is the name with a mangled name behind it. */
static bool is_overloaded(PyObject *labels, const char *name)
{
    PyObject *start = PyUnicode_FromFormat("%s (", name);
    bool found = false;
    for (Py_ssize_t i = 0; start != NULL && !found && i < PyTuple_GET_SIZE(labels); i++) {
        found = PyUnicode_Tailmatch(PyTuple_GET_ITEM(labels, i), start, 0, PY_SSIZE_T_MAX, -1) == 1;
    }
    Py_XDECREF(start);
    PyErr_Clear(); /* no memory: the shorter message */
    return found;
}

static PyObject *refuse_name(const smk_state *state, const smk_raw_module *module, const char *name)
{
    PyObject *known = list_labels(module), *blank = NULL, *list = NULL;
    if (known == NULL) {
        return NULL;
    }
    blank = PyUnicode_FromString(", ");
    list = blank == NULL ? NULL : PyUnicode_Join(blank, known);
    if (list != NULL && PyTuple_GET_SIZE(known) == 0) {
        smk_error_fail(state, SMK_ARGUMENT, "the module has no kernel at all, so none is named '%.200s'%s", name,
                       advise_name(module));
    } else if (list != NULL && is_overloaded(known, name)) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "the module has several kernels '%.200s': pass the mangled name of one; it has: %U", name, list);
    } else if (list != NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "the module has no kernel '%.200s'; it has: %U%s", name, list,
                       advise_name(module));
    }
    Py_DECREF(known);
    Py_XDECREF(blank);
    Py_XDECREF(list);
    return NULL;
}

/* Lowers the kernel where the module is for the simulator, so that what the simulator refuses shows now. A GPU's driver
 * has seen the whole module before. */
static int prepare(const smk_state *state, smk_raw_module *module, const char *entry)
{
    smk_kernel_facts facts = {0};
    smk_backend_code *code = NULL;
    smk_error error = {0};
    smk_interrupt interrupt;
    if (module->backend == NULL || module->backend->id != SMK_BACKEND_SIM) {
        return 0;
    }
    smk_interrupt_begin(&interrupt);
    smk_status status = smk_kernel_binary_code(module->binary, module->backend, entry, &code, &error);
    if (status == SMK_OK) {
        status = module->backend->query(code, entry, &facts, &error);
    }
    status = smk_interrupt_end(&interrupt, status);
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

/* Raises the refusal of a kernel that the simulator does not execute, where the kernel is for the simulator: a module
 * without a machine of its own is for that of every call. */
static int refuse_entry(const smk_state *state, const smk_raw_module *module, uint32_t entry)
{
    const smk_module *parsed = smk_raw_module_parsed(module);
    const smk_backend *backend = module->backend;
    smk_error error = {0};
    if (parsed == NULL || entry == SMK_NO_INDEX || smk_refused_check(parsed, entry, &error) == SMK_OK) {
        return 0;
    }
    if (backend == NULL && smk_selection_choose(state, NULL, &backend) < 0) {
        return -1;
    }
    if (backend->id != SMK_BACKEND_SIM) {
        return 0;
    }
    smk_error_raise(state, &error);
    return -1;
}

/* What the CUDA C declares; None where there is none, or where the text is for the GPU alone. A new reference. */
static PyObject *read_declaration(const smk_raw_module *module, PyObject *name, const smk_function *function)
{
    if (module->source == Py_None || function == NULL) {
        return Py_NewRef(Py_None);
    }
    return smk_declaration_read(module->source, name, module->options, function);
}

/* The PTX entry that a name of the CUDA C means: a new str, or None where there is none; NULL with an exception set. */
static PyObject *find_entry(const smk_raw_module *module, PyObject *name)
{
    PyObject *known = smk_raw_module_names(module), *result = NULL;
    PyObject *finder = known == NULL ? NULL : PyImport_ImportModule("smemkit._kernel_code");
    if (finder != NULL) {
        result = PyObject_CallMethod(finder, "find_entry", "OOO", name, known, module->names);
    }
    if (result != NULL && result != Py_None && !PyUnicode_Check(result)) {
        PyErr_SetString(PyExc_SystemError, "smemkit._kernel_code.find_entry did not return a str");
        Py_CLEAR(result);
    }
    Py_XDECREF(known);
    Py_XDECREF(finder);
    return result;
}

/* True for a kernel of the parsed text, with its index. */
static bool is_entry(const smk_module *parsed, const char *text, uint32_t *entry)
{
    *entry = parsed == NULL ? SMK_NO_INDEX : smk_module_find_entry(parsed, text);
    return *entry != SMK_NO_INDEX && parsed->functions[*entry].is_defined;
}

/* Makes the kernel of a PTX entry; `name` is a str whose UTF-8 is `text`. */
static PyObject *create(const smk_state *state, smk_raw_module *module, PyObject *name, const char *text,
                        uint32_t entry)
{
    const smk_module *parsed = smk_raw_module_parsed(module);
    smk_raw_kernel *self = NULL;
    if (refuse_entry(state, module, entry) < 0 || prepare(state, module, text) < 0) {
        return NULL;
    }
    PyObject *declaration = read_declaration(module, name, parsed == NULL ? NULL : &parsed->functions[entry]);
    PyObject *label = declaration == NULL ? NULL : smk_mangled_read(text);
    if (label != NULL && PyUnicode_AsUTF8(label) != NULL) {
        self = PyObject_New(smk_raw_kernel, state->raw_kernel_type);
    }
    if (self == NULL) {
        Py_XDECREF(declaration);
        Py_XDECREF(label);
        return NULL;
    }
    self->module = (smk_raw_module *)Py_NewRef((PyObject *)module);
    self->vectorcall = state->raw_kernel_call;
    self->name = Py_NewRef(name);
    self->text = text;
    self->label = label;
    self->entry = entry;
    self->declaration = declaration;
    self->prints = strstr(module->binary->ptx, "vprintf") != NULL;
    self->carveout = SMK_RAW_KERNEL_NO_CARVEOUT;
    return (PyObject *)self;
}

PyObject *smk_raw_kernel_create(const smk_state *state, smk_raw_module *module, PyObject *name)
{
    const smk_module *parsed = smk_raw_module_parsed(module);
    PyObject *found = NULL, *result = NULL;
    uint32_t entry = SMK_NO_INDEX;
    const char *text = smk_keywords_text(state, "RawKernel", "name", name);
    if (text == NULL) {
        return NULL;
    }
    if (is_entry(parsed, text, &entry)) {
        return create(state, module, name, text, entry);
    }
    found = find_entry(module, name);
    if (found != NULL && found != Py_None && (text = PyUnicode_AsUTF8(found)) != NULL) {
        (void)is_entry(parsed, text, &entry);
        result = create(state, module, found, text, entry);
    } else if (found == Py_None && parsed == NULL) {
        result = create(state, module, name, text, SMK_NO_INDEX); /* the GPU's driver knows */
    } else if (found == Py_None) {
        result = refuse_name(state, module, text);
    }
    Py_XDECREF(found);
    return result;
}

const smk_raw_kernel *smk_raw_kernel_cast(const smk_state *state, PyObject *object)
{
    return Py_IS_TYPE(object, state->raw_kernel_type) ? (const smk_raw_kernel *)(const void *)object : NULL;
}
