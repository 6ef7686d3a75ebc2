/* smemkit.from_dlpack. */
#ifndef SMK_PY_ARRAYS_FROM_DLPACK_H
#define SMK_PY_ARRAYS_FROM_DLPACK_H

#include "py/api.h"

extern PyMethodDef smk_from_dlpack_methods[];

#endif
