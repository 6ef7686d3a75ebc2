/* Numbers and structures as the bytes of one kernel parameter. */
#ifndef SMK_PY_CALLS_SCALAR_H
#define SMK_PY_CALLS_SCALAR_H

#include "py/state.h"

#include "ptx/module.h"

#include <stddef.h>

/* Writes one value that is no array into `bytes` bytes of a parameter that is declared as `type`. `where` names the
 * argument in messages. 0, or -1 with an exception. */
int smk_scalar_write(const smk_state *state, const char *where, PyObject *value, smk_type type, size_t bytes,
                     unsigned char *target);

#endif
