/* What variant="auto" weighs for a call of a family. */
#ifndef SMK_PY_CALLS_FAMILY_CHOICE_H
#define SMK_PY_CALLS_FAMILY_CHOICE_H

#include "py/calls/family_call.h"

/* A dict of the call and of all variants that accept its element type, in the order of the table, each with its plan, or
 * with what its plan says instead. A new reference, or NULL with an exception set. */
PyObject *smk_family_choice_describe(smk_family_call *call);

#endif
