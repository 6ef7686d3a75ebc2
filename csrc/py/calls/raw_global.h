/* Variables of a module as arrays. */
#ifndef SMK_PY_CALLS_RAW_GLOBAL_H
#define SMK_PY_CALLS_RAW_GLOBAL_H

#include "py/calls/raw_module.h"

/* RawModule.get_global(name, dtype, backend, device); NULL for what was not given. A new reference, or NULL with an exception
 * set. */
PyObject *smk_raw_global_get(const smk_state *state, smk_raw_module *module, PyObject *name, PyObject *dtype,
                             PyObject *backend, PyObject *device);

#endif
