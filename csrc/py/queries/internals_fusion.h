/* _fuse: how the model of ptxas fuses the accesses of a kernel. */
#ifndef SMK_PY_QUERIES_INTERNALS_FUSION_H
#define SMK_PY_QUERIES_INTERNALS_FUSION_H

#include "py/api.h"

extern PyMethodDef smk_internals_fusion_methods[];

#endif
