/* _describe_ptx: the functions of a PTX text and what the simulator makes of them, for the command info. */
#ifndef SMK_PY_QUERIES_DESCRIBE_PTX_H
#define SMK_PY_QUERIES_DESCRIBE_PTX_H

#include "py/api.h"

extern PyMethodDef smk_describe_ptx_methods[];

#endif
