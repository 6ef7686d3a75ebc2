#include "py/arrays/array_type.h"

#include "py/arrays/array_view.h"
#include "py/arrays/cuda_interface.h"
#include "py/arrays/dlpack_export.h"
#include "py/arrays/host_memory.h"
#include "py/arrays/ndarray.h"
#include "py/arrays/transfer.h"
#include "py/backends/device.h"
#include "py/error.h"
#include "py/keywords.h"

static smk_array *get_array(PyObject *self)
{
    return (smk_array *)(void *)self;
}

/* Properties -------------------------------------------------------------------------------------- */

static PyObject *get_dtype(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef((PyObject *)get_array(self)->descr);
}

static PyObject *get_shape(PyObject *self, void *closure)
{
    (void)closure;
    return smk_ndarray_shape(get_array(self)->rank, get_array(self)->shape);
}

static PyObject *get_strides(PyObject *self, void *closure)
{
    (void)closure;
    return smk_ndarray_shape(get_array(self)->rank, get_array(self)->strides);
}

static PyObject *get_rank(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(get_array(self)->rank);
}

static PyObject *get_size(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSsize_t(get_array(self)->size);
}

static PyObject *get_item_bytes(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSsize_t(PyDataType_ELSIZE(get_array(self)->descr));
}

static PyObject *get_bytes(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(get_array(self)->bytes);
}

static PyObject *get_backend(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(get_array(self)->backend->name);
}

static PyObject *get_device(PyObject *self, void *closure)
{
    char text[SMK_DEVICE_TEXT_BYTES];
    (void)closure;
    smk_device_write(get_array(self)->backend, get_array(self)->device, text);
    return PyUnicode_FromString(text);
}

static PyObject *get_pointer(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(get_array(self)->address);
}

static PyObject *get_transposed(PyObject *self, void *closure)
{
    (void)closure;
    return (PyObject *)smk_array_view_transpose(smk_state_of_instance(self), get_array(self), NULL);
}

static PyGetSetDef properties[] = {
    {"dtype", get_dtype, NULL, "Element type, a numpy.dtype in native byte order.", NULL},
    {"shape", get_shape, NULL, "Length of each axis.", NULL},
    {"strides", get_strides, NULL, "Bytes from one element to the next along each axis.", NULL},
    {"ndim", get_rank, NULL, "Number of axes.", NULL},
    {"size", get_size, NULL, "Number of elements.", NULL},
    {"itemsize", get_item_bytes, NULL, "Bytes of an element.", NULL},
    {"nbytes", get_bytes, NULL, "Bytes of all elements.", NULL},
    {"backend", get_backend, NULL, "The machine whose memory holds it: 'cuda' or 'sim'.", NULL},
    {"device", get_device, NULL, "The device whose memory holds it: 'sim', or 'cuda:0' for the first GPU.", NULL},
    {"pointer", get_pointer, NULL, "Address of the first element on that device, an int.", NULL},
    {"__cuda_array_interface__", smk_cuda_interface_get, NULL,
     "The memory for another library, by the CUDA Array Interface; only of an array on a GPU.", NULL},
    {"T", get_transposed, NULL, "The axes in reverse order: a view.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Methods ----------------------------------------------------------------------------------------- */

static const char copy_doc[] =
    "copy($self, /, *, device=None, stream=None)\n--\n\n"
    "A C-contiguous copy on the same device, or on another one.\n\n"
    "From one GPU to another the copy goes directly where they reach each other's memory, else through the host. It\n"
    "waits for the work of both devices so far, and the call returns before the copy has ended.\n\n"
    "Parameters\n----------\n"
    "device : int, str or Device, optional\n"
    "    Where the copy lives; by default where the array does.\n"
    "stream : stream, optional\n"
    "    As for smemkit.asarray: one of the device where the copy lives.\n\n"
    "Shapes\n------\nAny, with any strides.\n\n"
    "Raises\n------\n"
    "ArgumentError (ValueError) where there is no such device, OutOfMemoryError (MemoryError).\n\n"
    "Example\n-------\n"
    ">>> import numpy, smemkit\n"
    ">>> d = smemkit.asarray(numpy.arange(6).reshape(2, 3), backend=\"sim\")\n"
    ">>> d.T.strides, d.T.copy().strides\n"
    "((8, 24), (16, 8))\n"
    ">>> d.copy(device=\"sim\").device\n"
    "'sim'\n";

static PyObject *copy(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"device", "stream"};
    static const smk_keywords accepted = {"copy", names, 2, 0, 0};
    const smk_state *state = smk_state_of_instance(self);
    smk_stream_scope scope = {.named = false};
    PyObject *values[2];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0 ||
        smk_stream_scope_begin(state, "copy", values[1], &scope) < 0) {
        return NULL;
    }
    smk_array *array = smk_transfer_place(state, "copy", get_array(self), smk_keywords_optional(values[0]), &scope);
    if (array == get_array(self)) {
        Py_SETREF(array, smk_array_view_copy(state, "copy", get_array(self)));
    }
    smk_stream_scope_end(&scope);
    return (PyObject *)array;
}

