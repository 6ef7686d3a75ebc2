/* The plan of a family's call: variant, types, shapes, launches. */
#ifndef SMK_PY_CALLS_FAMILY_PLAN_H
#define SMK_PY_CALLS_FAMILY_PLAN_H

#include "py/calls/family_call.h"

/* Finds the variant of that name ("auto": any), the types and the dimensions, and checks out. 0, or -1 with an
 * exception. */
int smk_family_plan_select(smk_family_call *call, const char *variant);

/* The call as plans see it; its variant is that of the call. */
smk_request smk_family_plan_request(const smk_family_call *call);

/* Plans the launches of the variant that was named, or of the one that is fastest for the shape on the machine. 0, or
 * -1 with an exception set. */
int smk_family_plan_make(smk_family_call *call, const char *variant);

#endif
