#include "host.h"

#include "error.h"

bool smk_host_fits(const PyArray_Descr *descr)
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
        return false;
    }
}

bool smk_host_moves(const PyArray_Descr *descr)
{
    switch (descr->type_num) {
    case NPY_DATETIME:
    case NPY_TIMEDELTA:
    case NPY_STRING:
    case NPY_UNICODE:
        return true;
    default:
        return smk_host_fits(descr) || (PyTypeNum_ISUSERDEF(descr->type_num) && !PyDataType_REFCHK(descr));
    }
}

PyArray_Descr *smk_host_native(const smk_state *state, const char *what, PyArray_Descr *descr)
{
    if (!smk_host_fits(descr)) {
        smk_error_fail(state, SMK_TYPE,
                       "%s has the type %S, which does not exist on a device; accepted are bool, integers, float16, "
                       "float32, float64, complex64, complex128 and structures of these",
                       what, (PyObject *)descr);
        return NULL;
    }
    return PyArray_DescrNewByteorder(descr, NPY_NATIVE);
}

bool smk_host_is_plain(PyArrayObject *array, bool writeable)
{
    int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | (writeable ? NPY_ARRAY_WRITEABLE : 0);
    return PyArray_CHKFLAGS(array, flags) && PyArray_ISNOTSWAPPED(array);
}

int smk_host_check_mask(const smk_state *state, const char *function, const char *name, PyObject *object)
{
    if (!PyArray_Check(object) || PyArray_CheckExact(object)) {
        return 0;
    }
    PyObject *module = PyImport_ImportModule("numpy.ma");
    PyObject *type = module == NULL ? NULL : PyObject_GetAttrString(module, "MaskedArray");
    int masked = type == NULL ? -1 : PyObject_IsInstance(object, type);
    if (masked > 0) {
        smk_error_fail(state, SMK_TYPE,
                       "%s%s%s is a masked array, and kernels know no mask: fill it (.filled(value)) or leave out what "
                       "it hides (.compressed()) first",
                       function, function[0] == '\0' ? "" : ": ", name);
    }
    Py_XDECREF(type);
    Py_XDECREF(module);
    return masked == 0 ? 0 : -1;
}

PyArrayObject *smk_host_plain(const smk_state *state, const char *what, PyArrayObject *array)
{
    PyArray_Descr *native = smk_host_native(state, what, PyArray_DESCR(array));
    if (native == NULL) {
        return NULL;
    }
    Py_DECREF(native);
    return smk_host_pack(array);
}

PyArrayObject *smk_host_pack(PyArrayObject *array)
{
    PyArray_Descr *native = PyArray_DescrNewByteorder(PyArray_DESCR(array), NPY_NATIVE);
    int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_ENSUREARRAY;
    return native == NULL ? NULL : (PyArrayObject *)PyArray_FromArray(array, native, flags); /* takes native */
}

PyArrayObject *smk_host_convert(PyObject *object)
{
    PyObject *array = PyArray_FromAny(object, NULL, 0, 0, NPY_ARRAY_ENSUREARRAY, NULL), *view = NULL;
    if (array != object) {
        return (PyArrayObject *)array;
    }
    view = PyArray_View((PyArrayObject *)array, NULL, &PyArray_Type);
    Py_DECREF(array);
    return (PyArrayObject *)view;
}

/* NumPy moves no array that has a weak reference. */
PyObject *smk_host_hold(PyArrayObject *array)
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

PyObject *smk_host_shape(int rank, const npy_intp *shape)
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

PyObject *smk_host_type_name(PyArray_Descr *descr)
{
    if (descr->type_num == NPY_UNICODE || descr->type_num == NPY_STRING) { /* NumPy says str32: bits, not characters */
        const char *what = descr->type_num == NPY_UNICODE ? "text" : "bytes";
        PyObject *code = PyObject_GetAttrString((PyObject *)descr, "str"), *name = NULL;
        name = code == NULL ? NULL : PyUnicode_FromFormat("%s (%S)", what, code);
        Py_XDECREF(code);
        return name;
    }
    return PyObject_GetAttrString((PyObject *)descr, "name");
}
