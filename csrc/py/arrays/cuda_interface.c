#include "py/arrays/cuda_interface.h"

#include "py/arrays/ndarray.h"
#include "py/backends/selection.h"
#include "py/error.h"

enum { VERSION = 3, STREAM_LEGACY = 1 };

/* Export ------------------------------------------------------------------------------------------ */

/* NumPy's spelling of the type, and of the fields of a structure. */
static int add_type(PyObject *interface, const smk_array *array)
{
    PyObject *code = PyObject_GetAttrString((PyObject *)array->descr, "str");
    PyObject *fields = PyObject_GetAttrString((PyObject *)array->descr, "descr");
    const int status = code == NULL || fields == NULL || PyDict_SetItemString(interface, "typestr", code) < 0 ||
                               PyDict_SetItemString(interface, "descr", fields) < 0
                           ? -1
                           : 0;
    Py_XDECREF(code);
    Py_XDECREF(fields);
    return status;
}

PyObject *smk_cuda_interface_get(PyObject *self, void *closure)
{
    const smk_array *array = (smk_array *)(void *)self;
    (void)closure;
    if (array->backend->id != SMK_BACKEND_CUDA) {
        PyErr_SetString(PyExc_AttributeError, "an array of the simulator has no __cuda_array_interface__: it lies in "
                                              "the host's memory, and numpy.asarray(d) sees it");
        return NULL;
    }
    uint64_t stream = SMK_STREAM_DEFAULT;
    if (smk_array_join(smk_state_of_instance(self), array, &stream) < 0) {
        return NULL;
    }
    PyObject *shape = smk_ndarray_shape(array->rank, array->shape);
    PyObject *strides = array->contiguous ? Py_NewRef(Py_None) : smk_ndarray_shape(array->rank, array->strides);
    PyObject *interface = NULL;
    if (shape != NULL && strides != NULL) {
        interface =
            Py_BuildValue("{s:O,s:(KO),s:O,s:i,s:K}", "shape", shape, "data",
                          (unsigned long long)(array->size > 0 ? array->address : 0),
                          array->readonly ? Py_True : Py_False, "strides", strides, "version", VERSION, "stream",
                          (unsigned long long)(stream == SMK_STREAM_DEFAULT ? STREAM_LEGACY : stream));
    }
    if (interface != NULL && add_type(interface, array) < 0) {
        Py_CLEAR(interface);
    }
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return interface;
}

/* Import ------------------------------------------------------------------------------------------ */

typedef struct interface_view {
    PyArray_Descr *descr;        /* owned */
    PyArray_Dims shape, strides; /* owned; strides.ptr NULL: contiguous */
    unsigned long long address;
    int readonly;
    unsigned long long stream;
} interface_view;

static void free_view(interface_view *view)
{
    Py_XDECREF(view->descr);
    PyDimMem_FREE(view->shape.ptr);
    PyDimMem_FREE(view->strides.ptr);
}

static PyArray_Descr *read_type(const smk_state *state, const char *subject, PyObject *interface)
{
    PyObject *code = PyDict_GetItemString(interface, "typestr"), *fields = PyDict_GetItemString(interface, "descr");
    PyArray_Descr *descr = NULL, *native = NULL;
    const bool structured = fields != NULL && PyList_Check(fields) && PyList_GET_SIZE(fields) > 1;
    if (code == NULL || PyArray_DescrConverter(structured ? fields : code, &descr) == NPY_FAIL) {
        return NULL;
    }
    if (!PyArray_ISNBO(descr->byteorder)) {
        smk_error_fail(state, SMK_TYPE, "%s: the elements have the type %S, which is not in the byte order of GPUs",
                       subject, (PyObject *)descr);
    } else {
        native = smk_ndarray_native(state, subject, descr);
    }
    Py_DECREF(descr);
    return native;
}

/* Returns 0, or -1, perhaps with an exception set. */
static int read_view(const smk_state *state, const char *subject, PyObject *interface, interface_view *view)
{
    PyObject *shape = PyDict_GetItemString(interface, "shape"), *data = PyDict_GetItemString(interface, "data");
    PyObject *strides = PyDict_GetItemString(interface, "strides"), *stream = NULL;
    if (shape == NULL || data == NULL || !PyTuple_Check(data) ||
        !PyArg_ParseTuple(data, "Kp", &view->address, &view->readonly) ||
        PyArray_IntpConverter(shape, &view->shape) == NPY_FAIL || view->shape.len > NPY_MAXDIMS) {
        return -1;
    }
    if (strides != NULL && strides != Py_None &&
        (PyArray_IntpConverter(strides, &view->strides) == NPY_FAIL || view->strides.len != view->shape.len)) {
        return -1;
    }
    stream = PyDict_GetItemString(interface, "stream");
    view->stream = stream == NULL || stream == Py_None ? STREAM_LEGACY : PyLong_AsUnsignedLongLong(stream);
    if (PyErr_Occurred() || view->stream == 0) {
        return -1;
    }
    view->descr = read_type(state, subject, interface);
    return view->descr == NULL ? -1 : 0;
}

smk_array *smk_cuda_interface_import(const smk_state *state, const char *subject, PyObject *object, PyObject *interface)
{
    interface_view view = {0};
    smk_array *array = NULL;
    const smk_backend *backend = smk_selection_backend(SMK_BACKEND_CUDA);
    smk_error error = {0};
    int device = 0; /* the interface does not say */
    if (!PyDict_Check(interface) || read_view(state, subject, interface, &view) < 0) {
        const bool said = PyErr_Occurred() != NULL && PyErr_ExceptionMatches(state->root);
        if (!said && smk_error_clear_conversion()) {
            smk_error_fail(state, SMK_TYPE, "%s: __cuda_array_interface__ is %.300R, which does not describe an array",
                           subject, interface);
        }
        free_view(&view);
        return NULL;
    }
    if (backend->find(view.address, &device, &error) != SMK_OK) {
        smk_error_raise(state, &error);
    } else {
        const smk_array_layout layout = {view.descr, view.shape.len, view.shape.ptr, view.strides.ptr};
        array = smk_array_wrap(state, backend, device, object, view.address, &layout);
    }
    if (array != NULL) {
        array->readonly = view.readonly != 0;
        if (smk_array_await(state, array, view.stream == STREAM_LEGACY ? SMK_STREAM_DEFAULT : view.stream) < 0) {
            Py_CLEAR(array);
        }
    }
    free_view(&view);
    return array;
}
