#include "py/calls/raw_module.h"

#include "py/backends/interrupt.h"
#include "py/backends/package_kernels.h"
#include "py/backends/selection.h"
#include "py/error.h"

#include "base/heap.h"

#include <string.h>

/* Makes a binary with its own copy of the text. Compilers and tools may end PTX with a NUL, which is not a part of
 * it. */
static smk_status create_binary(const char *text, size_t length, const char *origin, const char *source,
                                smk_kernel_binary **binary, smk_error *error)
{
    while (length > 0 && text[length - 1] == '\0') {
        length--;
    }
    char *copy = smk_heap_allocate(length + 1, 1);
    if (copy == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left for PTX of %zu bytes", length);
    }
    memcpy(copy, text, length);
    smk_status status = smk_kernel_binary_create(copy, length, NULL, binary, error);
    if (status == SMK_OK) {
        status = smk_kernel_binary_set_origin(*binary, origin, error);
    }
    return status == SMK_OK ? smk_kernel_binary_set_source(*binary, source, NULL, error) : status;
}

const smk_module *smk_raw_module_parsed(const smk_raw_module *module)
{
    return atomic_load(&module->binary->module);
}

/* Parses the text and, where a machine was named, loads it there, so that errors show now. A GPU may accept a text that
 * our parser refuses, or whose every kernel is refused: the refusal is kept and raised when the simulator is asked
 * for. */
static int check_code(const smk_state *state, smk_raw_module *self)
{
    smk_error error = {0};
    const smk_module *parsed = NULL;
    const smk_backend *backend = self->backend;
    smk_backend_code *code = NULL;
    smk_status status = SMK_OK;
    smk_interrupt interrupt;
    smk_interrupt_begin(&interrupt);
    status = smk_kernel_binary_module(self->binary, &parsed, &error);
    status = status == SMK_OK ? smk_refused_check_all(parsed, &error) : status;
    status = smk_interrupt_end(&interrupt, status);
    bool refused = status == SMK_PTX || status == SMK_PTX_TYPE || status == SMK_UNSUPPORTED;
    if (refused) {
        self->refusal = error;
        self->refusal.status = status;
        if (backend == NULL && smk_selection_choose(state, NULL, &backend) < 0) {
            return -1;
        }
        status = backend->id == SMK_BACKEND_CUDA ? SMK_OK : status;
    }
    if (status == SMK_OK && self->backend != NULL) {
        smk_interrupt_begin(&interrupt);
        status = smk_kernel_binary_code(self->binary, self->backend, NULL, &code, &error);
        status = smk_interrupt_end(&interrupt, status);
    }
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

/* The text as UTF-8, where the code was a str or bytes; NULL with an exception set. */
static const char *get_bytes(PyObject *ptx, Py_ssize_t *length)
{
    if (PyBytes_Check(ptx)) {
        *length = PyBytes_GET_SIZE(ptx);
        return PyBytes_AS_STRING(ptx);
    }
    return PyUnicode_AsUTF8AndSize(ptx, length);
}

/* Makes a module of PTX; `options` is a tuple. A new reference, or NULL with an exception set. */
static smk_raw_module *create(const smk_state *state, const smk_raw_text *made, PyObject *options,
                              const smk_backend *machine, bool cooperative)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    const char *compiler = NULL, *source = NULL;
    Py_ssize_t length = 0;
    const char *text = get_bytes(made->ptx, &length);
    if (text == NULL || (made->origin != NULL && (compiler = PyUnicode_AsUTF8(made->origin)) == NULL)) {
        return NULL;
    }
    if (PyUnicode_Check(made->source) && (source = PyUnicode_AsUTF8(made->source)) == NULL) {
        return NULL;
    }
    smk_raw_module *self = PyObject_New(smk_raw_module, state->raw_module_type);
    if (self == NULL) {
        return NULL;
    }
    self->binary = NULL;
    self->backend = machine;
    self->source = Py_NewRef(made->source);
    self->names = Py_NewRef(made->names);
    self->options = Py_NewRef(options);
    self->variant = NULL;
    self->cooperative = cooperative;
    memset(&self->refusal, 0, sizeof self->refusal);
    Py_BEGIN_ALLOW_THREADS
    status = create_binary(text, (size_t)length, compiler, source, &self->binary, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
    }
    if (status != SMK_OK || check_code(state, self) < 0) {
        Py_CLEAR(self);
    }
    return self;
}

