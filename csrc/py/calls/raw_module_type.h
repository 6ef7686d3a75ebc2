/* The Python type smemkit.RawModule. */
#ifndef SMK_PY_CALLS_RAW_MODULE_TYPE_H
#define SMK_PY_CALLS_RAW_MODULE_TYPE_H

#include "py/api.h"

extern PyType_Spec smk_raw_module_type_spec;

#endif
