/* The launch of a RawKernel: kernel(grid, block, args, *, shared_mem, backend, max_steps, device,
 * stream). */
#ifndef SMK_PY_CALLS_RAW_LAUNCH_H
#define SMK_PY_CALLS_RAW_LAUNCH_H

#include "py/backends/backend.h"
#include "py/calls/argument.h"
#include "py/calls/raw_kernel.h"

/* The machine for a call: the keyword (NULL: not given), else that of the device arrays, else that of the module, else
 * as for every call. Returns 0, or -1 with an exception set. */
int smk_raw_launch_choose_machine(const smk_raw_kernel *kernel, const smk_arguments *arguments, PyObject *keyword,
                                  const smk_backend **backend);

enum { SMK_RAW_LAUNCH_VALUES = 9 };

/* Launches the kernel with the values in the order of the parameters above; NULL for a value that was not given.
 * Returns None, or NULL with an exception set. */
PyObject *smk_raw_launch_run(const smk_raw_kernel *kernel, PyObject *const values[SMK_RAW_LAUNCH_VALUES]);

#endif
