#include "py/backends/backend.h"
#include "py/backends/interrupt.h"
#include "py/backends/kernel_binary.h"
#include "py/backends/package_kernels.h"
#include "py/backends/selection.h"
#include "py/calls/raw.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/state.h"

#include "base/heap.h"

#include <string.h>

/* Text ------------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

/* Behind blanks and comments; an unclosed comment goes to the end. */
static size_t skip_comments(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length) {
        if (is_blank(text[i])) {
            i++;
        } else if (i + 1 < length && text[i] == '/' && text[i + 1] == '/') {
            while (i < length && text[i] != '\n') {
                i++;
            }
        } else if (i + 1 < length && text[i] == '/' && text[i + 1] == '*') {
            i += 2;
            while (i + 1 < length && !(text[i] == '*' && text[i + 1] == '/')) {
                i++;
            }
            i = i + 2 < length ? i + 2 : length;
        } else {
            break;
        }
    }
    return i;
}

/* PTX begins with a directive; no CUDA C program begins with one of these words. */
static bool is_ptx(const char *text, size_t length)
{
    static const char *const words[] = {".version", ".target", ".address_size"};
    size_t start = skip_comments(text, length);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t bytes = strlen(words[i]);
        if (length - start >= bytes && memcmp(text + start, words[i], bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* ELF (a cubin) and fatbin files; both are code for the GPU alone. */
static bool is_binary(const char *text, size_t length)
{
    return length >= 4 && (memcmp(text, "\x7f\x45\x4c\x46", 4) == 0 || memcmp(text, "\x50\xed\x55\xba", 4) == 0);
}

/* PTX, and in words who has made it; both new references. */
static PyObject *compile_source(PyObject *source, PyObject *options, PyObject **origin)
{
    PyObject *result = NULL, *answer = NULL;
    PyObject *compiler = PyImport_ImportModule("smemkit.compile");
    if (compiler == NULL) {
        return NULL;
    }
    if (options == NULL) {
        answer = PyObject_CallMethod(compiler, "compile_by", "O", source);
    } else {
        answer = PyObject_CallMethod(compiler, "compile_by", "OO", source, options);
    }
    if (answer != NULL &&
        (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 2 || !PyUnicode_Check(PyTuple_GET_ITEM(answer, 0)) ||
         !PyUnicode_Check(PyTuple_GET_ITEM(answer, 1)))) {
        PyErr_SetString(PyExc_SystemError, "smemkit.compile.compile_by did not return two str");
    } else if (answer != NULL) {
        result = Py_NewRef(PyTuple_GET_ITEM(answer, 0));
        *origin = Py_NewRef(PyTuple_GET_ITEM(answer, 1));
    }
    Py_DECREF(compiler);
    Py_XDECREF(answer);
    return result;
}

/* What is raised for characters or bytes that are no text, as an ArgumentError; NULL. */
static PyObject *refuse_text(const smk_state *state)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    if (PyErr_ExceptionMatches(PyExc_UnicodeError)) {
        PyErr_Fetch(&type, &value, &trace);
        smk_error_fail(state, SMK_ARGUMENT, "code is no text: %S", value == NULL ? Py_None : value);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    }
    return NULL;
}

/* PTX as a str or bytes, a new reference, from whatever the user passed; the CUDA C behind it, or None; and who has
 * made PTX of that, or NULL. */
static PyObject *get_ptx(const smk_state *state, PyObject *code, PyObject *options, PyObject **source,
                         PyObject **origin)
{
    const char *text = NULL;
    Py_ssize_t length = 0;
    if (PyBytes_Check(code)) {
        text = PyBytes_AS_STRING(code);
        length = PyBytes_GET_SIZE(code);
    } else if (PyUnicode_Check(code)) {
        text = PyUnicode_AsUTF8AndSize(code, &length);
        if (text == NULL) {
            return refuse_text(state);
        }
    } else {
        return smk_error_fail(state, SMK_TYPE, "code must be PTX or CUDA C as str or bytes, not %.100s",
                              Py_TYPE(code)->tp_name);
    }
    if (is_binary(text, (size_t)length)) {
        return smk_error_fail(state, SMK_ARGUMENT, "code is a cubin or fatbin; PTX text or CUDA C is needed");
    }
    if (skip_comments(text, (size_t)length) == (size_t)length) {
        return smk_error_fail(state, SMK_ARGUMENT, "code is empty; PTX text or CUDA C is needed");
    }
    if (is_ptx(text, (size_t)length)) {
        *source = Py_NewRef(Py_None);
        return Py_NewRef(code);
    }
    *source = PyUnicode_Check(code) ? Py_NewRef(code) : PyUnicode_DecodeUTF8(text, length, NULL);
    return *source == NULL ? refuse_text(state) : compile_source(*source, options, origin);
}

/* A binary with its own copy of the text. Compilers and tools end PTX with a NUL, which is no part of it. */
static smk_status create_unit(const char *text, size_t length, const char *origin, smk_kernel_binary **binary,
                              smk_error *error)
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
    return status == SMK_OK && origin != NULL ? smk_kernel_binary_set_origin(*binary, origin, error) : status;
}

/* Construction ----------------------------------------------------------------------------------- */

const smk_module *smk_raw_module_parsed(const smk_raw_module *module)
{
    return atomic_load(&module->binary->module);
}

/* Parses the text and, where a machine was named, loads it there, so that errors show now. What our parser refuses a
 * GPU may still take: then the refusal is kept for the day the simulator is asked. */
static int check_code(const smk_state *state, smk_raw_module *self)
{
    smk_error error = {0};
    const smk_module *parsed = NULL;
    const smk_backend *backend = self->backend;
    smk_backend_code *code = NULL;
    smk_status status = SMK_OK;
    smk_interrupt_poll poll;
    smk_interrupt_poll_begin(&poll);
    status = smk_kernel_binary_module(self->binary, &parsed, &error);
    status = smk_interrupt_poll_end(&poll, status);
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
        smk_interrupt_poll_begin(&poll);
        status = smk_kernel_binary_code(self->binary, self->backend, NULL, &code, &error);
        status = smk_interrupt_poll_end(&poll, status);
    }
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

smk_raw_module *smk_raw_module_create(const smk_state *state, PyObject *code, PyObject *options, PyObject *backend)
{
    smk_raw_module *self = NULL, *result = NULL;
    PyObject *ptx = NULL, *source = NULL, *origin = NULL;
    const smk_backend *machine = NULL;
    smk_error error = {0};
    smk_status status = SMK_OK;
    const char *text = NULL, *compiler = NULL;
    Py_ssize_t length = 0;
    if (backend != NULL && smk_selection_choose(state, backend, &machine) < 0) {
        return NULL;
    }
    ptx = get_ptx(state, code, options, &source, &origin);
    if (ptx == NULL || (origin != NULL && (compiler = PyUnicode_AsUTF8(origin)) == NULL)) {
        goto done;
    }
    if (PyBytes_Check(ptx)) {
        text = PyBytes_AS_STRING(ptx);
        length = PyBytes_GET_SIZE(ptx);
    } else if ((text = PyUnicode_AsUTF8AndSize(ptx, &length)) == NULL) {
        goto done;
    }
    self = PyObject_New(smk_raw_module, state->raw_module_type);
    if (self == NULL) {
        goto done;
    }
    self->binary = NULL;
    self->backend = machine;
    self->source = Py_NewRef(source);
    memset(&self->refusal, 0, sizeof self->refusal);
    Py_BEGIN_ALLOW_THREADS
    status = create_unit(text, (size_t)length, compiler, &self->binary, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        goto done;
    }
    if (check_code(state, self) < 0) {
        goto done;
    }
    result = (smk_raw_module *)Py_NewRef((PyObject *)self);
done:
    Py_XDECREF(ptx);
    Py_XDECREF(source);
    Py_XDECREF(origin);
    Py_XDECREF(self);
    return result;
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
    memset(&self->refusal, 0, sizeof self->refusal);
    if (check_code(state, self) < 0) {
        Py_CLEAR(self);
    }
    return self;
}

static PyObject *construct(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"code", "options", "backend", NULL};
    PyObject *code = NULL, *options = NULL, *backend = NULL;
    const smk_state *state = PyType_GetModuleState(type);
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$OO:RawModule", names, &code, &options, &backend)) {
        return NULL;
    }
    return (PyObject *)smk_raw_module_create(state, code, options, backend == Py_None ? NULL : backend);
}

