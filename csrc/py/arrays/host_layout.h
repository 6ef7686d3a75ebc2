/* Where the elements of a NumPy array lie, for copies without NumPy (base/pack.h). */
#ifndef SMK_PY_ARRAYS_HOST_LAYOUT_H
#define SMK_PY_ARRAYS_HOST_LAYOUT_H

#include "py/api.h"

#include "py/backends/backend.h"

#include "base/pack.h"

#include <stdbool.h>

/* A range of an array along one axis (-1: the whole array). */
typedef struct smk_host_layout {
    unsigned char *start;
    uint64_t bytes;
    smk_pack_layout layout;
} smk_host_layout;

/* False where the elements cannot be copied as they are: they are in another byte order, or have too many axes. */
bool smk_host_layout_describe(PyArrayObject *array, int axis, npy_intp first, npy_intp count, smk_host_layout *range);

/* Can the threads of the machine's bus pack or unpack the array? Then *whole describes it. NumPy does it for small arrays
 * and for machines without a bus. */
bool smk_host_layout_is_direct(PyArrayObject *array, const smk_backend *backend, smk_host_layout *whole);

#endif
