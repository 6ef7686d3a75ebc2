/* _fuse: how the model of ptxas fuses the accesses of a kernel. */
#ifndef SMK_PY_QUERIES_INTERNALS_FUSE_H
#define SMK_PY_QUERIES_INTERNALS_FUSE_H

#include "py/api.h"

extern PyMethodDef smk_internals_fuse_methods[];

#endif
