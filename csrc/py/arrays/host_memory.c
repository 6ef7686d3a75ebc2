#include "py/arrays/host_memory.h"

#include "py/arrays/ndarray.h"
#include "py/arrays/shape.h"
#include "py/arrays/transfer.h"
#include "py/backends/device.h"
#include "py/error.h"
#include "py/keywords.h"

static const char capsule_name[] = "smemkit.managed";

PyArrayObject *smk_host_memory_view(const smk_state *state, smk_array *array)
{
    const smk_backend *backend = array->backend;
    smk_error error = {0};
    int before = 0;
    if (backend->host_reaches == NULL || !backend->host_reaches(array->address)) {
        PyErr_SetString(PyExc_BufferError,
                        "a DeviceArray on a GPU has no buffer on the host; copy it there with smemkit.asnumpy(d)");
        return NULL;
    }
    smk_status status = SMK_OK;
    Py_BEGIN_ALLOW_THREADS
    status = smk_backend_enter(backend, array->device, &before, &error);
    if (status == SMK_OK) {
        status = backend->synchronize_device(&error);
        smk_backend_leave(backend, array->device, before);
    }
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return NULL;
    }
    Py_INCREF(array->descr); /* PyArray_NewFromDescr steals a reference */
    PyArrayObject *view = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, array->descr, array->rank, array->shape,
                                                                array->strides, (void *)(uintptr_t)array->address,
                                                                array->readonly ? 0 : NPY_ARRAY_WRITEABLE, NULL);
    if (view != NULL && PyArray_SetBaseObject(view, Py_NewRef((PyObject *)array)) < 0) { /* steals the reference */
        Py_CLEAR(view);
    }
    return view;
}

/* Managed memory ---------------------------------------------------------------------------------- */

/* The capsule is the owner of the array: the memory goes with the last view. */
static void free_capsule(PyObject *capsule)
{
    const uint64_t address = (uint64_t)(uintptr_t)PyCapsule_GetPointer(capsule, capsule_name);
    const smk_backend *backend = PyCapsule_GetContext(capsule);
    Py_BEGIN_ALLOW_THREADS /* it waits for all work of the device */
    backend->free_managed(address);
    Py_END_ALLOW_THREADS
}

/* A capsule over managed memory of a device; NULL with an exception set. */
static PyObject *manage(const smk_state *state, const smk_backend *backend, int device, uint64_t bytes,
                        uint64_t *address)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    int before = 0;
    Py_BEGIN_ALLOW_THREADS
    status = smk_backend_enter(backend, device, &before, &error);
    if (status == SMK_OK) {
        status = backend->allocate_managed(bytes, address, &error);
        smk_backend_leave(backend, device, before);
    }
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return NULL;
    }
    PyObject *capsule = PyCapsule_New((void *)(uintptr_t)*address, capsule_name, NULL);
    /* the cast is right: the context is read alone */
    if (capsule == NULL || PyCapsule_SetContext(capsule, (void *)(uintptr_t)backend) < 0 ||
        PyCapsule_SetDestructor(capsule, free_capsule) < 0) {
        Py_CLEAR(capsule);
        backend->free_managed(*address);
    }
    return capsule;
}

