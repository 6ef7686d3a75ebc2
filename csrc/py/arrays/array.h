/* smemkit.DeviceArray: a C-contiguous array in the memory of either machine. */
#ifndef SMK_PY_ARRAYS_ARRAY_H
#define SMK_PY_ARRAYS_ARRAY_H

#include "py/backends/backend.h"
#include "py/state.h"

typedef struct smk_array {
    PyObject_HEAD const smk_backend *backend;
    PyArray_Descr *descr; /* native byte order */
    int device;           /* of the machine: the one that holds the memory */
    uint64_t address;
    uint64_t bytes;
    bool owns; /* the memory is to be freed */
    int rank;
    npy_intp size; /* elements */
    npy_intp shape[NPY_MAXDIMS];
    PyObject *weak_references;
} smk_array;

extern PyType_Spec smk_array_spec;

/* NULL where the object is no device array. */
smk_array *smk_array_cast(const smk_state *state, PyObject *object);

/* A new array on a device of the machine (or SMK_DEVICE_PRESENT) with unspecified elements. `descr` must be native and
 * exist on a device (smk_ndarray_fits); its reference is not stolen. Messages begin with `subject`. NULL with an
 * exception set. */
smk_array *smk_array_create(const smk_state *state, const char *subject, const smk_backend *backend, int device,
                            PyArray_Descr *descr, int rank, const npy_intp *shape);

/* Copies between host memory and the elements, on the array's device; without the GIL. Errors: those of the machine,
 * INTERRUPTED. */
smk_status smk_array_upload(const smk_array *array, const void *host, smk_error *error);
smk_status smk_array_download(const smk_array *array, void *host, smk_error *error);

#endif
