/* The catalog of kernels: families, variants, source, ptx, kernel. */
#ifndef SMK_PY_QUERIES_CATALOG_H
#define SMK_PY_QUERIES_CATALOG_H

#include "py/state.h"

PyObject *smk_catalog_kernel(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords);

/* The row of a variant by name, or NULL with an ArgumentError that lists the variants. */
struct smk_variant;
const struct smk_variant *smk_catalog_find(const smk_state *state, const char *family, const char *variant);

extern PyMethodDef smk_catalog_methods[];

#endif
