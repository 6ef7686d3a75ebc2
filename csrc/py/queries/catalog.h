/* The catalog of kernels: families, variants, source, ptx, kernel. */
#ifndef SMK_PY_QUERIES_CATALOG_H
#define SMK_PY_QUERIES_CATALOG_H

#include "py/state.h"

/* smemkit.kernel(family, variant, dtype, choice); dtype and choice may be NULL. A new reference, or NULL with an
 * exception set. */
PyObject *smk_catalog_kernel(const smk_state *state, PyObject *family, PyObject *variant, PyObject *dtype,
                             PyObject *choice);

/* The row of a variant by name, or NULL with an ArgumentError that lists the variants. */
struct smk_variant;
const struct smk_variant *smk_catalog_find(const smk_state *state, const char *family, const char *variant);

extern PyMethodDef smk_catalog_methods[];

#endif
