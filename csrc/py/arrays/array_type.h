/* The Python type smemkit.DeviceArray. */
#ifndef SMK_PY_ARRAYS_ARRAY_TYPE_H
#define SMK_PY_ARRAYS_ARRAY_TYPE_H

#include "py/api.h"

extern PyType_Spec smk_array_type_spec;

#endif
