#include "py/arrays/transfer.h"
#include "py/arrays/bfloat16.h"

#include "py/arrays/array_view.h"
#include "py/arrays/async_copy.h"
#include "py/arrays/foreign.h"
#include "py/arrays/host_layout.h"
#include "py/arrays/list.h"
#include "py/arrays/ndarray.h"
#include "py/arrays/shape.h"
#include "py/backends/device.h"
#include "py/backends/interrupt.h"
#include "py/backends/selection.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/state.h"
#include "py/streams/stream_scope.h"

PyArray_Descr *smk_transfer_type(const smk_state *state, const char *subject, PyObject *dtype)
{
    PyArray_Descr *wanted = NULL, *native = NULL;
    if (smk_bfloat16_convert(dtype, &wanted) == NPY_FAIL) {
        return NULL;
    }
    native = smk_ndarray_native(state, subject, wanted);
    Py_DECREF(wanted);
    return native;
}

/* NULL for an array that is copied as it is. */
static const smk_pack_layout *find_layout(PyArrayObject *host, smk_host_layout *whole)
{
    return !smk_ndarray_is_plain(host, false) && smk_host_layout_describe(host, -1, 0, 0, whole) ? &whole->layout
                                                                                                 : NULL;
}

/* `host` is plain, or one that the machine's bus takes as it is. */
static smk_array *upload_array(const smk_state *state, const char *subject, const smk_backend *backend, int device,
                               PyArrayObject *host)
{
    smk_error error = {0};
    smk_interrupt interrupt;
    smk_status status = SMK_OK;
    smk_host_layout whole;
    const smk_pack_layout *layout = find_layout(host, &whole);
    smk_array *array =
        smk_array_create(state, subject, backend, device, PyArray_DESCR(host), PyArray_NDIM(host), PyArray_DIMS(host));
    const int begun = array == NULL ? -1 : smk_async_copy_begin(state, array, host, true);
    if (begun != 0) {
        if (begun < 0) {
            Py_CLEAR(array);
        }
        return array;
    }
    smk_interrupt_begin(&interrupt);
    status = smk_array_upload(array, PyArray_DATA(host), layout, &error);
    status = smk_interrupt_end(&interrupt, status);
    if (status != SMK_OK) {
        Py_DECREF(array);
        smk_error_raise(state, &error);
        return NULL;
    }
    return array;
}

/* `host` is plain, or one that the machine's bus takes as it is, and of the array's type and shape. Unless it waits, the
 * copy may end later. Returns 0, or -1 with an exception set. */
static int download_array(const smk_state *state, smk_array *array, PyArrayObject *host, bool waits)
{
    smk_error error = {0};
    smk_host_layout whole;
    const smk_pack_layout *layout = find_layout(host, &whole);
    smk_interrupt interrupt;
    smk_status status = SMK_OK;
    smk_array *packed = NULL;
    /* values for the host come behind all work with the array, whatever its stream */
    if (smk_array_order(state, array, smk_stream_scope_present(array->backend, array->device)) < 0 ||
        smk_array_note(state, array) < 0) {
        return -1;
    }
    packed = smk_array_view_pack(state, "asnumpy", array);
    int begun = packed == NULL ? -1 : waits ? 0 : smk_async_copy_begin(state, packed, host, false);
    if (begun == 0 && smk_stream_scope_captured(array->backend, array->device)) {
        smk_error_fail(
            state, SMK_ARGUMENT,
            "asnumpy: a CUDA graph captures the stream, and no value is there before the graph runs; copy "
            "behind the capture, or to pinned memory: asnumpy(d, out=smemkit.pinned_empty(d.shape, d.dtype))");
        begun = -1;
    }
    if (begun != 0) {
        Py_XDECREF(packed);
        return begun < 0 ? -1 : 0;
    }
    smk_interrupt_begin(&interrupt);
    status = smk_array_download(packed, PyArray_DATA(host), layout, &error);
    status = smk_interrupt_end(&interrupt, status);
    Py_DECREF(packed);
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

static PyArrayObject *create_host(const smk_array *array)
{
    Py_INCREF(array->descr); /* PyArray_NewFromDescr steals a reference */
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, array->descr, array->rank, array->shape, NULL, NULL, 0,
                                                 NULL);
}

