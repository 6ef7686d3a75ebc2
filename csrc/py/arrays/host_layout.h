/* Where the elements of a NumPy array lie, for copies without NumPy (base/pack.h). */
#ifndef SMK_PY_ARRAYS_HOST_LAYOUT_H
#define SMK_PY_ARRAYS_HOST_LAYOUT_H

#include "py/api.h"

#include "base/pack.h"

#include <stdbool.h>

/* Strided arrays of fewer bytes are packed by NumPy. */
enum { SMK_HOST_LAYOUT_BYTES_MIN = 1 << 20 };

/* A range of an array along one axis (-1: the whole array). */
typedef struct smk_host_layout {
    unsigned char *start;
    uint64_t bytes;
    smk_pack_layout layout;
} smk_host_layout;

/* False where the elements cannot be copied as they are: they are in another byte order, or have too many axes. */
bool smk_host_layout_describe(PyArrayObject *array, int axis, npy_intp first, npy_intp count, smk_host_layout *range);

#endif
