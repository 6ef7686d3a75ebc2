#include "py/arrays/array_view.h"

#include "py/arrays/ndarray.h"
#include "py/arrays/strided_copy.h"
#include "py/error.h"

/* Models ------------------------------------------------------------------------------------------ */

/* NumPy itself makes views: of a model, an array of the same layout at an address that nobody accesses. */
enum { MODEL_ADDRESS = 1 << 20 };

static PyArrayObject *create_model(const smk_array *array)
{
    Py_INCREF(array->descr); /* PyArray_NewFromDescr steals a reference */
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, array->descr, array->rank, array->shape, array->strides,
                                                 (void *)(uintptr_t)MODEL_ADDRESS, 0, NULL);
}

/* The view of the array that the view of its model shows. Steals the reference to `model`; NULL stays NULL. */
static smk_array *apply_model(const smk_state *state, smk_array *array, PyObject *model)
{
    if (model == NULL) {
        return NULL;
    }
    PyArrayObject *shown = (PyArrayObject *)model;
    const smk_array_layout layout = {array->descr, PyArray_NDIM(shown), PyArray_DIMS(shown), PyArray_STRIDES(shown)};
    const intptr_t offset = (intptr_t)PyArray_DATA(shown) - MODEL_ADDRESS;
    PyObject *owner = array->owner != NULL ? array->owner : (PyObject *)array;
    smk_array *view =
        smk_array_wrap(state, array->backend, array->device, owner, array->address + (uint64_t)offset, &layout);
    if (view != NULL) {
        view->readonly = array->readonly;
    }
    Py_DECREF(model);
    return view;
}

/* Views ------------------------------------------------------------------------------------------- */

/* Converts one item of an index to what NumPy takes as a basic one, a new reference. */
static PyObject *read_index(const smk_state *state, PyObject *item)
{
    if (item == Py_None || item == Py_Ellipsis || PySlice_Check(item)) {
        return Py_NewRef(item);
    }
    const bool is_integer = PyIndex_Check(item) && !PyBool_Check(item) && !PyArray_IsScalar(item, Bool) &&
                            (!PyArray_Check(item) || PyArray_NDIM((PyArrayObject *)item) == 0);
    if (!is_integer) {
        return smk_error_fail(state, SMK_TYPE,
                              "a DeviceArray takes integers, slices, None and ... as an index, not %.100s; "
                              "smemkit.gather(d, index) takes an array of indices, and smemkit.asnumpy(d)[index] all",
                              Py_TYPE(item)->tp_name);
    }
    return PyNumber_Index(item);
}

/* A tuple of basic indices that ends in an Ellipsis unless it has one: NumPy then gives an array, and no element. */
static PyObject *read_indices(const smk_state *state, PyObject *index)
{
    PyObject *given = PyTuple_Check(index) ? Py_NewRef(index) : PyTuple_Pack(1, index);
    PyObject *list = given == NULL ? NULL : PyList_New(0), *result = NULL;
    bool has_ellipsis = false;
    int status = list == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && i < PyTuple_GET_SIZE(given); i++) {
        PyObject *item = read_index(state, PyTuple_GET_ITEM(given, i));
        has_ellipsis = has_ellipsis || item == Py_Ellipsis;
        status = item == NULL ? -1 : PyList_Append(list, item);
        Py_XDECREF(item);
    }
    if (status == 0 && !has_ellipsis) {
        status = PyList_Append(list, Py_Ellipsis);
    }
    if (status == 0) {
        result = PyList_AsTuple(list);
    }
    Py_XDECREF(given);
    Py_XDECREF(list);
    return result;
}

smk_array *smk_array_view_index(const smk_state *state, smk_array *array, PyObject *index)
{
    PyObject *indices = read_indices(state, index), *view = NULL;
    PyArrayObject *model = indices == NULL ? NULL : create_model(array);
    if (model != NULL) {
        view = PyObject_GetItem((PyObject *)model, indices);
    }
    Py_XDECREF(indices);
    Py_XDECREF(model);
    return apply_model(state, array, view);
}

smk_array *smk_array_view_transpose(const smk_state *state, smk_array *array, PyObject *axes)
{
    PyArray_Dims order = {NULL, 0};
    if (axes != NULL && PyArray_IntpConverter(axes, &order) == NPY_FAIL) {
        return NULL;
    }
    PyArrayObject *model = create_model(array);
    PyObject *view = model == NULL ? NULL : PyArray_Transpose(model, axes == NULL ? NULL : &order);
    if (view == NULL && model != NULL && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
        smk_error_fail(state, SMK_SHAPE, "transpose: axes is %R; an array of %d dimensions needs each of them once",
                       axes, array->rank);
    }
    PyDimMem_FREE(order.ptr);
    Py_XDECREF(model);
    return apply_model(state, array, view);
}

smk_array *smk_array_view_reshape(const smk_state *state, smk_array *array, PyObject *shape)
{
    PyArray_Dims lengths = {NULL, 0};
    PyObject *view = NULL;
    smk_array *packed = NULL, *result = NULL;
    PyArrayObject *model = NULL;
    if (PyArray_IntpConverter(shape, &lengths) == NPY_FAIL) {
        return NULL;
    }
    packed = smk_array_view_pack(state, "reshape", array);
    model = packed == NULL ? NULL : create_model(packed);
    if (model != NULL) {
        view = PyArray_Newshape(model, &lengths, NPY_CORDER); /* copies no elements, as the model is contiguous */
    }
    if (view == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
        smk_error_fail(state, SMK_SHAPE, "reshape: an array of %zd elements does not take the shape %R",
                       (Py_ssize_t)array->size, shape);
    }
    result = packed == NULL ? NULL : apply_model(state, packed, view);
    PyDimMem_FREE(lengths.ptr);
    Py_XDECREF(model);
    Py_XDECREF(packed);
    return result;
}

