/* The function _permute of the module, with which smemkit.transpose moves axes. */
#ifndef SMK_PY_CALLS_PERMUTE_H
#define SMK_PY_CALLS_PERMUTE_H

#include "py/state.h"

extern PyMethodDef smk_permute_methods[];

#endif
