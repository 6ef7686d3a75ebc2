/* Copies between device arrays of any strides, by the kernels of csrc/kernels/array. */
#ifndef SMK_PY_ARRAYS_STRIDED_COPY_H
#define SMK_PY_ARRAYS_STRIDED_COPY_H

#include "py/arrays/array.h"
#include "py/backends/package_kernels.h"

/* Axes of the kernels' layout, as csrc/kernels/array has them. */
enum { SMK_STRIDED_COPY_AXES = 8, SMK_STRIDED_COPY_PARAMETERS = 5 };

typedef struct smk_strided_copy_layout {
    long long length[SMK_STRIDED_COPY_AXES], to[SMK_STRIDED_COPY_AXES], from[SMK_STRIDED_COPY_AXES];
    int rank;
} smk_strided_copy_layout;

/* One launch that copies all elements. The launch points into the structure, which must not move. */
typedef struct smk_strided_copy {
    const smk_variant *variant;
    char entry[32];
    smk_launch launch;
    uint64_t to, from;
    long long count;
    unsigned number[2];
    smk_strided_copy_layout layout;
    void *parameters[SMK_STRIDED_COPY_PARAMETERS];
} smk_strided_copy;

/* Prepares the launch for two arrays of one type and shape, on one device, that have elements. Errors: SHAPE where more
 * than SMK_STRIDED_COPY_AXES axes are left when neighbours have been joined. */
smk_status smk_strided_copy_prepare(const smk_array *to, const smk_array *from, smk_strided_copy *copy,
                                    smk_error *error);

/* Copies between two arrays of one type and shape, on one device; with the GIL. Returns 0, or -1 with an exception
 * set. */
int smk_strided_copy_run(const smk_state *state, const smk_array *to, const smk_array *from);

#endif
