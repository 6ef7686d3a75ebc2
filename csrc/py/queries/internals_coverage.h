/* _coverage_start, _coverage_stop, _coverage_clear and _coverage_text: coverage of kernels, for smemkit.cover. */
#ifndef SMK_PY_QUERIES_INTERNALS_COVERAGE_H
#define SMK_PY_QUERIES_INTERNALS_COVERAGE_H

#include "py/api.h"

extern PyMethodDef smk_internals_coverage_methods[];

#endif
