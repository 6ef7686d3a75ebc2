#include "py/arrays/list.h"

enum { LARGE = 1 << 20, POLL_ITEMS = 1 << 16, RANK_MAX = 8 };

#if !defined(Py_BEGIN_CRITICAL_SECTION) /* Python before 3.13 always has the GIL */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

_Static_assert(sizeof(npy_intp) == sizeof(long long), "NumPy's int holds what PyLong_AsLongLong returns");

typedef enum { DONE, LEFT_TO_NUMPY, INTERRUPTED } outcome;

typedef struct conversion {
    int rank;
    npy_intp shape[RANK_MAX];
    bool is_float;   /* else int */
    bool takes_ints; /* a float type is wanted: int items become float, too */
    union {
        double *real;
        npy_intp *integer;
    } target; /* of the next item */
} conversion;

/* An item of a list that had `length` items, as a new reference; NULL where the length is another now. Where there is
 * no GIL the critical section keeps other threads from changing the list. */
static PyObject *get_item(PyObject *list, Py_ssize_t index, Py_ssize_t length)
{
    PyObject *item = NULL;
    Py_BEGIN_CRITICAL_SECTION(list);
    if (PyList_GET_SIZE(list) == length) {
        item = Py_NewRef(PyList_GET_ITEM(list, index));
    }
    Py_END_CRITICAL_SECTION();
    return item;
}

/* Reads rank, shape and type from the first item of each list. False where they are none for this conversion. */
static bool read_first(PyObject *list, conversion *c)
{
    npy_intp count = 1;
    PyObject *object = Py_NewRef(list);
    while (object != NULL && PyList_CheckExact(object)) {
        const Py_ssize_t length = PyList_GET_SIZE(object);
        if (length == 0 || c->rank == RANK_MAX || count > NPY_MAX_INTP / (npy_intp)sizeof(double) / length) {
            Py_CLEAR(object);
        } else {
            count *= length;
            c->shape[c->rank++] = length;
            Py_SETREF(object, get_item(object, 0, length));
        }
    }
    c->is_float = object != NULL && PyFloat_CheckExact(object);
    const bool numbers = c->is_float || (object != NULL && PyLong_CheckExact(object));
    Py_XDECREF(object);
    return numbers && count >= LARGE;
}

/* Runs no Python code, within a critical section of the list. */
static outcome convert_items(conversion *c, PyObject *list, Py_ssize_t start, Py_ssize_t end)
{
    for (Py_ssize_t i = start; i < end; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (c->is_float && PyFloat_CheckExact(item)) {
            *c->target.real++ = PyFloat_AS_DOUBLE(item);
        } else if (c->takes_ints && PyLong_CheckExact(item)) {
            const double value = PyLong_AsDouble(item);
            if (value == -1.0 && PyErr_Occurred() != NULL) {
                PyErr_Clear();
                return LEFT_TO_NUMPY;
            }
            *c->target.real++ = value;
        } else if (!c->is_float && PyLong_CheckExact(item)) {
            int overflow = 0;
            *c->target.integer++ = (npy_intp)PyLong_AsLongLongAndOverflow(item, &overflow);
            if (overflow != 0) {
                return LEFT_TO_NUMPY;
            }
        } else {
            return LEFT_TO_NUMPY;
        }
    }
    return DONE;
}

static outcome convert_part(conversion *c, PyObject *list, Py_ssize_t start, Py_ssize_t step, Py_ssize_t length)
{
    outcome result = LEFT_TO_NUMPY;
    Py_BEGIN_CRITICAL_SECTION(list);
    if (PyList_GET_SIZE(list) == length) {
        result = convert_items(c, list, start, length - start < step ? length : start + step);
    }
    Py_END_CRITICAL_SECTION();
    return result;
}

/* Converts the list at a depth. A signal's handler or another thread may change any list, so lengths are read again. */
static outcome convert_list(conversion *c, PyObject *list, int depth)
{
    const Py_ssize_t length = c->shape[depth];
    const bool last = depth == c->rank - 1;
    const Py_ssize_t step = last ? POLL_ITEMS : 1;
    outcome result = DONE;
    for (Py_ssize_t i = 0; i < length && result == DONE; i += step) {
        if (!PyList_CheckExact(list)) {
            return LEFT_TO_NUMPY;
        }
        if (last) {
            result = convert_part(c, list, i, step, length);
        } else {
            PyObject *inner = get_item(list, i, length);
            result = inner == NULL ? LEFT_TO_NUMPY : convert_list(c, inner, depth + 1);
            Py_XDECREF(inner);
        }
        if (last && result == DONE && PyErr_CheckSignals() < 0) {
            result = INTERRUPTED;
        }
    }
    return result;
}

/* Chooses the type of the array. False where NumPy would convert an item to `wanted` in another way. */
static bool choose_type(conversion *c, const PyArray_Descr *wanted)
{
    const int type = wanted == NULL ? NPY_NOTYPE : wanted->type_num;
    c->takes_ints = type == NPY_DOUBLE || type == NPY_FLOAT || type == NPY_HALF;
    if (c->takes_ints) {
        c->is_float = true;
        return true;
    }
    return type == NPY_NOTYPE || (type == NPY_INTP && !c->is_float);
}

int smk_list_convert(PyObject *object, const PyArray_Descr *wanted, PyArrayObject **array)
{
    conversion c = {0};
    *array = NULL;
    if (!read_first(object, &c) || !choose_type(&c, wanted)) {
        return 0;
    }
    PyArrayObject *made = (PyArrayObject *)PyArray_SimpleNew(c.rank, c.shape, c.is_float ? NPY_DOUBLE : NPY_INTP);
    if (made == NULL) { /* the first rows may be longer than all others */
        PyErr_Clear();
        return 0;
    }
    if (c.is_float) {
        c.target.real = PyArray_DATA(made);
    } else {
        c.target.integer = PyArray_DATA(made);
    }
    const outcome result = convert_list(&c, object, 0);
    if (result == DONE) {
        *array = made;
    } else {
        Py_DECREF(made);
    }
    return result == INTERRUPTED ? -1 : 0;
}
