#include "py/error.h"

#include "py/mangled.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct error_row {
    smk_status status;
    const char *name;
    const char *base;
    const char *mixin;
    const char *sentence;
} error_row;

static const error_row rows[] = {
#define SMK_STATUS(id, class_name, base, mixin, sentence) {SMK_##id, "smemkit." class_name, base, mixin, sentence},
#include "base/status.def"
#undef SMK_STATUS
};

enum { ROWS = sizeof rows / sizeof rows[0], POSITION_BYTES = 1024 };

static const char *const attributes[] = {"kernel",      "ptx_line", "ptx_column", "source_file",
                                         "source_line", "block",    "thread"};

/* "smemkit.X" -> "X" */
static const char *get_short_name(const char *name)
{
    return strchr(name, '.') + 1;
}

/* Gives a class the __new__ of the built-in class whose memory layout its instances have. Without it, a class with two
 * built-in bases finds that of the other base, which refuses it; copies of exceptions are made by __new__ where a
 * library (tblib, which Dask uses) pickles them with their traceback. Returns 0, or -1 with an exception set. */
static int set_new(PyObject *class)
{
    PyTypeObject *base = (PyTypeObject *)(void *)class;
    while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        base = base->tp_base;
    }
    PyObject *function = PyObject_GetAttrString((PyObject *)base, "__new__");
    const int status = function == NULL ? -1 : PyObject_SetAttrString(class, "__new__", function);
    Py_XDECREF(function);
    return status;
}

static PyObject *create_root(void)
{
    PyObject *result = NULL;
    PyObject *members = PyDict_New();
    if (members == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if (PyDict_SetItemString(members, attributes[i], Py_None) < 0) {
            goto done;
        }
    }
    result =
        PyErr_NewExceptionWithDoc("smemkit.Error",
                                  "Root of every exception that smemkit raises.\n\n"
                                  "The attributes kernel, ptx_line, ptx_column, source_file, source_line, block and\n"
                                  "thread say where it happened; each is None where that is not known.",
                                  PyExc_Exception, members);
    if (result != NULL && set_new(result) < 0) {
        Py_CLEAR(result);
    }
done:
    Py_DECREF(members);
    return result;
}

/* Returns a borrowed reference. A row names only classes of rows above it. */
static PyObject *find_base(const smk_state *state, const char *name)
{
    if (strcmp(name, "Error") == 0) {
        return state->root;
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(get_short_name(rows[i].name), name) == 0 && state->exceptions[rows[i].status] != NULL) {
            return state->exceptions[rows[i].status];
        }
    }
    PyErr_Format(PyExc_SystemError, "status.def: base class %s stands below its first use", name);
    return NULL;
}

static PyObject *create_class(const smk_state *state, const error_row *row)
{
    PyObject *result = NULL, *builtins = NULL, *mixin = NULL, *bases = NULL;
    PyObject *base = find_base(state, row->base);
    if (base == NULL) {
        return NULL;
    }
    if (strcmp(row->mixin, "-") == 0) {
        bases = PyTuple_Pack(1, base);
    } else {
        builtins = PyImport_ImportModule("builtins");
        mixin = builtins == NULL ? NULL : PyObject_GetAttrString(builtins, row->mixin);
        bases = mixin == NULL ? NULL : PyTuple_Pack(2, base, mixin);
    }
    if (bases == NULL) {
        goto done;
    }
    result = PyErr_NewExceptionWithDoc(row->name, row->sentence, bases, NULL);
    if (result != NULL && set_new(result) < 0) {
        Py_CLEAR(result);
    }
done:
    Py_XDECREF(builtins);
    Py_XDECREF(mixin);
    Py_XDECREF(bases);
    return result;
}