static PyObject *copy_here(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return (PyObject *)smk_array_view_copy(smk_state_of_instance(self), "copy", get_array(self));
}

/* Binds one argument by position and stream=, and begins the work on that stream. Returns 0, or -1 with an exception
 * set. */
static int take_with_stream(PyObject *self, const char *method, const char *const names[2], PyObject *const *arguments,
                            Py_ssize_t given, PyObject *keywords, PyObject **value, smk_stream_scope *scope)
{
    const smk_keywords accepted = {method, names, 2, 1, 1};
    const smk_state *state = smk_state_of_instance(self);
    int device = get_array(self)->device;
    PyObject *values[2];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0 ||
        smk_stream_scope_begin(state, method, values[1], scope) < 0) {
        return -1;
    }
    *value = values[0];
    return smk_stream_scope_check(state, method, scope, get_array(self)->backend, &device);
}

static const char astype_doc[] = "astype($self, dtype, /, *, stream=None)\n--\n\n"
                                 "A copy of another element type on the same device; converts as numpy.astype does.\n\n"
                                 "Parameters\n----------\n"
                                 "dtype : dtype-like\n"
                                 "stream : stream, optional\n"
                                 "    As for smemkit.asarray.\n\n"
                                 "Shapes\n------\nAny, with any strides; the copy is C-contiguous.\n\n"
                                 "Raises\n------\n"
                                 "ArgumentTypeError (TypeError) for a type that does not exist on a device,\n"
                                 "OutOfMemoryError (MemoryError).\n\n"
                                 "Example\n-------\n"
                                 ">>> import smemkit\n"
                                 ">>> smemkit.asarray([1.5, 2.5], backend=\"sim\").astype(\"int32\")\n"
                                 "DeviceArray([1, 2], shape=(2,), dtype=int32, device='sim')\n";

static PyObject *astype(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"dtype", "stream"};
    const smk_state *state = smk_state_of_instance(self);
    smk_array *array = get_array(self), *result = NULL;
    smk_stream_scope scope = {.named = false};
    PyArray_Descr *wanted = NULL;
    PyObject *dtype = NULL;
    if (take_with_stream(self, "astype", names, arguments, given, keywords, &dtype, &scope) == 0) {
        wanted = smk_transfer_type(state, "astype: dtype", dtype);
    }
    if (wanted != NULL) {
        result = PyArray_EquivTypes(wanted, array->descr) ? smk_array_view_copy(state, "astype", array)
                                                          : smk_transfer_convert(state, array, wanted);
    }
    smk_stream_scope_end(&scope);
    Py_XDECREF(wanted);
    return (PyObject *)result;
}

static const char reshape_doc[] = "reshape($self, /, *shape)\n--\n\n"
                                  "The elements in C order with another shape; one length may be -1.\n\n"
                                  "A view where the array is C-contiguous, else a copy.\n\n"
                                  "Raises\n------\n"
                                  "ShapeError (ValueError) where the shape has another number of elements.\n\n"
                                  "Example\n-------\n"
                                  ">>> import smemkit\n"
                                  ">>> smemkit.zeros(6, backend=\"sim\").reshape(2, -1).shape\n"
                                  "(2, 3)\n";