smk_raw_module *smk_raw_module_create(const smk_state *state, const smk_raw_input *input, PyObject *backend)
{
    smk_raw_module *result = NULL;
    smk_raw_text made = {0};
    const smk_backend *machine = NULL;
    if (backend != NULL && smk_selection_choose(state, backend, &machine) < 0) {
        return NULL;
    }
    if (smk_raw_code_get_ptx(state, input, &made) == 0) {
        PyObject *options = input->options == NULL ? PyTuple_New(0) : PySequence_Tuple(input->options);
        result = options == NULL ? NULL : create(state, &made, options, machine, input->cooperative);
        Py_XDECREF(options);
    }
    smk_raw_code_free(&made);
    return result;
}

smk_raw_module *smk_raw_module_restore(const smk_state *state, const smk_raw_text *text, PyObject *options,
                                       PyObject *backend, bool cooperative)
{
    const smk_backend *machine = NULL;
    if (backend != NULL && smk_selection_choose(state, backend, &machine) < 0) {
        return NULL;
    }
    return create(state, text, options, machine, cooperative);
}

smk_raw_module *smk_raw_module_of_variant(const smk_state *state, const smk_variant *variant)
{
    smk_raw_module *self = NULL;
    smk_kernel_binary *binary = NULL;
    smk_error error = {0};
    smk_status status = SMK_OK;
    char *source = NULL;
    size_t length = 0;
    Py_BEGIN_ALLOW_THREADS
    status = smk_package_kernels_read(state, variant, "cu", &source, &length, &error);
    if (status == SMK_OK) {
        status = smk_package_kernels_load(state, variant, &binary, &error);
    }
    Py_END_ALLOW_THREADS
    PyObject *text = status != SMK_OK ? NULL : PyUnicode_DecodeUTF8(source, (Py_ssize_t)length, "strict");
    self = text == NULL ? NULL : PyObject_New(smk_raw_module, state->raw_module_type);
    smk_heap_free(source);
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
    }
    if (self == NULL) {
        Py_XDECREF(text);
        smk_kernel_binary_free(binary);
        return NULL;
    }
    self->binary = binary;
    self->backend = NULL;
    self->source = text;
    self->options = Py_NewRef(Py_None);
    self->names = Py_NewRef(Py_None);
    self->variant = variant;
    self->cooperative = false;
    memset(&self->refusal, 0, sizeof self->refusal);
    if (check_code(state, self) < 0) {
        Py_CLEAR(self);
    }
    return self;
}

PyObject *smk_raw_module_ptx(const smk_raw_module *module)
{
    return PyUnicode_DecodeUTF8(module->binary->ptx, (Py_ssize_t)module->binary->ptx_length, "replace");
}

PyObject *smk_raw_module_names(const smk_raw_module *module)
{
    const smk_module *parsed = smk_raw_module_parsed(module);
    PyObject *list = PyList_New(0), *result = NULL;
    for (uint32_t i = 0; list != NULL && parsed != NULL && i < parsed->function_count; i++) {
        const smk_function *function = &parsed->functions[i];
        if (!function->is_entry || !function->is_defined) {
            continue;
        }
        PyObject *name = PyUnicode_FromStringAndSize(function->name.start, (Py_ssize_t)function->name.length);
        if (name == NULL || PyList_Append(list, name) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(name);
    }
    result = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return result;
}