smk_array *smk_transfer_upload(const smk_state *state, const char *subject, PyObject *object, PyArray_Descr *wanted,
                               const smk_backend *backend, int device)
{
    PyObject *held = NULL;
    PyArrayObject *host = NULL, *plain = NULL;
    smk_array *result = NULL;
    smk_host_layout whole;
    if (smk_ndarray_check_mask(state, "", subject, object) < 0) {
        return NULL;
    }
    if (PyArray_Check(object)) {
        host = smk_ndarray_convert(object);
    } else if (smk_list_convert(object, wanted, &host) == 0 && host == NULL) {
        /* NumPy makes it of the wanted type */
        Py_XINCREF(wanted); /* PyArray_FromAny steals a reference */
        host = (PyArrayObject *)PyArray_FromAny(
            object, wanted, 0, 0, NPY_ARRAY_ENSUREARRAY | (wanted != NULL ? NPY_ARRAY_FORCECAST : 0), NULL);
    }
    if (host == NULL) {
        return NULL;
    }
    held = smk_ndarray_hold(host);
    const bool is_same =
        wanted != NULL ? PyArray_EquivTypes(wanted, PyArray_DESCR(host)) : smk_ndarray_fits(PyArray_DESCR(host));
    if (held != NULL && is_same && smk_host_layout_is_direct(host, backend, &whole)) {
        plain = (PyArrayObject *)Py_NewRef((PyObject *)host);
    } else if (held != NULL) {
        plain = wanted != NULL ? smk_ndarray_cast(host, wanted) : smk_ndarray_plain(state, subject, host);
    }
    if (plain != NULL) {
        result = upload_array(state, subject, backend, device, plain);
    }
    Py_XDECREF(held);
    Py_DECREF(host);
    Py_XDECREF(plain);
    return result;
}

PyArrayObject *smk_transfer_download(const smk_state *state, smk_array *array)
{
    PyArrayObject *host = create_host(array);
    if (host != NULL && download_array(state, array, host, true) < 0) {
        Py_CLEAR(host);
    }
    return host;
}

PyObject *smk_transfer_fetch(const smk_state *state, smk_array *array, PyObject *out)
{
    smk_host_layout whole;
    if (out != NULL && (smk_ndarray_is_plain((PyArrayObject *)out, true) ||
                        smk_host_layout_is_direct((PyArrayObject *)out, array->backend, &whole))) {
        return download_array(state, array, (PyArrayObject *)out, false) < 0 ? NULL : Py_NewRef(out);
    }
    PyArrayObject *host = smk_transfer_download(state, array);
    if (host == NULL || out == NULL) {
        return (PyObject *)host;
    }
    const int status = smk_ndarray_copy((PyArrayObject *)out, host);
    Py_DECREF(host);
    return status < 0 ? NULL : Py_NewRef(out);
}

/* Copies the elements of a contiguous array to one of the same shape and type on another device of the machine, behind
 * the work of both; the work that the source's device gets later waits for the copy. Needs no GIL. */
static smk_status copy_across(const smk_array *to, const smk_array *from, smk_error *error)
{
    const smk_backend *backend = to->backend;
    const smk_backend_rows target = {to->device, to->address, to->bytes};
    const smk_backend_rows source = {from->device, from->address, from->bytes};
    smk_status status = smk_backend_follow(backend, to->device, from->device, error);
    if (status == SMK_OK) {
        const uint64_t stream =
            backend->present_stream != NULL ? backend->present_stream(to->device) : SMK_STREAM_DEFAULT;
        status = backend->copy_rows(&target, &source, to->bytes, 1, stream, error);
    }
    return status == SMK_OK ? smk_backend_follow(backend, from->device, to->device, error) : status;
}

/* A contiguous copy on another device of the same machine. */
static smk_array *move_across(const smk_state *state, const char *subject, smk_array *array, int device)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    smk_array *packed = smk_array_view_pack(state, subject, array), *result = NULL;
    if (packed != NULL) {
        result = smk_array_create(state, subject, array->backend, device, array->descr, array->rank, array->shape);
    }
    if (result != NULL && smk_array_note(state, packed) < 0) {
        Py_CLEAR(result);
    }
    if (result != NULL) {
        Py_BEGIN_ALLOW_THREADS
        status = copy_across(result, packed, &error);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(packed);
    if (status != SMK_OK) {
        Py_CLEAR(result);
        smk_error_raise(state, &error);
    }
    return result;
}