static PyObject *make_managed(const smk_state *state, const smk_backend *backend, int device, PyArray_Descr *descr,
                              const PyArray_Dims *shape)
{
    const smk_array_layout layout = {descr, shape->len, shape->ptr, NULL};
    smk_error error = {0};
    uint64_t address = 0;
    smk_array *array = NULL;
    if (backend->allocate_managed == NULL) {
        return (PyObject *)smk_array_create(state, "managed_empty", backend, device, descr, shape->len, shape->ptr);
    }
    if (device == SMK_DEVICE_PRESENT && smk_backend_device(backend, &device, &error) != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    npy_intp bytes = PyDataType_ELSIZE(descr);
    bool fits = true;
    for (int i = 0; i < shape->len; i++) {
        if (shape->ptr[i] < 0) {
            return smk_error_fail(state, SMK_SHAPE, "managed_empty: axis %d has the negative length %zd", i,
                                  (Py_ssize_t)shape->ptr[i]);
        }
        fits = fits && !__builtin_mul_overflow(bytes, shape->ptr[i], &bytes);
    }
    if (!fits) {
        return smk_error_fail(state, SMK_MEMORY,
                              "managed_empty: an array of this shape has more bytes than any machine");
    }
    PyObject *owner = manage(state, backend, device, bytes == 0 ? 1 : (uint64_t)bytes, &address);
    if (owner != NULL) {
        array = smk_array_wrap(state, backend, device, owner, address, &layout);
        Py_DECREF(owner);
    }
    return (PyObject *)array;
}

static const char managed_empty_doc[] =
    "managed_empty(shape, dtype=\"float32\", backend=None, *, device=None)\n--\n\n"
    "A new DeviceArray in managed memory, which the host reaches, too, with unspecified elements.\n\n"
    "numpy.asarray(d) shows the elements where they lie: it waits for the device, and what is written to it later\n"
    "is seen by the launches that follow. Wait for the device before the next look (smemkit.Device.synchronize).\n"
    "The driver moves pages of such memory to where they are used, which takes time: arrays that stay on the device\n"
    "are better made by smemkit.empty.\n\n"
    "Parameters\n----------\n"
    "shape : int or tuple of int\n"
    "dtype : dtype-like\n"
    "    One that exists on a device.\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine; by default that of smemkit.get_backend(). NumPy sees all memory of the simulator.\n"
    "device : int, str or Device, optional\n"
    "    Where it lives; by default the present device.\n\n"
    "Shapes\n------\n"
    "Any, also without axes and without elements.\n\n"
    "Returns\n-------\n"
    "DeviceArray\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError), ShapeError (ValueError), BackendError, OutOfMemoryError (MemoryError).\n\n"
    "Example\n-------\n"
    ">>> import numpy, smemkit\n"
    ">>> d = smemkit.managed_empty(3, backend=\"sim\")\n"
    ">>> host = numpy.asarray(d)\n"
    ">>> host[:] = [1, 2, 3]\n"
    ">>> smemkit.reduce(d).item()\n"
    "6.0\n";

static PyObject *call_managed_empty(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"shape", "dtype", "backend", "device"};
    static const smk_keywords accepted = {"managed_empty", names, 4, 3, 1};
    const smk_state *state = smk_state_of_module(module);
    const smk_backend *backend = NULL;
    int device = SMK_DEVICE_PRESENT;
    PyArray_Dims shape = {0};
    PyObject *values[4], *result = NULL;
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0 ||
        smk_shape_read(state, "managed_empty", values[0], &shape) < 0) {
        return NULL;
    }
    PyObject *dtype = smk_keywords_optional(values[1]);
    PyArray_Descr *descr =
        dtype != NULL ? smk_transfer_type(state, "managed_empty: dtype", dtype) : PyArray_DescrFromType(NPY_FLOAT);
    if (descr != NULL && smk_device_choose(state, "managed_empty", smk_keywords_optional(values[3]),
                                           smk_keywords_optional(values[2]), &backend, &device) == 0) {
        result = make_managed(state, backend, device, descr, &shape);
    }
    Py_XDECREF(descr);
    PyDimMem_FREE(shape.ptr);
    return result;
}

/* Mapped memory ----------------------------------------------------------------------------------- */

/* The lowest and the highest byte of an array of NumPy that has elements. */
static void find_ends(PyArrayObject *host, const char **first, const char **last)
{
    *first = PyArray_BYTES(host);
    *last = *first + PyArray_ITEMSIZE(host) - 1;
    for (int i = 0; i < PyArray_NDIM(host); i++) {
        const npy_intp reach = (PyArray_DIM(host, i) - 1) * PyArray_STRIDE(host, i);
        *(reach < 0 ? first : last) += reach;
    }
}

