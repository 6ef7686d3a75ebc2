/* What kernels there are: families, variants, source, ptx. */
#ifndef SMK_PY_LISTING_H
#define SMK_PY_LISTING_H

#include "py/state.h"

PyObject *smk_listing_kernel(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords);

/* The row of a variant by name, or NULL with an ArgumentError that lists the known ones. */
struct smk_variant;
const struct smk_variant *smk_listing_find(const smk_state *state, const char *family, const char *variant);

extern PyMethodDef smk_listing_methods[];

#endif