static PyObject *reshape(PyObject *self, PyObject *arguments)
{
    PyObject *shape = PyTuple_GET_SIZE(arguments) == 1 ? PyTuple_GET_ITEM(arguments, 0) : arguments;
    return (PyObject *)smk_array_view_reshape(smk_state_of_instance(self), get_array(self), shape);
}

static const char transpose_doc[] = "transpose($self, /, *axes)\n--\n\n"
                                    "The axes in another order: a view. Without arguments in reverse order, as T.\n\n"
                                    "Parameters\n----------\n"
                                    "*axes : int, or one tuple of them\n"
                                    "    Which axis stands at each place; negative ones count from the end.\n\n"
                                    "Raises\n------\n"
                                    "ShapeError (ValueError) where an axis is missing or named twice.\n\n"
                                    "Example\n-------\n"
                                    ">>> import smemkit\n"
                                    ">>> smemkit.zeros((2, 3, 4), backend=\"sim\").transpose(1, 0, 2).shape\n"
                                    "(3, 2, 4)\n";

static PyObject *transpose(PyObject *self, PyObject *arguments)
{
    const Py_ssize_t given = PyTuple_GET_SIZE(arguments);
    PyObject *axes = given == 1 ? PyTuple_GET_ITEM(arguments, 0) : arguments;
    const bool reverses = given == 0 || axes == Py_None;
    return (PyObject *)smk_array_view_transpose(smk_state_of_instance(self), get_array(self), reverses ? NULL : axes);
}

static const char fill_doc[] = "fill($self, value, /, *, stream=None)\n--\n\n"
                               "Give all elements one value, converted to the element type.\n\n"
                               "Parameters\n----------\n"
                               "value : scalar\n"
                               "stream : stream, optional\n"
                               "    As for smemkit.asarray.\n\n"
                               "Raises\n------\n"
                               "ArgumentError (ValueError) where another library forbids writes to the memory.\n\n"
                               "Example\n-------\n"
                               ">>> import smemkit\n"
                               ">>> d = smemkit.zeros((2, 3), backend=\"sim\")\n"
                               ">>> d[:, 1].fill(7)\n"
                               ">>> d\n"
                               "DeviceArray([[0., 7., 0.],\n"
                               "             [0., 7., 0.]], shape=(2, 3), dtype=float32, device='sim')\n";

static PyObject *fill_elements(PyObject *self, PyObject *value)
{
    const smk_state *state = smk_state_of_instance(self);
    smk_array *array = get_array(self);
    if (array->readonly) {
        return smk_error_fail(state, SMK_ARGUMENT, "fill: the library that owns this memory made it read-only");
    }
    smk_array *element = smk_transfer_upload(state, "fill: value", value, array->descr, array->backend, array->device);
    if (element != NULL && element->size != 1) {
        Py_CLEAR(element);
        smk_error_fail(state, SMK_SHAPE, "fill: value has several elements; one is needed");
    }
    smk_array *single = element == NULL ? NULL : smk_array_view_index(state, element, Py_Ellipsis);
    const int status = single == NULL ? -1 : smk_array_view_assign(state, array, single);
    Py_XDECREF(element);
    Py_XDECREF(single);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *fill(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"value", "stream"};
    smk_stream_scope scope = {.named = false};
    PyObject *value = NULL, *result = NULL;
    if (take_with_stream(self, "fill", names, arguments, given, keywords, &value, &scope) == 0) {
        result = fill_elements(self, value);
    }
    smk_stream_scope_end(&scope);
    return result;
}