static PyObject *map_on_gpu(const smk_state *state, const smk_backend *backend, int device, PyArrayObject *host)
{
    const smk_array_layout layout = {PyArray_DESCR(host), PyArray_NDIM(host), PyArray_SHAPE(host),
                                     PyArray_STRIDES(host)};
    smk_error error = {0};
    const char *first = NULL, *last = NULL;
    find_ends(host, &first, &last);
    if (PyArray_SIZE(host) > 0 && (!backend->streams->pinned(first) || !backend->streams->pinned(last))) {
        return smk_error_fail(state, SMK_ARGUMENT,
                              "mapped: x lies in pageable memory, which a GPU does not reach; make it by "
                              "smemkit.pinned_empty, or copy it by smemkit.asarray");
    }
    if (device == SMK_DEVICE_PRESENT && smk_backend_device(backend, &device, &error) != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    /* pinned memory has one address on the host and on all devices */
    smk_array *array =
        smk_array_wrap(state, backend, device, (PyObject *)host, (uint64_t)(uintptr_t)PyArray_BYTES(host), &layout);
    if (array != NULL) {
        array->readonly = !PyArray_ISWRITEABLE(host);
    }
    return (PyObject *)array;
}

/* Host memory becomes memory of the simulator in the way of other libraries' arrays. */
static PyObject *map_on_simulator(PyObject *module, PyArrayObject *host)
{
    return PyObject_CallMethod(module, "from_dlpack", "O", (PyObject *)host);
}

static const char mapped_doc[] =
    "mapped(x, /, backend=None, *, device=None)\n--\n\n"
    "A DeviceArray over the memory of a NumPy array, without a copy.\n\n"
    "Kernels read and write the elements where they lie: on a GPU over the bus, so each should be touched once, side\n"
    "by side. After a launch, wait for the device before the host looks (smemkit.Device.synchronize).\n\n"
    "Parameters\n----------\n"
    "x : numpy.ndarray\n"
    "    In native byte order. For a GPU in pinned memory: of smemkit.pinned_empty, CuPy or PyTorch.\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine; by default that of smemkit.get_backend().\n"
    "device : int, str or Device, optional\n"
    "    The one whose kernels use it; by default the present device.\n\n"
    "Shapes\n------\n"
    "Any, with any strides.\n\n"
    "Returns\n-------\n"
    "DeviceArray, which keeps x alive\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError) for what is no NumPy array, or has elements that no device has; ArgumentError\n"
    "(ValueError) for pageable memory and a GPU; BackendError.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> x = smemkit.pinned_empty(3, backend=\"sim\")\n"
    ">>> d = smemkit.mapped(x, backend=\"sim\")\n"
    ">>> d.fill(7)\n"
    ">>> x\n"
    "array([7., 7., 7.], dtype=float32)\n";

static PyObject *call_mapped(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"x", "backend", "device"};
    static const smk_keywords accepted = {"mapped", names, 3, 2, 1};
    const smk_state *state = smk_state_of_module(module);
    const smk_backend *backend = NULL;
    int device = SMK_DEVICE_PRESENT;
    PyObject *values[3];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    if (!PyArray_Check(values[0])) {
        return smk_error_fail(state, SMK_TYPE, "mapped: x must be a numpy.ndarray, not %.100s",
                              Py_TYPE(values[0])->tp_name);
    }
    PyArrayObject *host = (PyArrayObject *)(void *)values[0];
    if (!smk_ndarray_fits(PyArray_DESCR(host)) || PyArray_ISBYTESWAPPED(host)) {
        return smk_error_fail(state, SMK_TYPE, "mapped: x has elements of type %S, which no device has as they lie",
                              (PyObject *)PyArray_DESCR(host));
    }
    if (smk_device_choose(state, "mapped", smk_keywords_optional(values[2]), smk_keywords_optional(values[1]), &backend,
                          &device) < 0) {
        return NULL;
    }
    return backend->adopt != NULL ? map_on_simulator(module, host) : map_on_gpu(state, backend, device, host);
}

PyMethodDef smk_host_memory_methods[] = {
    {"managed_empty", SMK_PY_FUNCTION(call_managed_empty), SMK_PY_FAST, managed_empty_doc},
    {"mapped", SMK_PY_FUNCTION(call_mapped), SMK_PY_FAST, mapped_doc},
    {NULL, NULL, 0, NULL},
};
