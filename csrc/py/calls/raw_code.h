/* The code that a user passes: PTX is taken as it is, CUDA C is compiled. */
#ifndef SMK_PY_CALLS_RAW_CODE_H
#define SMK_PY_CALLS_RAW_CODE_H

#include "py/state.h"

/* The PTX of `code`, a str or bytes: `code` itself, or what a compiler makes of it with the options (NULL: none given).
 * *source is the CUDA C, or None where the code is PTX; *origin is the name of the compiler, or NULL. All are new
 * references; NULL with an exception set. */
PyObject *smk_raw_code_get_ptx(const smk_state *state, PyObject *code, PyObject *options, PyObject **source,
                               PyObject **origin);

#endif
