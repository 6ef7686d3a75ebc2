#include "py/arrays/ndarray.h"

#include "py/arrays/bfloat16.h"
#include "py/arrays/list.h"
#include "py/error.h"

enum { PIECE_ELEMENTS = 1 << 20 };

bool smk_ndarray_fits(const PyArray_Descr *descr)
{
    switch (descr->type_num) {
    case NPY_BOOL:
    case NPY_BYTE:
    case NPY_UBYTE:
    case NPY_SHORT:
    case NPY_USHORT:
    case NPY_INT:
    case NPY_UINT:
    case NPY_LONG:
    case NPY_ULONG:
    case NPY_LONGLONG:
    case NPY_ULONGLONG:
    case NPY_HALF:
    case NPY_FLOAT:
    case NPY_DOUBLE:
    case NPY_CFLOAT:
    case NPY_CDOUBLE:
        return true;
    case NPY_VOID:
        return !PyDataType_REFCHK(descr) && PyDataType_ELSIZE(descr) > 0;
    default:
        return smk_bfloat16_is(descr);
    }
}

bool smk_ndarray_moves(const PyArray_Descr *descr)
{
    switch (descr->type_num) {
    case NPY_DATETIME:
    case NPY_TIMEDELTA:
    case NPY_STRING:
    case NPY_UNICODE:
        return true;
    default:
        return smk_ndarray_fits(descr) || (PyTypeNum_ISUSERDEF(descr->type_num) && !PyDataType_REFCHK(descr));
    }
}

PyArray_Descr *smk_ndarray_native(const smk_state *state, const char *subject, PyArray_Descr *descr)
{
    if (!smk_ndarray_fits(descr)) {
        smk_error_fail(state, SMK_TYPE,
                       "%s has the type %S, which does not exist on a device; accepted are bool, integers, float16, "
                       "bfloat16, float32, float64, complex64, complex128 and structures of these",
                       subject, (PyObject *)descr);
        return NULL;
    }
    return PyArray_DescrNewByteorder(descr, NPY_NATIVE);
}

bool smk_ndarray_is_plain(PyArrayObject *array, bool writeable)
{
    int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | (writeable ? NPY_ARRAY_WRITEABLE : 0);
    return PyArray_CHKFLAGS(array, flags) && PyArray_ISNOTSWAPPED(array);
}

int smk_ndarray_check_mask(const smk_state *state, const char *function, const char *name, PyObject *object)
{
    if (!PyArray_Check(object) || PyArray_CheckExact(object)) {
        return 0;
    }
    PyObject *module = PyImport_ImportModule("numpy.ma");
    PyObject *answer = module == NULL ? NULL : PyObject_CallMethod(module, "is_masked", "O", object);
    int masked = answer == NULL ? -1 : PyObject_IsTrue(answer); /* false where its mask hides nothing */
    if (masked > 0) {
        smk_error_fail(state, SMK_TYPE,
                       "%s%s%s is a masked array that hides elements, and kernels know no mask: fill it "
                       "(.filled(value)) or leave out what it hides (.compressed()) first",
                       function, function[0] == '\0' ? "" : ": ", name);
    }
    Py_XDECREF(answer);
    Py_XDECREF(module);
    return masked == 0 ? 0 : -1;
}

PyArrayObject *smk_ndarray_plain(const smk_state *state, const char *subject, PyArrayObject *array)
{
    PyArray_Descr *native = smk_ndarray_native(state, subject, PyArray_DESCR(array));
    if (native == NULL) {
        return NULL;
    }
    Py_DECREF(native);
    return smk_ndarray_pack(array);
}

/* A view of a part of an array: the elements at `index` along its first `fixed` axes, and `count` of them from `start`
 * on along the next axis. The view keeps no reference: the array must outlive it. */
