#include "py/arrays/array.h"

#include "py/arrays/ndarray.h"
#include "py/backends/chunked_copy.h"
#include "py/error.h"
#include "py/streams/stream_scope.h"

#include "base/heap.h"

#include <stdatomic.h>

smk_array *smk_array_cast(const smk_state *state, PyObject *object)
{
    return object != NULL && Py_TYPE(object) == state->array_type ? (smk_array *)(void *)object : NULL;
}

/* Refuses a shape whose bytes 64 bits do not hold. As in NumPy, axes of length 0 are left out of the product that must
 * not overflow: the strides then fit too, and the array can be copied to the host. */
static int check_shape(const smk_state *state, const char *subject, int rank, const npy_intp *shape,
                       npy_intp item_bytes)
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
    return 0;
}

/* Allocates on the array's device; where none was asked for, on the present one. Needs no GIL. */
static smk_status allocate(smk_array *array, const char *subject, smk_error *error)
{
    const smk_backend *backend = array->backend;
    int before = 0;
    smk_status status =
        array->device == SMK_DEVICE_PRESENT ? smk_backend_device(backend, &array->device, error) : SMK_OK;
    if (status == SMK_OK && smk_stream_scope_captured(backend, array->device)) {
        return smk_status_fail(error, SMK_ARGUMENT,
                               "%s: a CUDA graph captures the stream, and memory of a new array would be the graph's; "
                               "make the array before the capture, and pass it, as in out=",
                               subject);
    }
    if (status == SMK_OK) {
        status = smk_backend_enter(backend, array->device, &before, error);
    }
    if (status == SMK_OK) {
        status = backend->allocate(array->bytes, &array->address, error);
        smk_backend_leave(backend, array->device, before);
    }
    return status;
}

/* The memory that an array shows, which is that of the array it is a view of. */
static smk_stream_memory find_memory(const smk_array *array)
{
    while (array->owner != NULL && Py_TYPE(array->owner) == Py_TYPE(array)) {
        array = (const smk_array *)(const void *)array->owner;
    }
    smk_array *root = (smk_array *)(uintptr_t)array;
    return (smk_stream_memory){(PyObject *)root, root->backend, root->device, &root->uses};
}

/* Ignores errors: a deallocation cannot report them. */
static void free_memory(smk_array *array)
{
    const smk_stream_memory memory = find_memory(array);
    int before = 0;
    if (smk_backend_enter(array->backend, array->device, &before, NULL) == SMK_OK) {
        smk_stream_release release = {0};
        smk_stream_work_enter(&memory, &release);
        (void)(array->backend->streams != NULL ? array->backend->streams->retire(array->address, NULL)
                                               : array->backend->release(array->address, NULL));
        smk_stream_work_leave(&memory, &release);
        smk_backend_leave(array->backend, array->device, before);
    }
}

void smk_array_release(smk_array *array)
{
    if (array->owns) {
        /* where the driver has no memory pool, freeing waits for running kernels */
        Py_BEGIN_ALLOW_THREADS
        free_memory(array);
        Py_END_ALLOW_THREADS
    }
    const smk_stream_memory memory = {(PyObject *)array, array->backend, array->device, &array->uses};
    smk_stream_work_free(&memory);
    smk_heap_free(array->exported);
    Py_CLEAR(array->owner);
    Py_CLEAR(array->descr);
}

/* One range, in either direction. */
static smk_status move_range(const smk_array *array, unsigned char *host, const smk_pack_layout *layout, bool is_up,
                             smk_error *error)
{
    const smk_staged_range range = {.address = array->address, .host = host, .bytes = array->bytes, .layout = layout};
    const smk_staged_copy copy = {.up = &range, .down = &range, .up_count = is_up ? 1 : 0, .down_count = is_up ? 0 : 1};
    int before = 0;
    smk_status status = smk_backend_enter(array->backend, array->device, &before, error);
    if (status == SMK_OK) {
        status = smk_chunked_copy_run(array->backend, &copy, error);
        smk_backend_leave(array->backend, array->device, before);
    }
    return status;
}

/* The cast is right: what goes to the machine is read alone. */
smk_status smk_array_upload(const smk_array *array, const void *host, const smk_pack_layout *layout, smk_error *error)
{
    return move_range(array, (unsigned char *)(uintptr_t)host, layout, true, error);
}

smk_status smk_array_download(const smk_array *array, void *host, const smk_pack_layout *layout, smk_error *error)
{
    return move_range(array, host, layout, false, error);
}

/* Derives what follows from the type, the shape and the strides. */
static void complete(smk_array *array)
{
    npy_intp expected = PyDataType_ELSIZE(array->descr);
    array->size = 1;
    for (int i = 0; i < array->rank; i++) {
        array->size = array->shape[i] == 0 ? 0 : array->size;
    }
    for (int i = 0; i < array->rank && array->size > 0; i++) {
        array->size *= array->shape[i];
    }
    array->bytes = (uint64_t)array->size * (uint64_t)expected;
    array->contiguous = true;
    for (int i = array->rank - 1; i >= 0 && array->size > 0; i--) {
        array->contiguous = array->contiguous && (array->shape[i] == 1 || array->strides[i] == expected);
        expected *= array->shape[i];
    }
}

