/* The run of a planned call of a family. */
#ifndef SMK_PY_CALLS_FAMILY_RUN_H
#define SMK_PY_CALLS_FAMILY_RUN_H

#include "py/calls/family_call.h"

/* The result, a new reference, or NULL with an exception set; then no memory of the caller's has been written. */
PyObject *smk_family_run_plan(smk_family_call *call);

#endif