static PyArrayObject *view_piece(PyArrayObject *array, int fixed, const npy_intp *index, npy_intp start, npy_intp count)
{
    const int rank = PyArray_NDIM(array) - fixed;
    const npy_intp *strides = PyArray_STRIDES(array);
    npy_intp shape[NPY_MAXDIMS];
    char *data = PyArray_BYTES(array) + start * strides[fixed];
    for (int axis = 0; axis < fixed; axis++) {
        data += index[axis] * strides[axis];
    }
    for (int axis = 0; axis < rank; axis++) {
        shape[axis] = axis == 0 ? count : PyArray_DIM(array, fixed + axis);
    }
    PyArray_Descr *descr = PyArray_DESCR(array);
    Py_INCREF(descr); /* PyArray_NewFromDescr steals a reference */
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, rank, shape, strides + fixed, data,
                                                 PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
}

static int copy_piece(PyArrayObject *target, PyArrayObject *source, int fixed, const npy_intp *index, npy_intp start,
                      npy_intp count)
{
    PyArrayObject *to = view_piece(target, fixed, index, start, count), *from = NULL;
    int status = -1;
    if (to != NULL && (from = view_piece(source, fixed, index, start, count)) != NULL) {
        status = PyArray_CopyInto(to, from);
    }
    Py_XDECREF(to);
    Py_XDECREF(from);
    return status < 0 || PyErr_CheckSignals() < 0 ? -1 : 0;
}

/* Transposes both arrays so that the target's axes stand in the order of its memory. A piece is then one range of
 * memory, and the pages of fresh memory are touched piece by piece, too. Returns 0, or -1 with an exception set. */
static int sort_axes(PyArrayObject *target, PyArrayObject *source, PyArrayObject *sorted[2])
{
    npy_intp order[NPY_MAXDIMS];
    PyArray_Dims axes = {order, PyArray_NDIM(target)};
    for (int i = 0; i < axes.len; i++) {
        const npy_intp stride = Py_ABS(PyArray_STRIDE(target, i));
        int position = i;
        for (; position > 0 && Py_ABS(PyArray_STRIDE(target, (int)order[position - 1])) < stride; position--) {
            order[position] = order[position - 1];
        }
        order[position] = i;
    }
    sorted[0] = (PyArrayObject *)PyArray_Transpose(target, &axes);
    sorted[1] = sorted[0] == NULL ? NULL : (PyArrayObject *)PyArray_Transpose(source, &axes);
    return sorted[1] == NULL ? -1 : 0;
}

static int copy_pieces(PyArrayObject *target, PyArrayObject *source)
{
    const int rank = PyArray_NDIM(target);
    const npy_intp *shape = PyArray_DIMS(target);
    npy_intp index[NPY_MAXDIMS] = {0}, inner = 1;
    int fixed = rank - 1; /* number of axes before the one that is cut into pieces */
    while (fixed > 0 && inner * shape[fixed] <= PIECE_ELEMENTS) {
        inner *= shape[fixed--];
    }
    const npy_intp step = inner >= PIECE_ELEMENTS ? 1 : PIECE_ELEMENTS / inner;
    for (int axis = 0; axis >= 0;) {
        for (npy_intp start = 0; start < shape[fixed]; start += step) {
            const npy_intp left = shape[fixed] - start;
            if (copy_piece(target, source, fixed, index, start, left < step ? left : step) < 0) {
                return -1;
            }
        }
        for (axis = fixed - 1; axis >= 0 && ++index[axis] == shape[axis]; axis--) {
            index[axis] = 0;
        }
    }
    return 0;
}

int smk_ndarray_copy(PyArrayObject *target, PyArrayObject *source)
{
    PyArrayObject *sorted[2] = {NULL};
    if (PyArray_SIZE(target) <= PIECE_ELEMENTS) {
        return PyArray_CopyInto(target, source);
    }
    int status = sort_axes(target, source, sorted) < 0 ? -1 : copy_pieces(sorted[0], sorted[1]);
    Py_XDECREF(sorted[0]);
    Py_XDECREF(sorted[1]);
    return status;
}

