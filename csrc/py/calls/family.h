/* The kernel families as Python functions: one body for all of them. */
#ifndef SMK_PY_CALLS_FAMILY_H
#define SMK_PY_CALLS_FAMILY_H

#include "py/api.h"

#include "registry/registry.h"

enum { SMK_FAMILY_INPUTS_MAX = SMK_OPERANDS_MAX_FAMILY - 1, SMK_FAMILY_ATTRIBUTES_MAX = 4 };

/* family(inputs..., attributes..., *, variant="auto", out=None, backend=None) */
PyObject *smk_family_call_named(PyObject *module, const char *name, PyObject *const *arguments, Py_ssize_t given,
                                PyObject *keywords);

/* A row for each family that can be called, ended by a row of NULLs; docstrings are written at the first call. NULL
 * with an exception. */
PyMethodDef *smk_family_methods(void);

#endif
