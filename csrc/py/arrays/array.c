#include "py/arrays/array.h"

#include "py/arrays/ndarray.h"
#include "py/backends/chunked_copy.h"
#include "py/error.h"

smk_array *smk_array_cast(const smk_state *state, PyObject *object)
{
    return object != NULL && Py_TYPE(object) == state->array_type ? (smk_array *)(void *)object : NULL;
}

/* Counts the elements and bytes of a shape. As in NumPy, axes of length 0 are left out of the product that must not
 * overflow: the strides then fit too, and the array can be copied to the host. */
static int count_bytes(const smk_state *state, const char *subject, int rank, const npy_intp *shape,
                       npy_intp item_bytes, npy_intp *size, uint64_t *bytes)
{
    npy_intp product = item_bytes;
    bool fits = true, is_empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0) {
            smk_error_fail(state, SMK_SHAPE, "%s: axis %d has the negative length %zd", subject, i,
                           (Py_ssize_t)shape[i]);
            return -1;
        }
        is_empty = is_empty || shape[i] == 0;
        fits = fits && (shape[i] == 0 || !__builtin_mul_overflow(product, shape[i], &product));
    }
    if (!fits) {
        smk_error_fail(state, is_empty ? SMK_SHAPE : SMK_MEMORY,
                       is_empty ? "%s: an array of this shape has no elements, and strides that 64 bits do not hold"
                                : "%s: an array of this shape has more bytes than any machine",
                       subject);
        return -1;
    }
    *size = is_empty ? 0 : product / item_bytes;
    *bytes = is_empty ? 0 : (uint64_t)product;
    return 0;
}

/* Allocates on the array's device; where none was asked for, on the present one. Needs no GIL. */
static smk_status allocate(smk_array *array, smk_error *error)
{
    const smk_backend *backend = array->backend;
    int before = 0;
    smk_status status =
        array->device == SMK_DEVICE_PRESENT ? smk_backend_device(backend, &array->device, error) : SMK_OK;
    if (status == SMK_OK) {
        status = smk_backend_enter(backend, array->device, &before, error);
    }
    if (status == SMK_OK) {
        status = backend->allocate(array->bytes, &array->address, error);
        smk_backend_leave(backend, array->device, before);
    }
    return status;
}

/* Ignores errors: a deallocation cannot report them. */
static void release(const smk_array *array)
{
    int before = 0;
    if (smk_backend_enter(array->backend, array->device, &before, NULL) == SMK_OK) {
        (void)array->backend->release(array->address, NULL);
        smk_backend_leave(array->backend, array->device, before);
    }
}

smk_status smk_array_upload(const smk_array *array, const void *host, smk_error *error)
{
    int before = 0;
    smk_status status = smk_backend_enter(array->backend, array->device, &before, error);
    if (status == SMK_OK) {
        status = smk_chunked_copy_upload(array->backend, array->address, host, array->bytes, true, error);
        smk_backend_leave(array->backend, array->device, before);
    }
    return status;
}

smk_status smk_array_download(const smk_array *array, void *host, smk_error *error)
{
    int before = 0;
    smk_status status = smk_backend_enter(array->backend, array->device, &before, error);
    if (status == SMK_OK) {
        status = smk_chunked_copy_download(array->backend, array->address, host, array->bytes, true, error);
        smk_backend_leave(array->backend, array->device, before);
    }
    return status;
}

smk_array *smk_array_create(const smk_state *state, const char *subject, const smk_backend *backend, int device,
                            PyArray_Descr *descr, int rank, const npy_intp *shape)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    npy_intp size = 0;
    uint64_t bytes = 0;
    if (count_bytes(state, subject, rank, shape, PyDataType_ELSIZE(descr), &size, &bytes) < 0) {
        return NULL;
    }
    smk_array *array = PyObject_New(smk_array, state->array_type);
    if (array == NULL) {
        return NULL;
    }
    Py_INCREF(descr);
    array->descr = descr;
    array->backend = backend;
    array->device = device;
    array->address = 0;
    array->bytes = bytes;
    array->owns = false;
    array->rank = rank;
    array->size = size;
    array->weak_references = NULL;
    for (int i = 0; i < rank; i++) {
        array->shape[i] = shape[i];
    }
    Py_BEGIN_ALLOW_THREADS
    status = allocate(array, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        Py_DECREF(array);
        smk_error_raise(state, &error);
        return NULL;
    }
    array->owns = true;
    return array;
}

