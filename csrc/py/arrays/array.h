/* smemkit.DeviceArray: an array in the memory of either machine, with the strides of NumPy. */
#ifndef SMK_PY_ARRAYS_ARRAY_H
#define SMK_PY_ARRAYS_ARRAY_H

#include "py/backends/backend.h"
#include "py/state.h"
#include "py/streams/stream_work.h"

typedef struct smk_array {
    PyObject_HEAD const smk_backend *backend;
    PyArray_Descr *descr; /* native byte order */
    PyObject *owner;      /* keeps the memory of a view alive; NULL: the array has memory of its own */
    int device;           /* of the machine: the one that holds the memory */
    uint64_t address;     /* of the first element */
    uint64_t bytes;       /* of all elements */
    bool owns;            /* the memory is to be freed */
    bool readonly;        /* the library that owns the memory forbids writes */
    bool contiguous;      /* the elements lie side by side, in C order */
    int rank;
    npy_intp size; /* elements */
    npy_intp shape[NPY_MAXDIMS];
    npy_intp strides[NPY_MAXDIMS];          /* bytes */
    _Atomic(struct smk_stream_uses *) uses; /* of its memory, by streams; see stream_work.h */
    int64_t *exported; /* lengths and strides in elements, for other libraries; NULL: not needed yet */
    PyObject *weak_references;
} smk_array;

/* Where the elements of a view lie. */
typedef struct smk_array_layout {
    PyArray_Descr *descr; /* native, existing on a device; its reference is not stolen */
    int rank;
    const npy_intp *shape;
    const npy_intp *strides; /* NULL: C-contiguous */
} smk_array_layout;

/* Kernels of the package access so many bytes at once, which must begin at a multiple of them. */
enum { SMK_ARRAY_ALIGNMENT = 16 };

/* Does the array begin at such a multiple, or has it fewer bytes? */
static inline bool smk_array_is_aligned(const smk_array *array)
{
    return array->bytes < SMK_ARRAY_ALIGNMENT || array->address % SMK_ARRAY_ALIGNMENT == 0;
}

/* NULL where the object is no device array. */
smk_array *smk_array_cast(const smk_state *state, PyObject *object);

/* A new array on a device of the machine (or SMK_DEVICE_PRESENT) with unspecified elements. `descr` must be native and
 * exist on a device (smk_ndarray_fits); its reference is not stolen. Messages begin with `subject`. NULL with an
 * exception set. */
smk_array *smk_array_create(const smk_state *state, const char *subject, const smk_backend *backend, int device,
                            PyArray_Descr *descr, int rank, const npy_intp *shape);

/* An array over memory that `owner` keeps alive, with its first element at `address`. NULL with an exception set. */
smk_array *smk_array_wrap(const smk_state *state, const smk_backend *backend, int device, PyObject *owner,
                          uint64_t address, const smk_array_layout *layout);

/* Frees the memory that the array has, and its references; for its deallocation. */
void smk_array_release(smk_array *array);

/* The bytes from the lowest to the highest element: their number, and how many of them lie before the first element. */
void smk_array_extent(const smk_array *array, uint64_t *bytes, uint64_t *before);

/* Do two arrays lie on one device, and do their extents have a byte in common? */
bool smk_array_overlaps(const smk_array *a, const smk_array *b);

/* Copies between host memory and the elements of a contiguous array, on the array's device; without the GIL. `layout` is
 * that of the host's memory; NULL: C-contiguous. Errors: those of the machine, INTERRUPTED. */
smk_status smk_array_upload(const smk_array *array, const void *host, const smk_pack_layout *layout, smk_error *error);
smk_status smk_array_download(const smk_array *array, void *host, const smk_pack_layout *layout, smk_error *error);

/* Notes that the stream on which the thread works uses the array's memory. To be called before the work, by whoever
 * launches with the array or copies it. Returns 0, or -1 with an exception set. */
int smk_array_note(const smk_state *state, const smk_array *array);

/* Makes a stream of the array's device wait for all work with its memory. Returns 0, or -1 with an exception set. */
int smk_array_order(const smk_state *state, const smk_array *array, uint64_t waiting);

/* One stream behind which all work with the memory is, for libraries that ask for one. Returns 0, or -1 with an exception
 * set. */
int smk_array_join(const smk_state *state, const smk_array *array, uint64_t *stream);

/* Makes the stream on which the thread works wait for that of the library that an array comes from. Returns 0, or -1 with
 * an exception set: ArgumentError where a graph captures the library's stream and not the thread's. */
int smk_array_await(const smk_state *state, const smk_array *array, uint64_t awaited);

/* The other way round, after the work. */
int smk_array_release_to(const smk_state *state, const smk_array *array, uint64_t waiting);

#endif
