/* The Python type smemkit.RawKernel. */
#ifndef SMK_PY_CALLS_RAW_KERNEL_TYPE_H
#define SMK_PY_CALLS_RAW_KERNEL_TYPE_H

#include "py/api.h"

extern PyType_Spec smk_raw_kernel_type_spec;

#endif