static void deallocate(PyObject *self)
{
    smk_array *array = (smk_array *)(void *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (array->weak_references != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    if (array->owns) {
        /* where the driver has no memory pool, freeing waits for running kernels */
        Py_BEGIN_ALLOW_THREADS
        release(array);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(array->descr);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *get_dtype(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef((PyObject *)((smk_array *)(void *)self)->descr);
}

static PyObject *get_shape(PyObject *self, void *closure)
{
    const smk_array *array = (smk_array *)(void *)self;
    (void)closure;
    return smk_ndarray_shape(array->rank, array->shape);
}

static PyObject *get_strides(PyObject *self, void *closure)
{
    const smk_array *array = (smk_array *)(void *)self;
    npy_intp strides[NPY_MAXDIMS];
    npy_intp stride = PyDataType_ELSIZE(array->descr);
    (void)closure;
    for (int i = array->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= array->shape[i] > 0 ? array->shape[i] : 1;
    }
    return smk_ndarray_shape(array->rank, strides);
}

static PyObject *get_rank(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((smk_array *)(void *)self)->rank);
}

static PyObject *get_size(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSsize_t(((smk_array *)(void *)self)->size);
}

static PyObject *get_item_bytes(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSsize_t(PyDataType_ELSIZE(((smk_array *)(void *)self)->descr));
}

static PyObject *get_bytes(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(((smk_array *)(void *)self)->bytes);
}

static PyObject *get_backend(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(((smk_array *)(void *)self)->backend->name);
}

static PyObject *get_pointer(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(((smk_array *)(void *)self)->address);
}

static PyObject *represent(PyObject *self)
{
    const smk_array *array = (smk_array *)(void *)self;
    PyObject *shape = smk_ndarray_shape(array->rank, array->shape);
    PyObject *result = NULL;
    if (shape != NULL) {
        result = PyUnicode_FromFormat("DeviceArray(shape=%R, dtype=%S, backend='%s')", shape, (PyObject *)array->descr,
                                      array->backend->name);
    }
    Py_XDECREF(shape);
    return result;
}

static Py_ssize_t get_length(PyObject *self)
{
    const smk_array *array = (smk_array *)(void *)self;
    if (array->rank == 0) {
        PyErr_SetString(PyExc_TypeError, "len() of a DeviceArray without axes");
        return -1;
    }
    return array->shape[0];
}

static int judge_truth(PyObject *self)
{
    smk_error_fail(smk_state_of_instance(self), SMK_TYPE,
                   "a DeviceArray has no truth value; copy it to the host with smemkit.asnumpy(d)");
    return -1;
}

/* NumPy's functions, ufuncs and operators all convert by __array__. The type has no __array_ufunc__ = None beside it:
 * that gives vaguer messages, and the reductions of NumPy 2.4 then leak a reference to the object. */
static const char refuse_conversion_doc[] = "__array__($self, /, *args, **kwargs)\n--\n\n"
                                            "Raises TypeError: use smemkit.asnumpy(d).";

static PyObject *refuse_conversion(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    (void)arguments;
    (void)keywords;
    return smk_error_fail(smk_state_of_instance(self), SMK_TYPE,
                          "a DeviceArray is not copied to the host implicitly; use smemkit.asnumpy(d)");
}

static const char refuse_pickle_doc[] = "__reduce__($self, /)\n--\n\n"
                                        "Raises TypeError: pickle smemkit.asnumpy(d).";

static PyObject *refuse_pickle(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return smk_error_fail(smk_state_of_instance(self), SMK_TYPE,
                          "a DeviceArray cannot be pickled or copied; pickle smemkit.asnumpy(d)");
}

static PyMethodDef methods[] = {
    {"__array__", SMK_PY_FUNCTION(refuse_conversion), METH_VARARGS | METH_KEYWORDS, refuse_conversion_doc},
    {"__reduce__", refuse_pickle, METH_NOARGS, refuse_pickle_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"dtype", get_dtype, NULL, "Element type, a numpy.dtype in native byte order.", NULL},
    {"shape", get_shape, NULL, "Length of each axis.", NULL},
    {"strides", get_strides, NULL, "Bytes from one element to the next along each axis; always C-contiguous.", NULL},
    {"ndim", get_rank, NULL, "Number of axes.", NULL},
    {"size", get_size, NULL, "Number of elements.", NULL},
    {"itemsize", get_item_bytes, NULL, "Bytes of an element.", NULL},
    {"nbytes", get_bytes, NULL, "Bytes of all elements.", NULL},
    {"backend", get_backend, NULL, "The machine whose memory holds it: 'cuda' or 'sim'.", NULL},
    {"pointer", get_pointer, NULL, "Address on that machine, an int.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(smk_array, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static const char documentation[] =
    "A C-contiguous array in the memory of the GPU or of the simulator.\n\n"
    "Made by smemkit.asarray and smemkit.empty; freed with the last reference. It is never copied to the host\n"
    "implicitly: smemkit.asnumpy(d) does that, and numpy.asarray(d), numpy.add(d, 1) or float(d) raise TypeError.\n"
    "Of several GPUs it lies on the one that was present when it was made, and calls run there, whichever is present\n"
    "by then; arrays of two GPUs do not mix in a call.\n\n"
    "Shapes\n------\nAny, also without axes and without elements.\n\n"
    "Example\n-------\n"
    ">>> import numpy, smemkit\n"
    ">>> d = smemkit.asarray(numpy.arange(6.0).reshape(2, 3), backend=\"sim\")\n"
    ">>> d\n"
    "DeviceArray(shape=(2, 3), dtype=float64, backend='sim')\n"
    ">>> d.nbytes, d.strides\n"
    "(48, (24, 8))\n";

static PyType_Slot slots[] = {
    {Py_tp_dealloc, SMK_PY_SLOT(deallocate)},
    {Py_tp_repr, SMK_PY_SLOT(represent)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_members, members},
    {Py_sq_length, SMK_PY_SLOT(get_length)},
    {Py_nb_bool, SMK_PY_SLOT(judge_truth)},
    {Py_tp_doc, SMK_PY_TEXT(documentation)},
    {0, NULL},
};

PyType_Spec smk_array_spec = {
    .name = "smemkit.DeviceArray",
    .basicsize = sizeof(smk_array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