/* The coordinates of an element by its number in C order, a new tuple; NULL with an exception set. */
static PyObject *find_coordinates(const smk_array *array, PyObject *number)
{
    npy_intp place = PyNumber_AsSsize_t(number, PyExc_IndexError);
    PyObject *coordinates = NULL;
    if (place == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (place < -array->size || place >= array->size) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for %zd elements", (Py_ssize_t)place,
                     (Py_ssize_t)array->size);
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS];
    place += place < 0 ? array->size : 0;
    for (int i = array->rank - 1; i >= 0; i--) {
        shape[i] = place % array->shape[i];
        place /= array->shape[i];
    }
    coordinates = smk_ndarray_shape(array->rank, shape);
    return coordinates;
}

static const char item_doc[] =
    "item($self, /, *index)\n--\n\n"
    "One element as a number of Python: the only one, that of a number in C order, or that at an index.\n\n"
    "Raises\n------\n"
    "ShapeError (ValueError) where there are several elements, IndexError.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> d = smemkit.asarray([[1, 2], [3, 4]], backend=\"sim\")\n"
    ">>> d.item(1, 0), d.item(2)\n"
    "(3, 3)\n";

static PyObject *get_item(PyObject *self, PyObject *index)
{
    const smk_state *state = smk_state_of_instance(self);
    const bool flat =
        PyTuple_GET_SIZE(index) == 1 && get_array(self)->rank != 1 && PyIndex_Check(PyTuple_GET_ITEM(index, 0));
    PyObject *place = flat ? find_coordinates(get_array(self), PyTuple_GET_ITEM(index, 0)) : Py_NewRef(index);
    smk_array *found = place == NULL ? NULL : smk_array_view_index(state, get_array(self), place);
    PyObject *result = NULL;
    Py_XDECREF(place);
    if (found != NULL && found->size != 1) {
        smk_error_fail(state, SMK_SHAPE,
                       "item: %zd elements; say which one, as in d.item(0), or take them all by "
                       "smemkit.asnumpy(d)",
                       (Py_ssize_t)found->size);
    } else if (found != NULL) {
        PyArrayObject *host = smk_transfer_download(state, found);
        result = host == NULL ? NULL : PyObject_CallMethod((PyObject *)host, "item", NULL);
        Py_XDECREF(host);
    }
    Py_XDECREF(found);
    return result;
}

/* NumPy's functions, ufuncs and operators all convert by __array__ where they find no buffer. The type has no
 * __array_ufunc__ = None beside it: that gives vaguer messages, and the reductions of NumPy 2.4 then leak a reference to
 * the object. */
static const char refuse_conversion_doc[] = "__array__($self, /, *args, **kwargs)\n--\n\n"
                                            "Raises TypeError: use smemkit.asnumpy(d).";

static PyObject *refuse_conversion(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    (void)arguments;
    (void)keywords;
    return smk_error_fail(smk_state_of_instance(self), SMK_TYPE,
                          "a DeviceArray on a GPU is not copied to the host implicitly; use smemkit.asnumpy(d)");
}

static const char refuse_pickle_doc[] = "__reduce__($self, /)\n--\n\n"
                                        "Raises TypeError: pickle smemkit.asnumpy(d).";

static PyObject *refuse_pickle(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return smk_error_fail(smk_state_of_instance(self), SMK_TYPE,
                          "a DeviceArray cannot be pickled; pickle smemkit.asnumpy(d)");
}

static PyMethodDef methods[] = {
    {"copy", SMK_PY_FUNCTION(copy), SMK_PY_FAST, copy_doc},
    {"astype", SMK_PY_FUNCTION(astype), SMK_PY_FAST, astype_doc},
    {"reshape", reshape, METH_VARARGS, reshape_doc},
    {"transpose", transpose, METH_VARARGS, transpose_doc},
    {"fill", SMK_PY_FUNCTION(fill), SMK_PY_FAST, fill_doc},
    {"item", get_item, METH_VARARGS, item_doc},
    {"__copy__", copy_here, METH_NOARGS, NULL},
    {"__deepcopy__", copy_here, METH_O, NULL},
    {"__dlpack__", SMK_PY_FUNCTION(smk_dlpack_export_capsule), SMK_PY_FAST, smk_dlpack_export_doc},
    {"__dlpack_device__", smk_dlpack_export_device, METH_NOARGS, smk_dlpack_export_device_doc},
    {"__array__", SMK_PY_FUNCTION(refuse_conversion), METH_VARARGS | METH_KEYWORDS, refuse_conversion_doc},
    {"__reduce__", refuse_pickle, METH_NOARGS, refuse_pickle_doc},
    {NULL, NULL, 0, NULL},
};

