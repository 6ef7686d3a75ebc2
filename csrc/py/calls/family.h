/* A call of a family from Python: one function for all families. */
#ifndef SMK_PY_CALLS_FAMILY_H
#define SMK_PY_CALLS_FAMILY_H

#include "py/api.h"

/* family(inputs..., attributes..., *, variant="auto", out=None, backend=None) */
PyObject *smk_family_invoke(PyObject *module, const char *name, PyObject *const *arguments, Py_ssize_t given,
                            PyObject *keywords);

/* _explain_choice(family, *args, **keywords): what smk_family_choice_describe says of such a call, which is not run.
 * _explain_call(family, function, args, keywords): the same of the first call of the family, or of one made of it, that a
 * function of Python makes, which ends there; None where it makes none. */
extern PyMethodDef smk_family_explain_methods[];

#endif