/* Converts as PyArray_FromArray does, but large arrays in pieces. Steals the reference to the type. */
static PyArrayObject *convert(PyArrayObject *array, PyArray_Descr *descr)
{
    const int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    const bool same = PyArray_EquivTypes(PyArray_DESCR(array), descr) && PyArray_CHKFLAGS(array, flags);
    if (same || PyArray_SIZE(array) <= PIECE_ELEMENTS || PyDataType_REFCHK(descr)) {
        return (PyArrayObject *)PyArray_FromArray(array, descr, flags | NPY_ARRAY_ENSUREARRAY | NPY_ARRAY_FORCECAST);
    }
    PyArrayObject *made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(array),
                                                                PyArray_DIMS(array), NULL, NULL, 0, NULL);
    if (made != NULL && smk_ndarray_copy(made, array) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

PyArrayObject *smk_ndarray_cast(PyArrayObject *array, PyArray_Descr *descr)
{
    Py_INCREF(descr);
    return convert(array, descr);
}

PyArrayObject *smk_ndarray_pack(PyArrayObject *array)
{
    PyArray_Descr *native = PyArray_DescrNewByteorder(PyArray_DESCR(array), NPY_NATIVE);
    return native == NULL ? NULL : convert(array, native);
}

PyArrayObject *smk_ndarray_convert(PyObject *object)
{
    PyArrayObject *numbers = NULL;
    if (smk_list_convert(object, NULL, &numbers) < 0 || numbers != NULL) {
        return numbers;
    }
    PyObject *array = PyArray_FromAny(object, NULL, 0, 0, NPY_ARRAY_ENSUREARRAY, NULL), *view = NULL;
    if (array != object) {
        return (PyArrayObject *)array;
    }
    view = PyArray_View((PyArrayObject *)array, NULL, &PyArray_Type);
    Py_DECREF(array);
    return (PyArrayObject *)view;
}

/* NumPy does not resize an array that has a weak reference. */
PyObject *smk_ndarray_hold(PyArrayObject *array)
{
    PyObject *list = PyList_New(0), *owner = (PyObject *)array;
    while (list != NULL && owner != NULL && PyArray_Check(owner)) {
        PyObject *reference = PyWeakref_NewRef(owner, NULL);
        if (reference == NULL || PyList_Append(list, reference) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(reference);
        owner = PyArray_BASE((PyArrayObject *)owner);
    }
    return list;
}

PyObject *smk_ndarray_shape(int rank, const npy_intp *shape)
{
    PyObject *result = PyTuple_New(rank);
    for (int i = 0; result != NULL && i < rank; i++) {
        PyObject *length = PyLong_FromSsize_t(shape[i]);
        if (length == NULL) {
            Py_CLEAR(result);
        } else {
            PyTuple_SET_ITEM(result, i, length);
        }
    }
    return result;
}

/* NumPy's name of a type that most calls have; NULL for any other. NumPy itself makes names by Python code. */
static const char *find_usual_name(const PyArray_Descr *descr)
{
    switch (descr->type_num) {
    case NPY_INT32:
        return "int32";
    case NPY_INT64:
        return "int64";
    case NPY_UINT8:
        return "uint8";
    case NPY_FLOAT32:
        return "float32";
    case NPY_FLOAT64:
        return "float64";
    default:
        return smk_bfloat16_is(descr) ? "bfloat16" : NULL;
    }
}

PyObject *smk_ndarray_type_name(PyArray_Descr *descr)
{
    const char *usual = find_usual_name(descr);
    if (usual != NULL) {
        return PyUnicode_FromString(usual);
    }
    if (descr->type_num == NPY_UNICODE ||
        descr->type_num == NPY_STRING) { /* NumPy's name is str32, which counts bits */
        const char *kind = descr->type_num == NPY_UNICODE ? "text" : "bytes";
        PyObject *code = PyObject_GetAttrString((PyObject *)descr, "str"), *name = NULL;
        name = code == NULL ? NULL : PyUnicode_FromFormat("%s (%S)", kind, code);
        Py_XDECREF(code);
        return name;
    }
    return PyObject_GetAttrString((PyObject *)descr, "name");
}