/* Protocols --------------------------------------------------------------------------------------- */

/* The values take NumPy's printing, which Python code does. */
static PyObject *represent(PyObject *self)
{
    PyObject *module = PyImport_ImportModule("smemkit.arrays");
    PyObject *text = module == NULL ? NULL : PyObject_CallMethod(module, "represent", "O", self);
    Py_XDECREF(module);
    return text;
}

static Py_ssize_t get_length(PyObject *self)
{
    const smk_array *array = get_array(self);
    if (array->rank == 0) {
        PyErr_SetString(PyExc_TypeError, "len() of a DeviceArray without axes");
        return -1;
    }
    return array->shape[0];
}

static PyObject *subscript(PyObject *self, PyObject *index)
{
    return (PyObject *)smk_array_view_index(smk_state_of_instance(self), get_array(self), index);
}

/* The elements that an assignment takes, on the target's device and of its type, a new reference. NULL with an exception
 * set. */
static smk_array *read_elements(const smk_state *state, smk_array *target, PyObject *value)
{
    smk_array *given = smk_array_cast(state, value), *elements = NULL;
    if (given == NULL) {
        return smk_transfer_upload(state, "the assigned value", value, target->descr, target->backend, target->device);
    }
    if (given->backend != target->backend) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "the assigned array lives on '%s', this one on '%s'; assign smemkit.asnumpy(d)",
                       given->backend->name, target->backend->name);
        return NULL;
    }
    elements = smk_transfer_move(state, "the assigned array", given, target->descr, target->backend, target->device);
    if (elements != NULL && smk_array_overlaps(elements, target)) {
        Py_SETREF(elements, smk_array_view_copy(state, "the assigned array", elements));
    }
    return elements;
}

static int assign(PyObject *self, PyObject *index, PyObject *value)
{
    const smk_state *state = smk_state_of_instance(self);
    smk_array *target = NULL, *elements = NULL;
    int status = -1;
    if (value == NULL) {
        smk_error_fail(state, SMK_TYPE, "elements of a DeviceArray cannot be deleted");
        return -1;
    }
    if (get_array(self)->readonly) {
        smk_error_fail(state, SMK_ARGUMENT, "the library that owns this memory made it read-only");
        return -1;
    }
    target = smk_array_view_index(state, get_array(self), index);
    elements = target == NULL ? NULL : read_elements(state, target, value);
    if (elements != NULL) {
        status = smk_array_view_assign(state, target, elements);
    }
    Py_XDECREF(target);
    Py_XDECREF(elements);
    return status;
}

/* Comparison by identity would pass or fail tests without a look at the elements. Beside a NumPy array, NumPy
 * compares. */
