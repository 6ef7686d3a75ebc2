/* _calculator: the occupancy calculator of the CUDA runtime, against which ours is tested. */
#ifndef SMK_PY_QUERIES_INTERNALS_CALCULATOR_H
#define SMK_PY_QUERIES_INTERNALS_CALCULATOR_H

#include "py/api.h"

extern PyMethodDef smk_internals_calculator_methods[];

#endif
