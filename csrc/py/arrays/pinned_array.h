/* smemkit.pinned_empty: NumPy arrays over pinned memory. */
#ifndef SMK_PY_ARRAYS_PINNED_ARRAY_H
#define SMK_PY_ARRAYS_PINNED_ARRAY_H

#include "py/api.h"

extern PyMethodDef smk_pinned_array_methods[];

#endif