static PyObject *refuse_comparison(PyObject *self, PyObject *other, int operation)
{
    (void)operation;
    if (PyArray_Check(other)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return smk_error_fail(smk_state_of_instance(self), SMK_TYPE,
                          "a DeviceArray is not compared; compare smemkit.asnumpy(d), or `d is e`");
}

static Py_hash_t hash_identity(PyObject *self)
{
    return PyBaseObject_Type.tp_hash(self);
}

static int judge_truth(PyObject *self)
{
    smk_error_fail(smk_state_of_instance(self), SMK_TYPE,
                   "a DeviceArray has no truth value; copy it to the host with smemkit.asnumpy(d)");
    return -1;
}

/* Without these two Python reads the bytes of the buffer as a text. */
static PyObject *refuse_number(PyObject *self)
{
    return smk_error_fail(smk_state_of_instance(self), SMK_TYPE,
                          "a DeviceArray is no number; d.item() copies its only element to the host");
}

/* The simulator's memory is the host's, and so is managed and mapped memory: NumPy and others access the elements where
 * they lie. */
static int get_buffer(PyObject *self, Py_buffer *buffer, int flags)
{
    smk_array *array = get_array(self);
    const smk_state *state = smk_state_of_instance(self);
    buffer->obj = NULL;
    if (array->rank != 1 && (flags & PyBUF_ND) == 0) { /* torch.asarray(d) would lose the shape in silence */
        PyErr_SetString(PyExc_BufferError,
                        "a DeviceArray does not hand over its bytes without its shape; use numpy.asarray(d), "
                        "memoryview(d) or torch.from_dlpack(d)");
        return -1;
    }
    PyArrayObject *view = array->backend->host != NULL ? smk_array_view_host(state, array, !array->readonly)
                                                       : smk_host_memory_view(state, array);
    const int status = view == NULL ? -1 : PyObject_GetBuffer((PyObject *)view, buffer, flags);
    Py_XDECREF(view);
    return status;
}

static void deallocate(PyObject *self)
{
    smk_array *array = get_array(self);
    PyTypeObject *type = Py_TYPE(self);
    if (array->weak_references != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    smk_array_release(array);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(smk_array, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static const char documentation[] =
    "An array in the memory of the GPU or of the simulator.\n\n"
    "Made by smemkit.asarray, empty, zeros, ones, full and arange; freed with the last reference to it and to its\n"
    "views. d[1:, ::2] and d.T are views by NumPy's rules for integers, slices, None and ...; functions take views of\n"
    "any strides, and a RawKernel those whose elements lie side by side; on a GPU a view is a part of its array, and\n"
    "a kernel that leaves it is not found. d[index] = values copies elements. There is no arithmetic.\n\n"
    "An array on a GPU is never copied to the host implicitly: smemkit.asnumpy(d) does that, and numpy.asarray(d),\n"
    "numpy.add(d, 1) or float(d) raise TypeError. An array of the simulator lies in the host's memory:\n"
    "numpy.asarray(d) and torch.from_dlpack(d) see its elements without a copy.\n\n"
    "Of several GPUs an array lies on the one that device= named or that was present when it was made, and calls run\n"
    "there, whichever is present by then. Arrays of two GPUs do not mix in a call; d.copy(device=1) copies to another\n"
    "one, and so does an assignment.\n\n"
    "Shapes\n------\nAny, also without axes and without elements.\n\n"
    "Example\n-------\n"
    ">>> import numpy, smemkit\n"
    ">>> d = smemkit.asarray(numpy.arange(6.0).reshape(2, 3), backend=\"sim\")\n"
    ">>> d\n"
    "DeviceArray([[0., 1., 2.],\n"
    "             [3., 4., 5.]], shape=(2, 3), dtype=float64, device='sim')\n"
    ">>> d.nbytes, d.T[1].strides\n"
    "(48, (24,))\n";

static PyType_Slot slots[] = {
    {Py_tp_dealloc, SMK_PY_SLOT(deallocate)},
    {Py_tp_repr, SMK_PY_SLOT(represent)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_members, members},
    {Py_mp_length, SMK_PY_SLOT(get_length)},
    {Py_mp_subscript, SMK_PY_SLOT(subscript)},
    {Py_mp_ass_subscript, SMK_PY_SLOT(assign)},
    {Py_tp_richcompare, SMK_PY_SLOT(refuse_comparison)},
    {Py_tp_hash, SMK_PY_SLOT(hash_identity)},
    {Py_nb_bool, SMK_PY_SLOT(judge_truth)},
    {Py_nb_float, SMK_PY_SLOT(refuse_number)},
    {Py_nb_int, SMK_PY_SLOT(refuse_number)},
    {Py_bf_getbuffer, SMK_PY_SLOT(get_buffer)},
    {Py_tp_doc, SMK_PY_TEXT(documentation)},
    {0, NULL},
};

PyType_Spec smk_array_type_spec = {
    .name = "smemkit.DeviceArray",
    .basicsize = sizeof(smk_array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
