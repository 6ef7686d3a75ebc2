/* Copies between pinned memory of the host and device arrays that do not wait for their end. */
#ifndef SMK_PY_ARRAYS_ASYNC_COPY_H
#define SMK_PY_ARRAYS_ASYNC_COPY_H

#include "py/arrays/array.h"

/* Begins a copy to a contiguous array (`is_up`) or from it, on the stream on which the thread works, where that is not the
 * default one and `host` is a plain array of as many bytes in pinned memory, which is kept until the copy has ended.
 * Returns 1, 0 where another copy must serve, or -1 with an exception set. */
int smk_async_copy_begin(const smk_state *state, const smk_array *array, PyArrayObject *host, bool is_up);

#endif
