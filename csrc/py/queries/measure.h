/* For smemkit.bench, under names with a leading underscore: CUDA events, and copies of a known size between device
 * arrays. */
#ifndef SMK_PY_QUERIES_MEASURE_H
#define SMK_PY_QUERIES_MEASURE_H

#include "py/api.h"

extern PyMethodDef smk_measure_methods[];

#endif
