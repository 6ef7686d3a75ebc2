/* Copies between device arrays of any strides, by the kernels of csrc/kernels/array. */
#ifndef SMK_PY_ARRAYS_STRIDED_COPY_H
#define SMK_PY_ARRAYS_STRIDED_COPY_H

#include "py/arrays/array.h"

/* Two arrays of one type and shape, on one device; with the GIL. Returns 0, or -1 with an exception set. */
int smk_strided_copy_run(const smk_state *state, const smk_array *to, const smk_array *from);

#endif
