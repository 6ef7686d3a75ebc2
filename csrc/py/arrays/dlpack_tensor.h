/* DLTensor, in which DLPack describes an array, and the arrays of NumPy and of this package. */
#ifndef SMK_PY_ARRAYS_DLPACK_TENSOR_H
#define SMK_PY_ARRAYS_DLPACK_TENSOR_H

#include "py/arrays/array.h"

#include <dlpack/dlpack.h>

/* What a DLTensor says, in the terms of NumPy. */
typedef struct smk_dlpack_view {
    PyArray_Descr *descr; /* owned */
    int rank;
    npy_intp shape[NPY_MAXDIMS];
    npy_intp strides[NPY_MAXDIMS]; /* bytes */
    uint64_t address;              /* of the first element */
    DLDevice device;
} smk_dlpack_view;

/* Reads a tensor. Messages begin with `subject`. Returns 0, or -1 with an exception set: ArgumentTypeError for elements
 * that no NumPy type has. */
int smk_dlpack_tensor_read(const smk_state *state, const char *subject, const DLTensor *tensor, smk_dlpack_view *view);

/* Fills a tensor with what describes the array. `shape` and `strides` take its rank and live as long as the tensor.
 * Returns 0, or -1 with a BufferError where DLPack has no such elements or strides. */
int smk_dlpack_tensor_write(const smk_state *state, smk_array *array, DLTensor *tensor, int64_t *shape,
                            int64_t *strides);

/* The device of an array, as DLPack numbers it. */
DLDevice smk_dlpack_tensor_device(const smk_array *array);

#endif