smk_array *smk_transfer_move(const smk_state *state, const char *subject, smk_array *array, PyArray_Descr *wanted,
                             const smk_backend *backend, int device)
{
    const bool has_type = wanted == NULL || PyArray_EquivTypes(wanted, array->descr);
    smk_array *result = NULL;
    if (backend == array->backend && has_type) {
        return device == SMK_DEVICE_PRESENT || device == array->device ? (smk_array *)Py_NewRef((PyObject *)array)
                                                                       : move_across(state, subject, array, device);
    }
    PyArrayObject *host = smk_transfer_download(state, array);
    if (host != NULL) {
        const int target = device != SMK_DEVICE_PRESENT || backend != array->backend ? device : array->device;
        result = smk_transfer_upload(state, subject, (PyObject *)host, wanted, backend, target);
    }
    Py_XDECREF(host);
    return result;
}

/* Where device= and backend= (NULL: not given) want a device array: where it lives, unless they name another place.
 * Returns 0, or -1 with an exception set. */
static int find_target(const smk_state *state, const char *subject, const smk_array *array, PyObject *device,
                       PyObject *machine, const smk_backend **backend, int *number)
{
    const smk_backend *named = NULL;
    if (smk_device_read(state, subject, device, &named, number) < 0) {
        return -1;
    }
    if (machine == NULL && (named == NULL || named == array->backend)) {
        *backend = array->backend;
        return smk_device_check(state, subject, array->backend, *number);
    }
    return smk_device_choose(state, subject, device, machine, backend, number);
}

/* Checks stream= for a copy of a device array to a place, where SMK_DEVICE_PRESENT stands for its own device. */
static int check_stream(const smk_state *state, const char *subject, const smk_stream_scope *scope,
                        const smk_array *array, const smk_backend *backend, int number)
{
    int device = number == SMK_DEVICE_PRESENT && backend == array->backend ? array->device : number;
    return smk_stream_scope_check(state, subject, scope, backend, &device);
}

smk_array *smk_transfer_place(const smk_state *state, const char *subject, smk_array *array, PyObject *device,
                              const smk_stream_scope *scope)
{
    const smk_backend *backend = NULL;
    int number = SMK_DEVICE_PRESENT;
    if (find_target(state, subject, array, device, NULL, &backend, &number) < 0 ||
        check_stream(state, subject, scope, array, backend, number) < 0) {
        return NULL;
    }
    return smk_transfer_move(state, subject, array, NULL, backend, number);
}

smk_array *smk_transfer_convert(const smk_state *state, smk_array *array, PyArray_Descr *wanted)
{
    return smk_transfer_move(state, "astype", array, wanted, array->backend, array->device);
}

/* The machine and the device of a new array, as device=, backend= and stream= say. Returns 0, or -1 with an exception
 * set. */
static int choose_place(const smk_state *state, const char *subject, PyObject *device, PyObject *machine,
                        const smk_stream_scope *scope, const smk_backend **backend, int *number)
{
    PyObject *name = NULL;
    int status = smk_stream_scope_machine(scope, machine, device, &name);
    if (status == 0) {
        status = smk_device_choose(state, subject, device, name, backend, number);
    }
    Py_XDECREF(name);
    return status < 0 ? -1 : smk_stream_scope_check(state, subject, scope, *backend, number);
}

