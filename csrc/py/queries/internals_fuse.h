/* _fuse: what the model of ptxas makes of the accesses of a program. */
#ifndef SMK_PY_QUERIES_INTERNALS_FUSE_H
#define SMK_PY_QUERIES_INTERNALS_FUSE_H

#include "py/api.h"

extern PyMethodDef smk_internals_fuse_methods[];

#endif
