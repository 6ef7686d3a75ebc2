/* The limits of compute capabilities. */
#ifndef SMK_PY_QUERIES_LIMITS_H
#define SMK_PY_QUERIES_LIMITS_H

#include "py/backends/backend.h"
#include "py/state.h"

#include "registry/occupancy.h"

/* Finds the limits of "9.0" or (9, 0); where the value is NULL, of the present machine. *present is the machine in use
 * where it has that compute capability, else NULL. Returns 0, or -1 with an exception set. */
int smk_limits_read(const smk_state *state, const char *function, PyObject *value, const smk_limits **limits,
                    const smk_backend **present);

extern PyMethodDef smk_limits_methods[];

#endif
