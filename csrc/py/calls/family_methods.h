/* The kernel families as functions of the module. */
#ifndef SMK_PY_CALLS_FAMILY_METHODS_H
#define SMK_PY_CALLS_FAMILY_METHODS_H

#include "py/api.h"

/* A row for each family that can be called, and a row of NULLs at the end. The docstrings are written at the first
 * call. NULL with an exception set. */
PyMethodDef *smk_family_methods_get(void);

#endif
