/* _ptx_print, _ptx_equal: the parser and the printer of PTX, for tests. */
#ifndef SMK_PY_QUERIES_INTERNALS_PTX_H
#define SMK_PY_QUERIES_INTERNALS_PTX_H

#include "py/api.h"

extern PyMethodDef smk_internals_ptx_methods[];

#endif
