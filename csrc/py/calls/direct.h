/* Launches on a GPU of calls that need no conversion: what a call costs beyond the driver's part is a fraction of it. */
#ifndef SMK_PY_CALLS_DIRECT_H
#define SMK_PY_CALLS_DIRECT_H

#include "py/calls/raw_kernel.h"
#include "py/streams/stream_scope.h"

/* Launches kernel(grid, block, args) on the stream of the scope, which has begun (NULL: on that of the
 * thread), where the values are integers and tuples of them, numbers of Python or NumPy, and
 * arrays on one GPU, of ours or of libraries that smk_foreign_read reads. Returns 1 where that is so and the kernel was
 * launched, 0 where smk_raw_launch_run has to judge or to run the call, -1 with an exception set. */
int smk_direct_launch(const smk_raw_kernel *kernel, PyObject *grid, PyObject *block, PyObject *values,
                      const smk_stream_scope *scope);

#endif