static void deallocate(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    smk_kernel_binary *binary = ((smk_raw_module *)(void *)self)->binary;
    Py_BEGIN_ALLOW_THREADS
    smk_kernel_binary_free(binary);
    Py_END_ALLOW_THREADS
    Py_DECREF(((smk_raw_module *)(void *)self)->source);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Attributes and methods ------------------------------------------------------------------------- */

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

static PyObject *get_kernels(PyObject *self, void *closure)
{
    const smk_raw_module *module = (smk_raw_module *)(void *)self;
    (void)closure;
    if (smk_raw_module_parsed(module) == NULL) {
        return smk_error_raise(smk_state_of_instance(self), &module->refusal);
    }
    return smk_raw_module_names(module);
}

static PyObject *get_source(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((smk_raw_module *)(void *)self)->source);
}

static const char get_function_doc[] =
    "get_function($self, /, name)\n--\n\n"
    "The kernel of that name.\n\n"
    "Returns\n-------\n"
    "RawKernel\n\n"
    "Raises\n------\n"
    "ArgumentError (ValueError) where there is none; it lists the kernels that there are.\n";

static PyObject *get_function(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"name"};
    static const smk_keywords accepted = {"get_function", names, 1, 1, 1};
    PyObject *values[1];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    return smk_raw_kernel_create(smk_state_of_instance(self), (smk_raw_module *)(void *)self, values[0]);
}

