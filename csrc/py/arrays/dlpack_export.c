#include "py/arrays/dlpack_export.h"

#include "py/arrays/array_view.h"
#include "py/arrays/dlpack_import.h"
#include "py/arrays/dlpack_tensor.h"
#include "py/arrays/ndarray.h"
#include "py/arrays/transfer.h"
#include "py/backends/selection.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/streams/stream_scope.h"

#include "base/heap.h"

/* Tensors that own a reference ------------------------------------------------------------------- */

/* One block: the struct that the consumer gets, and the lengths and strides that it points to. */
typedef struct exported {
    union {
        DLManagedTensor plain;
        DLManagedTensorVersioned versioned;
    } tensor;
    PyObject *array;
    int64_t shape[]; /* then as many strides */
} exported;

/* Consumers call it from any thread, also while the interpreter ends. */
static void free_exported(exported *block)
{
    if (Py_IsInitialized()) {
        PyGILState_STATE held = PyGILState_Ensure();
        Py_DECREF(block->array);
        PyGILState_Release(held);
    }
    smk_heap_free(block);
}

static void delete_plain(DLManagedTensor *self)
{
    free_exported(self->manager_ctx);
}

static void delete_versioned(DLManagedTensorVersioned *self)
{
    free_exported(self->manager_ctx);
}

/* NULL with an exception set. */
static exported *export(const smk_state *state, smk_array *array, bool versioned, bool copied)
{
    const size_t lengths = 2 * (size_t)array->rank * sizeof(int64_t);
    exported *block = smk_heap_allocate(sizeof *block + lengths, 1);
    if (block == NULL) {
        smk_error_fail(state, SMK_MEMORY, "no memory left to describe an array to another library");
        return NULL;
    }
    DLTensor *tensor = versioned ? &block->tensor.versioned.dl_tensor : &block->tensor.plain.dl_tensor;
    if (smk_dlpack_tensor_write(state, array, tensor, block->shape, block->shape + array->rank) < 0) {
        smk_heap_free(block);
        return NULL;
    }
    if (versioned) {
        block->tensor.versioned.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
        block->tensor.versioned.manager_ctx = block;
        block->tensor.versioned.deleter = delete_versioned;
        block->tensor.versioned.flags =
            (array->readonly ? DLPACK_FLAG_BITMASK_READ_ONLY : 0) | (copied ? DLPACK_FLAG_BITMASK_IS_COPIED : 0);
    } else {
        block->tensor.plain.manager_ctx = block;
        block->tensor.plain.deleter = delete_plain;
    }
    block->array = Py_NewRef((PyObject *)array);
    return block;
}

/* Capsules --------------------------------------------------------------------------------------- */

/* A consumer renames the capsule when it takes the tensor; one that nobody took is freed here. */
static void free_capsule(PyObject *capsule)
{
    const bool versioned = PyCapsule_IsValid(capsule, SMK_DLPACK_VERSIONED);
    if (!versioned && !PyCapsule_IsValid(capsule, SMK_DLPACK_PLAIN)) {
        return;
    }
    if (versioned) {
        DLManagedTensorVersioned *tensor = PyCapsule_GetPointer(capsule, SMK_DLPACK_VERSIONED);
        tensor->deleter(tensor);
    } else {
        DLManagedTensor *tensor = PyCapsule_GetPointer(capsule, SMK_DLPACK_PLAIN);
        tensor->deleter(tensor);
    }
}

static PyObject *create_capsule(const smk_state *state, smk_array *array, bool versioned, bool copied)
{
    exported *block = NULL;
    if (array->readonly && !versioned) {
        PyErr_SetString(PyExc_BufferError, "this memory is read-only, which DLPack before version 1.0 cannot say");
        return NULL;
    }
    block = export(state, array, versioned, copied);
    if (block == NULL) {
        return NULL;
    }
    PyObject *capsule =
        PyCapsule_New(&block->tensor, versioned ? SMK_DLPACK_VERSIONED : SMK_DLPACK_PLAIN, free_capsule);
    if (capsule == NULL) {
        free_exported(block);
    }
    return capsule;
}

/* __dlpack__ ------------------------------------------------------------------------------------- */

