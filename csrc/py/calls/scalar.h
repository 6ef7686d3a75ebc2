/* Conversion of numbers and structures to the bytes of a kernel parameter. */
#ifndef SMK_PY_CALLS_SCALAR_H
#define SMK_PY_CALLS_SCALAR_H

#include "py/calls/place.h"
#include "py/state.h"

#include "ptx/module.h"

#include <stddef.h>

/* Writes a value that is no array to the `bytes` bytes of a parameter declared as `type`. `where` names the argument in
 * messages. Returns 0, or -1 with an exception set. */
int smk_scalar_write(const smk_state *state, smk_place *where, PyObject *value, smk_type type, size_t bytes,
                     unsigned char *target);

#endif
