/* The number of blocks of a kernel that a multiprocessor holds, and the block size for which it holds the most
 * threads. */
#ifndef SMK_PY_QUERIES_OCCUPANCY_QUERY_H
#define SMK_PY_QUERIES_OCCUPANCY_QUERY_H

#include "py/state.h"

/* Creates the named tuple Occupancy, keeps it in the state and adds it to the module. Returns 0, or -1 with an
 * exception set. */
int smk_occupancy_query_create(PyObject *module, smk_state *state);

extern PyMethodDef smk_occupancy_query_methods[];

#endif
