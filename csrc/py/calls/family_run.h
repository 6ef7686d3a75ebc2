/* The run of a planned call of a family. */
#ifndef SMK_PY_CALLS_FAMILY_RUN_H
#define SMK_PY_CALLS_FAMILY_RUN_H

#include "py/calls/family_call.h"

/* The result, a new reference, or NULL with an exception set; then no memory of the caller's has been written. */
PyObject *smk_family_run_plan(smk_family_call *call);

/* The same. Where memory is short and the variant is "auto", a plan with a smaller workspace runs. */
PyObject *smk_family_run(smk_family_call *call, const char *variant);

#endif
