/* For smemkit.bench, with a leading underscore in Python: CUDA events, and work of a known size on device arrays. */
#ifndef SMK_PY_QUERIES_MEASURE_H
#define SMK_PY_QUERIES_MEASURE_H

#include "py/api.h"

extern PyMethodDef smk_measure_methods[];

#endif
