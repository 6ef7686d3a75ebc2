/* Limits of compute capabilities, and the occupancy of kernels. */
#ifndef SMK_PY_QUERIES_LIMITS_H
#define SMK_PY_QUERIES_LIMITS_H

#include "py/backends/backend.h"
#include "py/state.h"

#include "registry/occupancy.h"

/* The row for "9.0" or (9, 0), or for the present machine where the value is NULL. *present is the machine that is in
 * use and has that compute capability, or NULL. 0, or -1 with an exception. */
int smk_limits_read(const smk_state *state, const char *function, PyObject *value, const smk_limits **limits,
                    const smk_backend **present);

extern PyMethodDef smk_limits_methods[];

#endif
