#include "py/arrays/host_layout.h"

/* Below it threads gain nothing. */
enum { BYTES_MIN = 1 << 20 };

bool smk_host_layout_describe(PyArrayObject *array, int axis, npy_intp first, npy_intp count, smk_host_layout *range)
{
    uint64_t shape[NPY_MAXDIMS];
    int64_t strides[NPY_MAXDIMS];
    const int rank = PyArray_NDIM(array);
    uint64_t bytes = (uint64_t)PyArray_ITEMSIZE(array);
    for (int i = 0; i < rank; i++) {
        shape[i] = (uint64_t)(i == axis ? count : PyArray_DIM(array, i));
        strides[i] = (int64_t)PyArray_STRIDE(array, i);
        bytes *= shape[i];
    }
    range->start = (unsigned char *)PyArray_BYTES(array);
    if (axis >= 0) {
        range->start += first * PyArray_STRIDE(array, axis);
    }
    range->bytes = bytes;
    if (bytes == 0) {
        range->layout = (smk_pack_layout){.run_bytes = 0};
        return PyArray_ISNOTSWAPPED(array);
    }
    return PyArray_ISNOTSWAPPED(array) &&
           smk_pack_describe(&range->layout, (size_t)PyArray_ITEMSIZE(array), rank, shape, strides);
}

bool smk_host_layout_is_direct(PyArrayObject *array, const smk_backend *backend, smk_host_layout *whole)
{
    return backend->staged_copy != NULL && PyArray_NBYTES(array) >= BYTES_MIN &&
           smk_host_layout_describe(array, -1, 0, 0, whole);
}
