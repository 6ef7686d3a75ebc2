/* The functions that pickles of RawModule and RawKernel name (py/calls/raw_pickle.h says what such a pickle holds). */
#ifndef SMK_PY_QUERIES_INTERNALS_PICKLE_H
#define SMK_PY_QUERIES_INTERNALS_PICKLE_H

#include "py/state.h"

extern PyMethodDef smk_internals_pickle_methods[];

#endif