static const char asarray_doc[] =
    "asarray(x, dtype=None, backend=None, *, device=None, stream=None)\n--\n\n"
    "Copy to the memory of a device; an array that is there already is not copied.\n\n"
    "Parameters\n----------\n"
    "x : array-like, DeviceArray, or array of another library on a GPU\n"
    "    Bool, integers, float16, bfloat16, float32, float64, complex64, complex128 or structures of these.\n"
    "dtype : dtype-like, optional\n"
    "    Converted to it; by default the type of x.\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine; by default that of smemkit.get_backend(), and for a DeviceArray the one it lives on.\n"
    "device : int, str or Device, optional\n"
    "    Of the machine; by default its present one, and for a DeviceArray the one it lives on.\n"
    "stream : stream, optional\n"
    "    Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has\n"
    "    __cuda_stream__; by default that of `with stream:`, else the default stream.\n\n"
    "Shapes\n------\n"
    "Any; the copy is C-contiguous and in native byte order.\n\n"
    "Returns\n-------\n"
    "DeviceArray\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError), ArgumentError (ValueError) where there is no such device, BackendError,\n"
    "OutOfMemoryError (MemoryError).\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> smemkit.asarray([[1, 2, 3]], dtype=\"float32\", backend=\"sim\")\n"
    "DeviceArray([[1., 2., 3.]], shape=(1, 3), dtype=float32, device='sim')\n";

static PyObject *call_asarray(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"x", "dtype", "backend", "device", "stream"};
    static const smk_keywords accepted = {"asarray", names, 5, 3, 1};
    const smk_state *state = smk_state_of_module(module);
    const smk_backend *backend = NULL;
    PyArray_Descr *wanted = NULL;
    PyObject *result = NULL, *values[5], *object = NULL;
    smk_stream_scope scope = {.named = false};
    int number = SMK_DEVICE_PRESENT;
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    PyObject *dtype = smk_keywords_optional(values[1]), *choice = smk_keywords_optional(values[2]);
    PyObject *device = smk_keywords_optional(values[3]);
    if (dtype != NULL && (wanted = smk_transfer_type(state, "asarray: dtype", dtype)) == NULL) {
        return NULL;
    }
    if (smk_stream_scope_begin(state, "asarray", values[4], &scope) == 0) {
        object = smk_foreign_keep(state, "asarray: x", values[0]);
    }
    smk_array *array = smk_array_cast(state, object);
    if (array != NULL) {
        if (find_target(state, "asarray", array, device, choice, &backend, &number) == 0 &&
            check_stream(state, "asarray", &scope, array, backend, number) == 0) {
            result = (PyObject *)smk_transfer_move(state, "asarray: x", array, wanted, backend, number);
        }
    } else if (object != NULL && choose_place(state, "asarray", device, choice, &scope, &backend, &number) == 0) {
        result = (PyObject *)smk_transfer_upload(state, "asarray: x", object, wanted, backend, number);
    }
    smk_stream_scope_end(&scope);
    Py_XDECREF(object);
    Py_XDECREF(wanted);
    return result;
}

enum { SUBJECT_BYTES = 64 };

/* values: shape, dtype, backend, device, stream; NULL or None: not given. Messages begin with the function's name. */
static PyObject *make_empty(const smk_state *state, const char *function, PyObject *const *values)
{
    const smk_backend *backend = NULL;
    PyArray_Dims shape = {0};
    PyArray_Descr *descr = NULL;
    PyObject *result = NULL, *dtype = smk_keywords_optional(values[1]);
    smk_stream_scope scope = {.named = false};
    int number = SMK_DEVICE_PRESENT;
    char subject[SUBJECT_BYTES];
    PyOS_snprintf(subject, sizeof subject, "%.32s: dtype", function);
    if (smk_shape_read(state, function, values[0], &shape) < 0) {
        return NULL;
    }
    descr = dtype != NULL ? smk_transfer_type(state, subject, dtype) : PyArray_DescrFromType(NPY_FLOAT);
    if (descr == NULL || smk_stream_scope_begin(state, function, values[4], &scope) < 0 ||
        choose_place(state, function, smk_keywords_optional(values[3]), smk_keywords_optional(values[2]), &scope,
                     &backend, &number) < 0) {
        goto done;
    }
    result = (PyObject *)smk_array_create(state, function, backend, number, descr, shape.len, shape.ptr);
done:
    smk_stream_scope_end(&scope);
    PyDimMem_FREE(shape.ptr);
    Py_XDECREF(descr);
    return result;
}

