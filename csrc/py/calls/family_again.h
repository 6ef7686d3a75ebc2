/* Calls of a family that a thread makes again, with other arrays of the same types and shapes on one GPU: what the first
 * call found is kept, and the later ones launch at once. */
#ifndef SMK_PY_CALLS_FAMILY_AGAIN_H
#define SMK_PY_CALLS_FAMILY_AGAIN_H

#include "py/calls/family_call.h"

/* Makes a call whose like is kept. Returns 1 with a new reference in *result, 0 where the call must go its whole way, -1
 * with an exception set. */
int smk_family_again_run(const smk_state *state, const char *name, PyObject *const *arguments, Py_ssize_t given,
                         PyObject *keywords, PyObject **result);

/* Keeps a call that was made with these arguments and gave this result, if it is of a kind that may be made again so. */
void smk_family_again_keep(const smk_family_call *call, PyObject *const *arguments, Py_ssize_t given,
                           PyObject *keywords, PyObject *result);

/* Forgets the calls of all threads: their kernels are about to be unloaded. */
void smk_family_again_forget(void);

#endif
