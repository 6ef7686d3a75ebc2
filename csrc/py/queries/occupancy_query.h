/* How many blocks of a kernel a multiprocessor holds, and the block size for most of them. */
#ifndef SMK_PY_QUERIES_OCCUPANCY_QUERY_H
#define SMK_PY_QUERIES_OCCUPANCY_QUERY_H

#include "py/state.h"

/* Creates the named tuple Occupancy, keeps it in the state and adds it to the module. 0, or -1 with an exception. */
int smk_occupancy_query_create(PyObject *module, smk_state *state);

extern PyMethodDef smk_occupancy_query_methods[];

#endif
