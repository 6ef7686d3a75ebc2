#include "py/arrays/pinned_array.h"

#include "py/arrays/shape.h"
#include "py/arrays/transfer.h"
#include "py/backends/backend.h"
#include "py/backends/selection.h"
#include "py/error.h"
#include "py/keywords.h"

static const char capsule_name[] = "smemkit.pinned";

/* The capsule is the base of the array, and of all views of it: the memory goes with the last of them. */
static void free_capsule(PyObject *capsule)
{
    void *memory = PyCapsule_GetPointer(capsule, capsule_name);
    const smk_backend *backend = PyCapsule_GetContext(capsule);
    Py_BEGIN_ALLOW_THREADS /* it waits for copies of the memory */
    backend->unpin(memory);
    Py_END_ALLOW_THREADS
}

/* The bytes of an array; -1 with an exception set. */
static int count_bytes(const smk_state *state, const PyArray_Dims *shape, const PyArray_Descr *descr, npy_intp *bytes)
{
    bool fits = true;
    *bytes = PyDataType_ELSIZE(descr);
    for (int i = 0; i < shape->len; i++) {
        if (shape->ptr[i] < 0) {
            smk_error_fail(state, SMK_SHAPE, "pinned_empty: axis %d has the negative length %zd", i,
                           (Py_ssize_t)shape->ptr[i]);
            return -1;
        }
        fits = fits && !__builtin_mul_overflow(*bytes, shape->ptr[i], bytes);
    }
    if (!fits) {
        smk_error_fail(state, SMK_MEMORY, "pinned_empty: an array of this shape has more bytes than any machine");
    }
    return fits ? 0 : -1;
}

/* A capsule over pinned memory; NULL with an exception set. */
static PyObject *pin(const smk_state *state, const smk_backend *backend, npy_intp bytes)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    void *memory = NULL;
    Py_BEGIN_ALLOW_THREADS
    status = backend->pin((uint64_t)bytes, &memory, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(memory, capsule_name, NULL);
    /* the cast is right: the context is read alone */
    if (capsule == NULL || PyCapsule_SetContext(capsule, (void *)(uintptr_t)backend) < 0 ||
        PyCapsule_SetDestructor(capsule, free_capsule) < 0) {
        Py_CLEAR(capsule);
        backend->unpin(memory);
    }
    return capsule;
}

/* Steals the reference to the type. */
static PyObject *make_array(const smk_state *state, const smk_backend *backend, const PyArray_Dims *shape,
                            PyArray_Descr *descr)
{
    npy_intp bytes = 0;
    if (count_bytes(state, shape, descr, &bytes) < 0) {
        Py_DECREF(descr);
        return NULL;
    }
    if (backend->pin == NULL) {
        PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, shape->len, shape->ptr, NULL, NULL, 0, NULL);
        if (array == NULL && PyErr_ExceptionMatches(PyExc_MemoryError)) {
            PyErr_Clear();
            smk_error_fail(state, SMK_MEMORY, "pinned_empty: the host has no memory for %lld bytes", (long long)bytes);
        }
        return array;
    }
    PyObject *capsule = pin(state, backend, bytes);
    if (capsule == NULL) {
        Py_DECREF(descr);
        return NULL;
    }
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, shape->len, shape->ptr, NULL,
                                           PyCapsule_GetPointer(capsule, capsule_name), NPY_ARRAY_CARRAY, NULL);
    if (array == NULL) {
        Py_DECREF(capsule);
    } else if (PyArray_SetBaseObject((PyArrayObject *)array, capsule) < 0) { /* it steals the reference in any case */
        Py_CLEAR(array);
    }
    return array;
}

static const char pinned_empty_doc[] =
    "pinned_empty(shape, dtype=\"float32\", backend=None)\n--\n\n"
    "A new NumPy array in pinned memory, with unspecified elements.\n\n"
    "A GPU reads and writes pinned memory by itself: copies of such an array have the speed of the bus, and no host\n"
    "thread works for them. The system cannot move it, so pin little of a machine's memory; it is returned when the\n"
    "array and its views are gone. Memory that CuPy or PyTorch have pinned is taken in the same way.\n\n"
    "Parameters\n----------\n"
    "shape : int or tuple of int\n"
    "dtype : dtype-like\n"
    "    One that exists on a device.\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine; by default that of smemkit.get_backend(). The simulator shares the host's memory, which\n"
    "    needs no pinning: the array is an ordinary one.\n\n"
    "Shapes\n------\n"
    "Any, also without axes and without elements.\n\n"
    "Returns\n-------\n"
    "numpy.ndarray\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError), ShapeError (ValueError), BackendError, OutOfMemoryError (MemoryError)\n"
    "where the system pins no more.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> x = smemkit.pinned_empty((2, 3), backend=\"sim\")\n"
    ">>> x[...] = 1\n"
    ">>> smemkit.asarray(x, backend=\"sim\").nbytes\n"
    "24\n";

static PyObject *call_pinned_empty(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"shape", "dtype", "backend"};
    static const smk_keywords accepted = {"pinned_empty", names, 3, 3, 1};
    const smk_state *state = smk_state_of_module(module);
    const smk_backend *backend = NULL;
    PyArray_Dims shape = {0};
    PyObject *values[3], *result = NULL;
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0 ||
        smk_shape_read(state, "pinned_empty", values[0], &shape) < 0) {
        return NULL;
    }
    PyObject *dtype = smk_keywords_optional(values[1]);
    PyArray_Descr *descr =
        dtype != NULL ? smk_transfer_type(state, "pinned_empty: dtype", dtype) : PyArray_DescrFromType(NPY_FLOAT);
    if (descr != NULL && smk_selection_choose(state, smk_keywords_optional(values[2]), &backend) == 0) {
        result = make_array(state, backend, &shape, descr);
    } else {
        Py_XDECREF(descr);
    }
    PyDimMem_FREE(shape.ptr);
    return result;
}

PyMethodDef smk_pinned_array_methods[] = {
    {"pinned_empty", SMK_PY_FUNCTION(call_pinned_empty), SMK_PY_FAST, pinned_empty_doc},
    {NULL, NULL, 0, NULL},
};
