#include "py/calls/raw_kernel.h"

#include "py/backends/backend.h"
#include "py/backends/interrupt.h"
#include "py/backends/kernel_binary.h"
#include "py/calls/declaration.h"
#include "py/error.h"
#include "py/keywords.h"

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
        return "; of a template there is a kernel only where it is instantiated, as by \"template __global__ void "
               "scale<float>(float *);\" behind it, and its name is the mangled one that RawModule(code).kernels lists "
               "(or call the template from a kernel that is declared extern \"C\")";
    }
    return strstr(source, "__global__") == NULL
               ? "; kernels in CUDA C are declared extern \"C\" __global__"
               : "; kernels in CUDA C keep their name where they are declared extern \"C\"";
}

static PyObject *refuse_name(const smk_state *state, const smk_raw_module *module, const char *name)
{
    PyObject *known = smk_raw_module_names(module), *blank = NULL, *list = NULL;
    if (known == NULL) {
        return NULL;
    }
    blank = PyUnicode_FromString(", ");
    list = blank == NULL ? NULL : PyUnicode_Join(blank, known);
    if (list != NULL && PyTuple_GET_SIZE(known) == 0) {
        smk_error_fail(state, SMK_ARGUMENT, "the module has no kernel at all, so none is named '%.200s'%s", name,
                       advise_name(module));
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

/* What the CUDA C declares; None where there is none, or where the text is for the GPU alone. A new reference. */
static PyObject *read_declaration(const smk_raw_module *module, PyObject *name, const smk_function *function)
{
    if (module->source == Py_None || function == NULL) {
        return Py_NewRef(Py_None);
    }
    return smk_declaration_read(module->source, name, module->options, function);
}

PyObject *smk_raw_kernel_create(const smk_state *state, smk_raw_module *module, PyObject *name)
{
    const smk_module *parsed = smk_raw_module_parsed(module);
    const char *text = smk_keywords_text(state, "RawKernel", "name", name);
    if (text == NULL) {
        return NULL;
    }
    uint32_t entry = parsed == NULL ? SMK_NO_INDEX : smk_module_find_entry(parsed, text);
    if (parsed != NULL && (entry == SMK_NO_INDEX || !parsed->functions[entry].is_defined)) {
        return refuse_name(state, module, text);
    }
    if (prepare(state, module, text) < 0) {
        return NULL;
    }
    PyObject *declaration = read_declaration(module, name, parsed == NULL ? NULL : &parsed->functions[entry]);
    smk_raw_kernel *self = declaration == NULL ? NULL : PyObject_New(smk_raw_kernel, state->raw_kernel_type);
    if (self == NULL) {
        Py_XDECREF(declaration);
    } else {
        self->module = (smk_raw_module *)Py_NewRef((PyObject *)module);
        self->name = Py_NewRef(name);
        self->text = text;
        self->entry = entry;
        self->declaration = declaration;
        self->carveout = SMK_RAW_KERNEL_NO_CARVEOUT;
    }
    return (PyObject *)self;
}

const smk_raw_kernel *smk_raw_kernel_cast(const smk_state *state, PyObject *object)
{
    return Py_IS_TYPE(object, state->raw_kernel_type) ? (const smk_raw_kernel *)(const void *)object : NULL;
}