static PyObject *represent(PyObject *self)
{
    PyObject *names = smk_raw_module_names((smk_raw_module *)(void *)self), *result = NULL;
    if (names != NULL) {
        result = PyUnicode_FromFormat("RawModule(kernels=%R)", names);
        Py_DECREF(names);
    }
    return result;
}

static PyMethodDef methods[] = {
    {"get_function", SMK_PY_FUNCTION(get_function), SMK_PY_FAST, get_function_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"kernels", get_kernels, NULL, "Names of the kernels (PTX entries), a tuple of str.", NULL},
    {"source", get_source, NULL, "The CUDA C that it was made from, a str; None for PTX.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const char documentation[] =
    "RawModule(code, *, options=(), backend=None)\n--\n\n"
    "Kernels of one's own, from PTX text or CUDA C.\n\n"
    "Parameters\n----------\n"
    "code : str or bytes\n"
    "    PTX where it begins (behind comments) with .version or .target; anything else is CUDA C and is compiled\n"
    "    by NVRTC or nvcc, whichever is found. Declare kernels extern \"C\" to find them by their name.\n"
    "options : sequence of str\n"
    "    For the compiler of CUDA C, as in (\"-DTILE=16\", \"-arch=compute_80\").\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine of its kernels unless a call names another; the code is then loaded there at once. The simulator\n"
    "    makes each kernel ready when get_function first names it.\n\n"
    "Shapes\n------\nNone; arrays come with the calls of its kernels.\n\n"
    "Returns\n-------\nRawModule, with the attribute kernels and the method get_function.\n\n"
    "Raises\n------\n"
    "PtxError (ValueError), PtxTypeError, UnsupportedError (NotImplementedError) with line and column;\n"
    "CompileError with the compiler's log, or with what to install where there is no compiler; BackendError.\n"
    "On a GPU the text that the simulator refuses is left to the driver to judge.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> module = smemkit.RawModule(\"\"\"\n"
    "... .version 7.0\n"
    "... .target sm_75\n"
    "... .address_size 64\n"
    "... .visible .entry nothing() { ret; }\n"
    "... \"\"\")\n"
    ">>> module.kernels\n"
    "('nothing',)\n";

static PyType_Slot slots[] = {
    {Py_tp_new, SMK_PY_SLOT(construct)},
    {Py_tp_dealloc, SMK_PY_SLOT(deallocate)},
    {Py_tp_repr, SMK_PY_SLOT(represent)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, SMK_PY_TEXT(documentation)},
    {0, NULL},
};

PyType_Spec smk_raw_module_spec = {
    .name = "smemkit.RawModule",
    .basicsize = sizeof(smk_raw_module),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
