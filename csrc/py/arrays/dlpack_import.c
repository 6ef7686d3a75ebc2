#include "py/arrays/dlpack_import.h"

#include "py/arrays/array_view.h"
#include "py/arrays/dlpack_tensor.h"
#include "py/backends/selection.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/streams/stream_scope.h"

#include <limits.h>

enum { STREAM_LEGACY = 1 }; /* DLPack's number of the default stream */

static const char owner_name[] = "smemkit.dlpack_owner";

/* Owners ------------------------------------------------------------------------------------------ */

static void delete_versioned(void *tensor)
{
    DLManagedTensorVersioned *managed = tensor;
    if (managed->deleter != NULL) {
        managed->deleter(managed);
    }
}

static void delete_plain(void *tensor)
{
    DLManagedTensor *managed = tensor;
    if (managed->deleter != NULL) {
        managed->deleter(managed);
    }
}

/* Calls a deleter, which may run Python code, while the exception of a failed call stays set. */
static void delete_aside(void (*deleter)(void *tensor), void *tensor)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *raised = PyErr_GetRaisedException();
    deleter(tensor);
    PyErr_SetRaisedException(raised);
#else
    PyObject *type = NULL, *value = NULL, *traceback = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    deleter(tensor);
    PyErr_Restore(type, value, traceback);
#endif
}

static void free_versioned(PyObject *capsule)
{
    delete_aside(delete_versioned, PyCapsule_GetPointer(capsule, owner_name));
}

static void free_plain(PyObject *capsule)
{
    delete_aside(delete_plain, PyCapsule_GetPointer(capsule, owner_name));
}

/* A capsule that calls the tensor's deleter; also where it cannot be made. */
static PyObject *own_versioned(DLManagedTensorVersioned *tensor)
{
    PyObject *owner = PyCapsule_New(tensor, owner_name, free_versioned);
    if (owner == NULL) {
        delete_aside(delete_versioned, tensor);
    }
    return owner;
}

static PyObject *own_plain(DLManagedTensor *tensor)
{
    PyObject *owner = PyCapsule_New(tensor, owner_name, free_plain);
    if (owner == NULL) {
        delete_aside(delete_plain, tensor);
    }
    return owner;
}

/* Arrays over a tensor's memory ------------------------------------------------------------------- */

static PyObject *wrap_numpy(const smk_dlpack_view *view, PyObject *owner, bool readonly)
{
    static char nothing;
    void *data = view->address == 0 ? (void *)&nothing : (void *)(uintptr_t)view->address;
    Py_INCREF(view->descr); /* PyArray_NewFromDescr steals a reference */
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, view->descr, view->rank, view->shape, view->strides, data,
                                           readonly ? 0 : NPY_ARRAY_WRITEABLE, NULL);
    if (array != NULL && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(owner)) < 0) { /* steals */
        Py_CLEAR(array);
    }
    return array;
}

static smk_array *wrap_gpu(const smk_state *state, const smk_dlpack_view *view, PyObject *owner)
{
    const smk_array_layout layout = {view->descr, view->rank, view->shape, view->strides};
    return smk_array_wrap(state, smk_selection_backend(SMK_BACKEND_CUDA), view->device.device_id, owner, view->address,
                          &layout);
}

/* Memory of the host as memory of the simulator: an array of bytes has the allocation, and the result is a view of
 * it. */
static smk_array *wrap_host(const smk_state *state, const char *subject, const smk_dlpack_view *view, PyObject *owner)
{
    const smk_backend *backend = smk_selection_backend(SMK_BACKEND_SIM);
    const smk_array_layout layout = {view->descr, view->rank, view->shape, view->strides};
    PyArray_Descr *byte = PyArray_DescrFromType(NPY_UINT8);
    smk_array *result = smk_array_wrap(state, backend, 0, owner, 0, &layout), *memory = NULL;
    smk_error error = {0};
    uint64_t bytes = 0, before = 0, address = 0;
    if (result == NULL || byte == NULL) {
        goto failed;
    }
    if (view->address % (uint64_t)PyDataType_ALIGNMENT(view->descr) != 0) {
        smk_error_fail(state, SMK_ARGUMENT, "%s: the elements are not aligned in the host's memory; pass a copy",
                       subject);
        goto failed;
    }
    smk_array_extent(result, &bytes, &before);
    const npy_intp length = (npy_intp)bytes;
    const smk_array_layout flat = {byte, 1, &length, NULL};
    memory = smk_array_wrap(state, backend, 0, owner, 0, &flat);
    if (memory == NULL) {
        goto failed;
    }
    if (backend->adopt((void *)(uintptr_t)(view->address - before), bytes, &address, &error) != SMK_OK) {
        smk_error_raise(state, &error);
        goto failed;
    }
    memory->address = address;
    memory->owns = true;
    result->address = address + before;
    Py_SETREF(result->owner, (PyObject *)memory);
    Py_DECREF(byte);
    return result;
failed:
    Py_XDECREF(byte);
    Py_XDECREF(result);
    Py_XDECREF(memory);
    return NULL;
}