int smk_error_create(PyObject *module, smk_state *state)
{
    state->root = create_root();
    if (state->root == NULL || PyModule_AddObjectRef(module, "Error", state->root) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ROWS; i++) {
        PyObject *exception = create_class(state, &rows[i]);
        if (exception == NULL) {
            return -1;
        }
        state->exceptions[rows[i].status] = exception;
        if (PyModule_AddObjectRef(module, get_short_name(rows[i].name), exception) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *get_class(const smk_state *state, smk_status status)
{
    bool known = status > SMK_OK && status < SMK_STATUS_COUNT && state->exceptions[status] != NULL;
    return known ? state->exceptions[status] : state->exceptions[SMK_INTERNAL];
}

/* Text such as " [kernel f, PTX line 7]" while it is written. */
typedef struct position {
    char text[POSITION_BYTES];
    size_t used;
} position;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
append(position *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(p->text + p->used, sizeof p->text - p->used, format, arguments);
    va_end(arguments);
    p->used += length > 0 ? (size_t)length : 0;
    p->used = p->used < sizeof p->text ? p->used : sizeof p->text - 1;
}

static const char *separate(const position *p)
{
    return p->used == 0 ? " [" : ", ";
}

/* Writes the position in words with a leading blank, or nothing where no position is known. */
static void write_position(const smk_error *error, position *p)
{
    if (error->kernel[0] != '\0') {
        append(p, "%skernel %s", separate(p), error->kernel);
    }
    if (error->source_line != 0) {
        append(p, "%s%s:%u", separate(p), error->source_file[0] != '\0' ? error->source_file : "source",
               (unsigned)error->source_line);
    }
    if (error->ptx_line != 0) {
        append(p, "%sPTX line %u", separate(p), (unsigned)error->ptx_line);
    }
    if (error->ptx_line != 0 && error->ptx_column != 0) {
        append(p, ", column %u", (unsigned)error->ptx_column);
    }
    if (error->has_thread) {
        const uint32_t *b = error->block, *t = error->thread;
        append(p, "%sblock (%u, %u, %u), thread (%u, %u, %u)", separate(p), (unsigned)b[0], (unsigned)b[1],
               (unsigned)b[2], (unsigned)t[0], (unsigned)t[1], (unsigned)t[2]);
    }
    if (p->used != 0) {
        append(p, "]");
    }
}

static PyObject *get_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* Steals the reference to value. -1 where value is NULL. */
static int set_attribute(PyObject *exception, const char *name, PyObject *value)
{
    if (value == NULL) {
        return -1;
    }
    int status = PyObject_SetAttrString(exception, name, value);
    Py_DECREF(value);
    return status;
}

static int set_position(PyObject *exception, const smk_error *error)
{
    int bad = 0;
    if (error->kernel[0] != '\0') {
        bad |= set_attribute(exception, "kernel", get_text(error->kernel));
    }
    if (error->source_file[0] != '\0') {
        bad |= set_attribute(exception, "source_file", get_text(error->source_file));
    }
    if (error->source_line != 0) {
        bad |= set_attribute(exception, "source_line", PyLong_FromUnsignedLong(error->source_line));
    }
    if (error->ptx_line != 0) {
        bad |= set_attribute(exception, "ptx_line", PyLong_FromUnsignedLong(error->ptx_line));
    }
    if (error->ptx_column != 0) {
        bad |= set_attribute(exception, "ptx_column", PyLong_FromUnsignedLong(error->ptx_column));
    }
    if (error->has_thread) {
        const uint32_t *b = error->block, *t = error->thread;
        bad |= set_attribute(exception, "block", Py_BuildValue("(III)", b[0], b[1], b[2]));
        bad |= set_attribute(exception, "thread", Py_BuildValue("(III)", t[0], t[1], t[2]));
    }
    return bad;
}

PyObject *smk_error_raise(const smk_state *state, const smk_error *error)
{
    PyObject *text = NULL, *exception = NULL, *message = NULL;
    position where = {{0}, 0};
    if (PyErr_Occurred()) {
        return NULL;
    }
    smk_error shown = *error;
    PyObject *type = get_class(state, error->status), *name = smk_mangled_read(error->kernel);
    const char *kernel = name == NULL ? NULL : PyUnicode_AsUTF8(name);
    if (kernel == NULL) {
        goto done;
    }
    (void)snprintf(shown.kernel, sizeof shown.kernel, "%s", kernel);
    write_position(&shown, &where);
    text = get_text(error->message);
    message = text == NULL ? NULL : PyUnicode_FromFormat("%U%s", text, where.text);
    exception = message == NULL ? NULL : PyObject_CallOneArg(type, message);
    if (exception == NULL || set_position(exception, &shown) < 0) {
        goto done;
    }
    PyErr_SetObject(type, exception);
done:
    Py_XDECREF(name);
    Py_XDECREF(text);
    Py_XDECREF(message);
    Py_XDECREF(exception);
    return NULL;
}

PyObject *smk_error_fail(const smk_state *state, smk_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *message = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (message != NULL) {
        PyErr_SetObject(get_class(state, status), message);
        Py_DECREF(message);
    }
    return NULL;
}

bool smk_error_clear_conversion(void)
{
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError) &&
        !PyErr_ExceptionMatches(PyExc_OverflowError)) {
        return false;
    }
    PyErr_Clear();
    return true;
}