static void write_strides(smk_array *array)
{
    npy_intp stride = PyDataType_ELSIZE(array->descr);
    for (int i = array->rank - 1; i >= 0; i--) {
        array->strides[i] = stride;
        stride *= array->shape[i] > 0 ? array->shape[i] : 1;
    }
}

/* An array without memory. */
static smk_array *make(const smk_state *state, const smk_backend *backend, int device, const smk_array_layout *layout)
{
    smk_array *array = PyObject_New(smk_array, state->array_type);
    if (array == NULL) {
        return NULL;
    }
    Py_INCREF(layout->descr);
    array->descr = layout->descr;
    array->backend = backend;
    array->owner = NULL;
    array->device = device;
    array->address = 0;
    array->owns = false;
    array->readonly = false;
    array->rank = layout->rank;
    atomic_init(&array->uses, NULL);
    array->exported = NULL;
    array->weak_references = NULL;
    for (int i = 0; i < layout->rank; i++) {
        array->shape[i] = layout->shape[i];
        array->strides[i] = layout->strides != NULL ? layout->strides[i] : 0;
    }
    if (layout->strides == NULL) {
        write_strides(array);
    }
    complete(array);
    return array;
}

smk_array *smk_array_wrap(const smk_state *state, const smk_backend *backend, int device, PyObject *owner,
                          uint64_t address, const smk_array_layout *layout)
{
    smk_array *array = make(state, backend, device, layout);
    if (array != NULL) {
        array->owner = Py_NewRef(owner);
        array->address = address;
    }
    return array;
}

void smk_array_extent(const smk_array *array, uint64_t *bytes, uint64_t *before)
{
    uint64_t behind = (uint64_t)PyDataType_ELSIZE(array->descr);
    *before = 0;
    for (int i = 0; i < array->rank; i++) {
        const npy_intp distance = array->size > 0 ? (array->shape[i] - 1) * array->strides[i] : 0;
        *before += distance < 0 ? (uint64_t)-distance : 0;
        behind += distance > 0 ? (uint64_t)distance : 0;
    }
    *bytes = array->size > 0 ? *before + behind : 0;
}

bool smk_array_overlaps(const smk_array *a, const smk_array *b)
{
    uint64_t bytes[2], before[2];
    smk_array_extent(a, &bytes[0], &before[0]);
    smk_array_extent(b, &bytes[1], &before[1]);
    const uint64_t first[2] = {a->address - before[0], b->address - before[1]};
    return a->backend == b->backend && a->device == b->device && bytes[0] > 0 && bytes[1] > 0 &&
           first[0] < first[1] + bytes[1] && first[1] < first[0] + bytes[0];
}

smk_array *smk_array_create(const smk_state *state, const char *subject, const smk_backend *backend, int device,
                            PyArray_Descr *descr, int rank, const npy_intp *shape)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    if (check_shape(state, subject, rank, shape, PyDataType_ELSIZE(descr)) < 0) {
        return NULL;
    }
    const smk_array_layout layout = {descr, rank, shape, NULL};
    smk_array *array = make(state, backend, device, &layout);
    if (array == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = allocate(array, subject, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        Py_DECREF(array);
        smk_error_raise(state, &error);
        return NULL;
    }
    array->owns = true;
    const smk_stream_memory memory = find_memory(array);
    if (smk_stream_work_note(state, &memory, true) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

/* Streams ----------------------------------------------------------------------------------------- */

int smk_array_note(const smk_state *state, const smk_array *array)
{
    const smk_stream_memory memory = find_memory(array);
    return smk_stream_work_note(state, &memory, false);
}

int smk_array_order(const smk_state *state, const smk_array *array, uint64_t waiting)
{
    const smk_stream_memory memory = find_memory(array);
    return smk_stream_work_order(state, &memory, waiting);
}

int smk_array_join(const smk_state *state, const smk_array *array, uint64_t *stream)
{
    const smk_stream_memory memory = find_memory(array);
    return smk_stream_work_join(state, &memory, stream);
}

int smk_array_await(const smk_state *state, const smk_array *array, uint64_t awaited)
{
    const uint64_t present = smk_stream_scope_present(array->backend, array->device);
    if (present == awaited) {
        return 0;
    }
    if (array->backend->streams->captured(awaited) && !array->backend->streams->captured(present)) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "the array's library is capturing a CUDA graph on its stream 0x%llx, and the call works on "
                       "another one; pass that stream, as in stream=torch.cuda.current_stream()",
                       (unsigned long long)awaited);
        return -1;
    }
    return smk_stream_work_follow(state, array->backend, array->device, present, awaited);
}

int smk_array_release_to(const smk_state *state, const smk_array *array, uint64_t waiting)
{
    const uint64_t present = smk_stream_scope_present(array->backend, array->device);
    if (present == waiting) {
        return 0;
    }
    return smk_stream_work_follow(state, array->backend, array->device, waiting, present);
}
