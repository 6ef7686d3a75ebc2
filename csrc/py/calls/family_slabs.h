/* A call on the host's arrays as slabs (registry/slabs.def), each computed while others are copied. */
#ifndef SMK_PY_CALLS_FAMILY_SLABS_H
#define SMK_PY_CALLS_FAMILY_SLABS_H

#include "py/calls/execute.h"
#include "py/calls/family_call.h"

typedef struct smk_family_slabs smk_family_slabs;

/* Gives an execution of the whole call its slabs, where the call gains by them: *slabs stays NULL where not. The
 * arrays must outlive the execution, and *slabs be freed after it. Returns 0, or -1 with an exception set. */
int smk_family_slabs_create(smk_family_call *call, PyArrayObject *const *inputs, PyArrayObject *target,
                            smk_execution *execution, smk_family_slabs **slabs);
void smk_family_slabs_free(smk_family_slabs *slabs); /* accepts NULL */

/* Cuts calls into slabs of so many bytes, on either machine; 0: as is best. For tests. */
void smk_family_slabs_force(uint64_t bytes);

#endif