static const char empty_doc[] =
    "empty(shape, dtype=\"float32\", backend=None, *, device=None, stream=None)\n--\n\n"
    "A new device array whose elements are unspecified.\n\n"
    "Parameters\n----------\n"
    "shape : int or tuple of int\n"
    "dtype : dtype-like\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine; by default that of smemkit.get_backend().\n"
    "device : int, str or Device, optional\n"
    "    Of the machine; by default its present one.\n"
    "stream : stream, optional\n"
    "    Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has\n"
    "    __cuda_stream__; by default that of `with stream:`, else the default stream.\n\n"
    "Shapes\n------\n"
    "Any, also without axes and without elements.\n\n"
    "Returns\n-------\n"
    "DeviceArray\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError), ShapeError, ArgumentError (both ValueError), BackendError,\n"
    "OutOfMemoryError (MemoryError).\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> smemkit.empty((2, 3), backend=\"sim\").nbytes\n"
    "24\n";

static PyObject *call_empty(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"shape", "dtype", "backend", "device", "stream"};
    static const smk_keywords accepted = {"empty", names, 5, 3, 1};
    PyObject *values[5];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    return make_empty(smk_state_of_module(module), "empty", values);
}

/* _empty(function, shape, dtype, backend, device, stream): for functions in Python, whose name messages begin with. */
static const char named_empty_doc[] = "_empty(function, shape, dtype, backend, device, stream, /)\n--\n\n";

static PyObject *call_named_empty(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    const char *function = given == 6 && PyUnicode_Check(arguments[0]) ? PyUnicode_AsUTF8(arguments[0]) : NULL;
    if (function == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "_empty takes the name of a function, and the 5 arguments of empty");
        }
        return NULL;
    }
    return make_empty(smk_state_of_module(module), function, arguments + 1);
}

/* _by_default_stream(d) -> does the thread work on the default stream of d's device? */
static const char by_default_stream_doc[] = "_by_default_stream(d, /)\n--\n\n";

static PyObject *call_by_default_stream(PyObject *module, PyObject *object)
{
    const smk_array *array = smk_array_cast(smk_state_of_module(module), object);
    if (array == NULL) {
        PyErr_SetString(PyExc_TypeError, "_by_default_stream takes a DeviceArray");
        return NULL;
    }
    return PyBool_FromLong(smk_stream_scope_present(array->backend, array->device) == 0);
}

/* _beside(d, x): a copy of a NumPy array on the device of d; _beside(d, n, dtype): n unspecified elements there. */
static const char beside_doc[] = "_beside(d, x, dtype=None, /)\n--\n\n";

static PyObject *call_beside(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    const smk_state *state = smk_state_of_module(module);
    const smk_array *array = given < 2 || given > 3 ? NULL : smk_array_cast(state, arguments[0]);
    if (array == NULL) {
        PyErr_SetString(PyExc_TypeError, "_beside takes a DeviceArray, and an array or a length and a dtype");
        return NULL;
    }
    if (given == 2) {
        return (PyObject *)smk_transfer_upload(state, "_beside", arguments[1], NULL, array->backend, array->device);
    }
    npy_intp length = PyLong_AsSsize_t(arguments[1]);
    PyArray_Descr *descr = PyErr_Occurred() ? NULL : smk_transfer_type(state, "_beside: dtype", arguments[2]);
    PyObject *result = NULL;
    if (descr != NULL) {
        result = (PyObject *)smk_array_create(state, "_beside", array->backend, array->device, descr, 1, &length);
        Py_DECREF(descr);
    }
    return result;
}

/* Checks that `out` can take the array's elements. Returns 0, or -1 with an exception set. */
static int check_out(const smk_state *state, const smk_array *array, PyObject *out)
{
    if (!PyArray_Check(out)) {
        smk_error_fail(state, SMK_TYPE, "asnumpy: out must be a numpy.ndarray, not %.100s", Py_TYPE(out)->tp_name);
        return -1;
    }
    PyArrayObject *host = (PyArrayObject *)out;
    if (!PyArray_EquivTypes(PyArray_DESCR(host), array->descr)) {
        smk_error_fail(state, SMK_TYPE, "asnumpy: out has the type %S, the device array has %S",
                       (PyObject *)PyArray_DESCR(host), (PyObject *)array->descr);
        return -1;
    }
    if (PyArray_NDIM(host) != array->rank || !PyArray_CompareLists(PyArray_DIMS(host), array->shape, array->rank)) {
        PyObject *has = smk_ndarray_shape(PyArray_NDIM(host), PyArray_DIMS(host));
        PyObject *needs = smk_ndarray_shape(array->rank, array->shape);
        if (has != NULL && needs != NULL) {
            smk_error_fail(state, SMK_SHAPE, "asnumpy: out has the shape %R, the device array has %R", has, needs);
        }
        Py_XDECREF(has);
        Py_XDECREF(needs);
        return -1;
    }
    if (!PyArray_ISWRITEABLE(host)) {
        smk_error_fail(state, SMK_ARGUMENT, "asnumpy: out is read-only");
        return -1;
    }
    return 0;
}