/* Reads a tensor that `owner` keeps alive. */
static PyObject *wrap(const smk_state *state, const char *subject, const DLTensor *tensor, PyObject *owner,
                      bool readonly, bool as_numpy)
{
    smk_dlpack_view view = {0};
    PyObject *result = NULL;
    if (smk_dlpack_tensor_read(state, subject, tensor, &view) < 0) {
        return NULL;
    }
    const bool on_gpu = view.device.device_type == kDLCUDA || view.device.device_type == kDLCUDAManaged;
    const bool on_host = view.device.device_type == kDLCPU || view.device.device_type == kDLCUDAHost;
    if (on_host && as_numpy) {
        result = wrap_numpy(&view, owner, readonly);
    } else if (on_host || on_gpu) {
        smk_array *array = on_gpu ? wrap_gpu(state, &view, owner) : wrap_host(state, subject, &view, owner);
        if (array != NULL) {
            array->readonly = readonly;
        }
        result = (PyObject *)array;
    } else {
        smk_error_fail(state, SMK_TYPE,
                       "%s: the memory lies on a device of DLPack's type %d; smemkit takes the host's and that of "
                       "NVIDIA's GPUs",
                       subject, (int)view.device.device_type);
    }
    Py_DECREF(view.descr);
    return result;
}

/* Capsules ---------------------------------------------------------------------------------------- */

PyObject *smk_dlpack_import_managed(const smk_state *state, const char *subject, DLManagedTensorVersioned *tensor)
{
    if (tensor->version.major != DLPACK_MAJOR_VERSION) {
        const unsigned major = tensor->version.major, minor = tensor->version.minor;
        delete_versioned(tensor);
        return smk_error_fail(state, SMK_TYPE, "%s: the array comes by DLPack %u.%u; smemkit knows version %d", subject,
                              major, minor, DLPACK_MAJOR_VERSION);
    }
    PyObject *owner = own_versioned(tensor);
    PyObject *result = owner == NULL ? NULL
                                     : wrap(state, subject, &tensor->dl_tensor, owner,
                                            (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0, false);
    Py_XDECREF(owner);
    return result;
}

/* Takes the tensor of a capsule, which gets another name. */
static PyObject *import_capsule(const smk_state *state, const char *subject, PyObject *capsule, bool as_numpy)
{
    PyObject *owner = NULL, *result = NULL;
    const DLTensor *tensor = NULL;
    bool readonly = false;
    if (PyCapsule_IsValid(capsule, SMK_DLPACK_VERSIONED)) {
        DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, SMK_DLPACK_VERSIONED);
        if (PyCapsule_SetName(capsule, "used_dltensor_versioned") < 0) {
            return NULL;
        }
        if (managed->version.major != DLPACK_MAJOR_VERSION) {
            return smk_dlpack_import_managed(state, subject, managed); /* refuses it */
        }
        owner = own_versioned(managed);
        readonly = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
        tensor = &managed->dl_tensor;
    } else if (PyCapsule_IsValid(capsule, SMK_DLPACK_PLAIN)) {
        DLManagedTensor *managed = PyCapsule_GetPointer(capsule, SMK_DLPACK_PLAIN);
        if (PyCapsule_SetName(capsule, "used_dltensor") < 0) {
            return NULL;
        }
        owner = own_plain(managed);
        readonly = true; /* before version 1.0 a library cannot say that writes are forbidden: JAX forbids them */
        tensor = &managed->dl_tensor;
    } else {
        return smk_error_fail(state, SMK_TYPE,
                              "%s: __dlpack__ gave %.100s that is no DLPack capsule, or one that was used already",
                              subject, Py_TYPE(capsule)->tp_name);
    }
    if (owner != NULL) {
        result = wrap(state, subject, tensor, owner, readonly, as_numpy);
    }
    Py_XDECREF(owner);
    return result;
}

/* Objects ----------------------------------------------------------------------------------------- */

/* What object.is_neg() says, false where there is no such method; -1 with an exception set. */
static int ask_negative(PyObject *object)
{
    PyObject *method = PyObject_GetAttrString(object, "is_neg");
    if (method == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
            return -1;
        }
        PyErr_Clear();
        return 0;
    }
    PyObject *answer = PyObject_CallNoArgs(method);
    const int negative = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_DECREF(method);
    Py_XDECREF(answer);
    return negative;
}

/* A tensor whose elements lie one by one between others, or that has one element. */
static bool may_be_part_of_complex(const DLTensor *tensor)
{
    int64_t expected = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->strides != NULL && tensor->shape[i] != 1 && tensor->strides[i] != expected) {
            return true;
        }
        expected *= tensor->shape[i];
    }
    return expected == 1;
}

