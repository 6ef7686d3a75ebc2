/* What pickles of RawModule and RawKernel hold. A kernel of the user's own goes as PTX, so that the process that reads
 * the pickle needs no compiler and no header; a kernel of the package goes by its name. py/queries/internals_pickle.c
 * makes the objects again. */
#ifndef SMK_PY_CALLS_RAW_PICKLE_H
#define SMK_PY_CALLS_RAW_PICKLE_H

#include "py/state.h"

/* The methods __reduce__: a new tuple (function, arguments), or NULL with an exception set. */
PyObject *smk_raw_pickle_module(PyObject *self, PyObject *ignored);
PyObject *smk_raw_pickle_kernel(PyObject *self, PyObject *ignored);

extern const char smk_raw_pickle_doc[];

#endif