/* Makes the consumer's stream wait for what was launched. Returns 0, or -1 with an exception set. */
static int order_stream(const smk_state *state, const smk_array *array, PyObject *stream)
{
    if (stream == NULL) {
        return 0;
    }
    if (array->backend->follow == NULL) {
        PyErr_SetString(PyExc_BufferError, "an array of the simulator lies in the host's memory and has no stream; "
                                           "stream must be None");
        return -1;
    }
    const long long handle = PyLong_AsLongLong(stream);
    if (handle == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (handle < -1 || handle == 0) {
        smk_error_fail(state, SMK_ARGUMENT, "__dlpack__: stream is %lld; it is None, -1, 1, 2 or the handle of one",
                       handle);
        return -1;
    }
    return handle == -1 ? 0 : smk_array_order(state, array, handle == 1 ? SMK_STREAM_DEFAULT : (uint64_t)handle);
}

/* 1: the consumer wants the array on the host, 0: where it is, -1: an exception is set. */
static int read_device(const smk_array *array, PyObject *device)
{
    const DLDevice own = smk_dlpack_tensor_device(array);
    long type = 0, index = 0;
    if (device == NULL) {
        return 0;
    }
    if (!PyTuple_Check(device) || !PyArg_ParseTuple(device, "ll", &type, &index)) {
        if (smk_error_clear_conversion()) {
            PyErr_SetString(PyExc_TypeError, "__dlpack__: dl_device is a pair of a device type and a number");
        }
        return -1;
    }
    if (type == (long)own.device_type && index == own.device_id) {
        return 0;
    }
    if (type == kDLCPU) {
        return 1;
    }
    PyErr_Format(PyExc_BufferError, "a DeviceArray is exported on its own device and to the host, not to (%ld, %ld)",
                 type, index);
    return -1;
}

/* The capsule of a copy on the host, which NumPy makes. */
static PyObject *export_to_host(const smk_state *state, smk_array *array, PyObject *version)
{
    PyArrayObject *host = smk_transfer_download(state, array);
    PyObject *method = host == NULL ? NULL : PyObject_GetAttrString((PyObject *)host, "__dlpack__");
    PyObject *none = PyTuple_New(0), *options = PyDict_New(), *capsule = NULL;
    if (method != NULL && none != NULL && options != NULL &&
        (version == NULL || PyDict_SetItemString(options, "max_version", version) == 0)) {
        capsule = PyObject_Call(method, none, options);
    }
    if (capsule == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError)) { /* NumPy 2.0: no version */
        PyErr_Clear();
        capsule = method == NULL || none == NULL ? NULL : PyObject_Call(method, none, NULL);
    }
    Py_XDECREF(host);
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(options);
    return capsule;
}

static bool is_versioned(PyObject *version, bool *good)
{
    long major = 0, minor = 0;
    *good = true;
    if (version == NULL) {
        return false;
    }
    if (!PyTuple_Check(version) || !PyArg_ParseTuple(version, "ll", &major, &minor)) {
        if (smk_error_clear_conversion()) {
            PyErr_SetString(PyExc_TypeError, "__dlpack__: max_version is a pair of integers");
        }
        *good = false;
    }
    return major >= DLPACK_MAJOR_VERSION;
}

const char smk_dlpack_export_doc[] =
    "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
    "The memory for another library, as the array API standard has it; from_dlpack of that library calls this.\n\n"
    "An array of the simulator is an array of the host's memory.";

PyObject *smk_dlpack_export_capsule(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"stream", "max_version", "dl_device", "copy"};
    static const smk_keywords accepted = {"__dlpack__", names, 4, 0, 0};
    const smk_state *state = smk_state_of_instance(self);
    smk_array *array = (smk_array *)(void *)self, *source = NULL;
    PyObject *values[4], *capsule = NULL;
    bool good = true;
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        values[i] = smk_keywords_optional(values[i]);
    }
    const bool versioned = is_versioned(values[1], &good);
    const int copies = values[3] == NULL ? -1 : PyObject_IsTrue(values[3]);
    const int to_host = good ? read_device(array, values[2]) : -1;
    if (to_host < 0 || PyErr_Occurred()) {
        return NULL;
    }
    if (to_host == 1) {
        if (copies == 0) {
            PyErr_SetString(PyExc_BufferError, "an array on a GPU comes to the host as a copy alone");
            return NULL;
        }
        return export_to_host(state, array, values[1]);
    }
    source = copies == 1 ? smk_array_view_copy(state, "__dlpack__", array) : (smk_array *)Py_NewRef(self);
    if (source != NULL && order_stream(state, source, values[0]) == 0) {
        capsule = create_capsule(state, source, versioned, copies == 1);
    }
    Py_XDECREF(source);
    return capsule;
}

