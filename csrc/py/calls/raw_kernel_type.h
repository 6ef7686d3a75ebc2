/* The Python type smemkit.RawKernel. */
#ifndef SMK_PY_CALLS_RAW_KERNEL_TYPE_H
#define SMK_PY_CALLS_RAW_KERNEL_TYPE_H

#include "py/api.h"

extern PyType_Spec smk_raw_kernel_type_spec;

/* A call of a kernel, for its vectorcall. */
PyObject *smk_raw_kernel_type_call(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *keywords);

#endif
