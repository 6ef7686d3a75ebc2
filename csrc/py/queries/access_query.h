/* The cost rules of shared and global memory as functions of arrays: bank_access, sectors. */
#ifndef SMK_PY_QUERIES_ACCESS_QUERY_H
#define SMK_PY_QUERIES_ACCESS_QUERY_H

#include "py/state.h"

/* Creates the named tuple BankAccess, keeps it in the state and adds it to the module. Returns 0, or -1 with an
 * exception set. */
int smk_access_query_create(PyObject *module, smk_state *state);

extern PyMethodDef smk_access_query_methods[];

#endif