const char smk_dlpack_export_device_doc[] = "__dlpack_device__($self, /)\n--\n\n"
                                            "(type, number) of the device, as DLPack has them: (2, n) for GPU n, and\n"
                                            "(1, 0), the host, for an array of the simulator.";

PyObject *smk_dlpack_export_device(PyObject *self, PyObject *ignored)
{
    const DLDevice device = smk_dlpack_tensor_device((smk_array *)(void *)self);
    (void)ignored;
    return Py_BuildValue("(ii)", (int)device.device_type, (int)device.device_id);
}

/* The table of C functions ------------------------------------------------------------------------ */

/* Of the instance of the module whose type has the table: one that is made while it lives has none. NULL: it is gone,
 * and what kept the table may still call it. */
static const smk_state *table_state;

/* Consumers of the table order their work behind the stream of find_stream: it comes behind all work with the array. */
static int order_present(const smk_array *array)
{
    return smk_array_order(table_state, array, smk_stream_scope_present(array->backend, array->device));
}

static int write_managed(void *object, DLManagedTensorVersioned **out)
{
    *out = NULL;
    if (order_present((smk_array *)object) < 0) {
        return -1;
    }
    exported *block = export(table_state, (smk_array *)object, true, false);
    *out = block == NULL ? NULL : &block->tensor.versioned;
    return block == NULL ? -1 : 0;
}

static int read_managed(DLManagedTensorVersioned *tensor, void **object)
{
    if (table_state == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "smemkit has been unloaded");
        return -1;
    }
    *object = smk_dlpack_import_managed(table_state, "from_dlpack", tensor);
    return *object == NULL ? -1 : 0;
}

/* The lengths and strides that it points to live in the array. */
static int write_tensor(void *object, DLTensor *out)
{
    smk_array *array = object;
    if (order_present(array) < 0) {
        return -1;
    }
    if (array->exported == NULL && array->rank > 0) {
        array->exported = smk_heap_allocate(2 * (size_t)array->rank, sizeof *array->exported);
        if (array->exported == NULL) {
            smk_error_fail(table_state, SMK_MEMORY, "no memory left to describe an array to another library");
            return -1;
        }
    }
    return smk_dlpack_tensor_write(table_state, array, out, array->exported, array->exported + array->rank);
}

static int find_stream(DLDeviceType type, int32_t device, void **stream)
{
    const smk_backend *backend = smk_selection_backend(SMK_BACKEND_CUDA);
    *stream = type != kDLCUDA ? NULL : (void *)(uintptr_t)smk_stream_scope_present(backend, device);
    return 0;
}

/* Called by consumers without the GIL, perhaps. */
static int allocate_tensor(DLTensor *prototype, DLManagedTensorVersioned **out, void *context,
                           void (*set_error)(void *context, const char *kind, const char *message))
{
    PyGILState_STATE held = PyGILState_Ensure();
    smk_array *array = table_state == NULL ? NULL : smk_dlpack_import_like(table_state, prototype);
    const int status = array == NULL ? -1 : write_managed(array, out);
    if (status < 0) {
        PyErr_Clear();
        *out = NULL;
        set_error(context, "RuntimeError", "smemkit cannot allocate an array like this");
    }
    Py_XDECREF(array);
    PyGILState_Release(held);
    return status;
}

static DLPackExchangeAPI table = {
    .header = {.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}},
    .managed_tensor_allocator = allocate_tensor,
    .managed_tensor_from_py_object_no_sync = write_managed,
    .managed_tensor_to_py_object_no_sync = read_managed,
    .dltensor_from_py_object_no_sync = write_tensor,
    .current_work_stream = find_stream,
};

int smk_dlpack_export_add_table(const smk_state *state)
{
    if (table_state != NULL) {
        return 0;
    }
    PyObject *capsule = PyCapsule_New(&table, SMK_DLPACK_TABLE, NULL);
    int status = -1;
    if (capsule != NULL) {
        table_state = state;
        status = PyObject_SetAttrString((PyObject *)state->array_type, SMK_DLPACK_TABLE_ATTRIBUTE, capsule);
    }
    Py_XDECREF(capsule);
    return status;
}

void smk_dlpack_export_drop_table(const smk_state *state)
{
    table_state = table_state == state ? NULL : table_state;
}