int smk_dlpack_import_is_negative(PyObject *object, const DLTensor *tensor)
{
    return may_be_part_of_complex(tensor) ? ask_negative(object) : 0;
}

/* Refuses an array for which `negative` is true. Returns 0, or -1 with an exception set. */
static int refuse_negative(const smk_state *state, const char *subject, int negative)
{
    if (negative > 0) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "%s: the memory of the tensor holds the negatives of its elements, because it is a part of a "
                       "conjugate; pass x.resolve_neg()",
                       subject);
    }
    return negative == 0 ? 0 : -1;
}

/* The stream on which the thread works on a GPU, as DLPack numbers it; NULL with an exception set. */
static PyObject *number_stream(long device)
{
    const uint64_t stream = device > INT_MAX
                                ? SMK_STREAM_DEFAULT
                                : smk_stream_scope_present(smk_selection_backend(SMK_BACKEND_CUDA), (int)device);
    return PyLong_FromUnsignedLongLong(stream == SMK_STREAM_DEFAULT ? STREAM_LEGACY : stream);
}

/* Calls __dlpack__(max_version=..., stream=...), and without max_version where the library does not know it. `device` is
 * the number of the GPU, -1 for the host. */
static PyObject *call_producer(PyObject *object, long device)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *none = PyTuple_New(0), *options = PyDict_New(), *capsule = NULL;
    PyObject *version = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
    PyObject *stream = number_stream(device);
    if (method == NULL || none == NULL || options == NULL || version == NULL || stream == NULL ||
        (device >= 0 && PyDict_SetItemString(options, "stream", stream) < 0) ||
        PyDict_SetItemString(options, "max_version", version) < 0) {
        goto done;
    }
    capsule = PyObject_Call(method, none, options);
    if (capsule == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        if (PyDict_DelItemString(options, "max_version") == 0) {
            capsule = PyObject_Call(method, none, options);
        }
    }
done:
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(options);
    Py_XDECREF(version);
    Py_XDECREF(stream);
    return capsule;
}

/* The device type of an object with __dlpack_device__; -1 with an exception set. `gpu` gets the number of the GPU, or
 * -1. */
static long find_device(const smk_state *state, const char *subject, PyObject *object, long *gpu)
{
    long type = 0, number = 0;
    PyObject *pair = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    if (pair == NULL) {
        return -1;
    }
    if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "ll", &type, &number)) {
        if (smk_error_clear_conversion()) {
            smk_error_fail(state, SMK_TYPE, "%s: __dlpack_device__ gave %.200R, which is no pair of integers", subject,
                           pair);
        }
        type = -1;
    }
    *gpu = type == kDLCUDA || type == kDLCUDAManaged ? number : -1;
    Py_DECREF(pair);
    return type;
}

PyObject *smk_dlpack_import_object(const smk_state *state, const char *subject, PyObject *object, bool as_numpy)
{
    long gpu = -1;
    if (refuse_negative(state, subject, ask_negative(object)) < 0) {
        return NULL;
    }
    const long type = find_device(state, subject, object, &gpu);
    PyObject *capsule = type < 0 ? NULL : call_producer(object, gpu);
    PyObject *result = capsule == NULL ? NULL : import_capsule(state, subject, capsule, as_numpy);
    Py_XDECREF(capsule);
    return result;
}

PyObject *smk_dlpack_import_borrowed(const smk_state *state, const char *subject, const DLPackExchangeAPI *table,
                                     PyObject *object)
{
    DLTensor tensor;
    void *stream = NULL;
    if (table->dltensor_from_py_object_no_sync(object, &tensor) != 0 ||
        refuse_negative(state, subject, smk_dlpack_import_is_negative(object, &tensor)) < 0) {
        return NULL;
    }
    PyObject *result = wrap(state, subject, &tensor, object, false, true);
    smk_array *array = result == NULL ? NULL : smk_array_cast(state, result);
    if (array == NULL) {
        return result;
    }
    if (table->current_work_stream(tensor.device.device_type, tensor.device.device_id, &stream) != 0 ||
        smk_array_await(state, array, (uint64_t)(uintptr_t)stream) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

smk_array *smk_dlpack_import_like(const smk_state *state, const DLTensor *prototype)
{
    smk_dlpack_view view = {0};
    DLTensor tensor = *prototype;
    tensor.strides = NULL;
    tensor.data = NULL;
    tensor.byte_offset = 0;
    if (smk_dlpack_tensor_read(state, "__dlpack_c_exchange_api__", &tensor, &view) < 0) {
        return NULL;
    }
    const bool on_gpu = tensor.device.device_type == kDLCUDA;
    smk_array *array = smk_array_create(state, "__dlpack_c_exchange_api__",
                                        smk_selection_backend(on_gpu ? SMK_BACKEND_CUDA : SMK_BACKEND_SIM),
                                        on_gpu ? tensor.device.device_id : 0, view.descr, view.rank, view.shape);
    Py_DECREF(view.descr);
    return array;
}