/* Copies ------------------------------------------------------------------------------------------ */

PyArrayObject *smk_array_view_host(const smk_state *state, smk_array *array, bool writeable)
{
    static char nothing; /* the address of arrays without elements, which may lie outside of their allocation */
    smk_error error = {0};
    void *host = &nothing;
    uint64_t bytes = 0, before = 0;
    smk_array_extent(array, &bytes, &before);
    if (bytes > 0 && array->backend->host(array->address - before, bytes, writeable, &host, &error) != SMK_OK) {
        smk_error_raise(state, &error);
        return NULL;
    }
    Py_INCREF(array->descr); /* PyArray_NewFromDescr steals a reference */
    PyArrayObject *view =
        (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, array->descr, array->rank, array->shape, array->strides,
                                              (char *)host + before, writeable ? NPY_ARRAY_WRITEABLE : 0, NULL);
    if (view != NULL && PyArray_SetBaseObject(view, Py_NewRef((PyObject *)array)) < 0) { /* steals the reference */
        Py_CLEAR(view);
    }
    return view;
}

/* Copies between arrays of the simulator, whose memory the host reaches. */
static int copy_on_host(const smk_state *state, smk_array *to, smk_array *from)
{
    PyArrayObject *target = smk_array_view_host(state, to, true);
    PyArrayObject *source = target == NULL ? NULL : smk_array_view_host(state, from, false);
    int status = source == NULL ? -1 : smk_ndarray_copy(target, source);
    Py_XDECREF(target);
    Py_XDECREF(source);
    return status;
}

static int copy_range(const smk_state *state, const smk_array *to, const smk_array *from)
{
    smk_error error = {0};
    int before = 0;
    smk_status status = SMK_OK;
    Py_BEGIN_ALLOW_THREADS
    status = smk_backend_enter(to->backend, to->device, &before, &error);
    if (status == SMK_OK) {
        status = to->backend->copy(to->address, from->address, to->bytes, &error);
        smk_backend_leave(to->backend, to->device, before);
    }
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

/* Does an array of bytes have 2, 4 or 8 of them for each element? Variables of a module are such arrays. */
static bool is_bytes_of(const smk_array *to, const smk_array *from)
{
    const npy_intp count = to->rank == 1 ? to->shape[0] : 0, elements = from->rank == 1 ? from->shape[0] : 0;
    return PyDataType_ELSIZE(to->descr) == 1 && elements > 0 &&
           (count == 2 * elements || count == 4 * elements || count == 8 * elements);
}

/* `from` with the shape of `to`: strides of 0 repeat its elements. A new reference, or NULL with a ShapeError. */
static smk_array *broadcast(const smk_state *state, const smk_array *to, smk_array *from)
{
    npy_intp strides[NPY_MAXDIMS];
    const int missing = to->rank - from->rank;
    const smk_array_layout layout = {to->descr, to->rank, to->shape, strides};
    bool fits = missing >= 0;
    for (int i = 0; fits && i < to->rank; i++) {
        const bool given = i >= missing, repeats = !given || from->shape[i - missing] == 1;
        strides[i] = repeats ? 0 : from->strides[i - missing];
        fits = repeats || from->shape[i - missing] == to->shape[i];
    }
    if (!fits) {
        PyObject *has = smk_ndarray_shape(from->rank, from->shape), *needs = smk_ndarray_shape(to->rank, to->shape);
        if (has != NULL && needs != NULL) {
            smk_error_fail(state, SMK_SHAPE, "elements of shape %R do not fill an array of shape %R%s", has, needs,
                           is_bytes_of(to, from) ? "; it has single bytes: ask for the elements, as in "
                                                   "get_global(name, \"float32\")"
                                                 : "");
        }
        Py_XDECREF(has);
        Py_XDECREF(needs);
        return NULL;
    }
    return smk_array_wrap(state, from->backend, from->device, (PyObject *)from, from->address, &layout);
}

int smk_array_view_assign(const smk_state *state, smk_array *to, smk_array *from)
{
    smk_array *source = broadcast(state, to, from);
    int status = source == NULL ? -1 : 0;
    if (source != NULL && to->size > 0) {
        status = smk_array_note(state, to) < 0 ? -1 : smk_array_note(state, source);
    }
    if (status == 0 && to->size > 0) {
        status = to->contiguous && source->contiguous ? copy_range(state, to, source)
                 : to->backend->host != NULL          ? copy_on_host(state, to, source)
                                                      : smk_strided_copy_run(state, to, source);
    }
    Py_XDECREF(source);
    return status;
}

smk_array *smk_array_view_copy(const smk_state *state, const char *subject, smk_array *array)
{
    smk_array *made =
        smk_array_create(state, subject, array->backend, array->device, array->descr, array->rank, array->shape);
    if (made != NULL && smk_array_view_assign(state, made, array) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

smk_array *smk_array_view_pack(const smk_state *state, const char *subject, smk_array *array)
{
    return array->contiguous ? (smk_array *)Py_NewRef((PyObject *)array) : smk_array_view_copy(state, subject, array);
}

smk_array *smk_array_view_align(const smk_state *state, const char *subject, smk_array *array)
{
    return smk_array_is_aligned(array) ? smk_array_view_pack(state, subject, array)
                                       : smk_array_view_copy(state, subject, array);
}