static const char asnumpy_doc[] =
    "asnumpy(d, out=None, *, stream=None)\n--\n\n"
    "Copy a device array to the host.\n\n"
    "Parameters\n----------\n"
    "d : DeviceArray\n"
    "out : numpy.ndarray, optional\n"
    "    Takes the elements; of the same type and shape, writeable, any strides. Where\n"
    "    Ctrl-C ends the copy, it has a part of them.\n"
    "stream : stream, optional\n"
    "    Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has\n"
    "    __cuda_stream__; by default that of `with stream:`, else the default stream.\n"
    "    The copy waits for all work with d so far, on whatever stream. Where a stream is named and out is pinned\n"
    "    (smemkit.pinned_empty), the call returns before the copy has ended: stream.synchronize() waits for it.\n\n"
    "Shapes\n------\n"
    "The result has the shape of d.\n\n"
    "Returns\n-------\n"
    "numpy.ndarray: out itself where given, else a new C-contiguous one.\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError), ShapeError and ArgumentError (both ValueError), CudaError where a\n"
    "kernel that wrote d has failed.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> smemkit.asnumpy(smemkit.asarray([1, 2, 3], backend=\"sim\")).tolist()\n"
    "[1, 2, 3]\n";

static PyObject *call_asnumpy(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"d", "out", "stream"};
    static const smk_keywords accepted = {"asnumpy", names, 3, 2, 1};
    const smk_state *state = smk_state_of_module(module);
    PyObject *result = NULL, *held = NULL, *values[3], *object = NULL;
    smk_stream_scope scope = {.named = false};
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0 ||
        smk_stream_scope_begin(state, "asnumpy", values[2], &scope) < 0) {
        return NULL;
    }
    object = smk_foreign_take(state, "asnumpy: d", values[0]);
    if (object == NULL) {
        goto done;
    }
    smk_array *array = smk_array_cast(state, object);
    PyObject *out = smk_keywords_optional(values[1]);
    if (array == NULL) {
        smk_error_fail(state, SMK_TYPE, "asnumpy: d must be a smemkit.DeviceArray, not %.100s",
                       Py_TYPE(values[0])->tp_name);
        goto done;
    }
    if (check_stream(state, "asnumpy", &scope, array, array->backend, array->device) < 0) {
        goto done;
    }
    if (out != NULL && (check_out(state, array, out) < 0 || (held = smk_ndarray_hold((PyArrayObject *)out)) == NULL)) {
        goto done;
    }
    result = smk_transfer_fetch(state, array, out);
done:
    smk_stream_scope_end(&scope);
    Py_XDECREF(object);
    Py_XDECREF(held);
    return result;
}

PyMethodDef smk_transfer_methods[] = {
    {"asarray", SMK_PY_FUNCTION(call_asarray), SMK_PY_FAST, asarray_doc},
    {"empty", SMK_PY_FUNCTION(call_empty), SMK_PY_FAST, empty_doc},
    {"asnumpy", SMK_PY_FUNCTION(call_asnumpy), SMK_PY_FAST, asnumpy_doc},
    {"_empty", SMK_PY_FUNCTION(call_named_empty), METH_FASTCALL, named_empty_doc},
    {"_beside", SMK_PY_FUNCTION(call_beside), METH_FASTCALL, beside_doc},
    {"_by_default_stream", call_by_default_stream, METH_O, by_default_stream_doc},
    {NULL, NULL, 0, NULL},
};
