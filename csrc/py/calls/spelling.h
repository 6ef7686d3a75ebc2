/* Words for enumerations of the layers below, as Python sees them. */
#ifndef SMK_PY_CALLS_SPELLING_H
#define SMK_PY_CALLS_SPELLING_H

#include "ptx/module.h"
#include "sim/ptxas/fusion.h"

const char *smk_spelling_space(smk_space space);

const char *smk_spelling_role(smk_fusion_role role);

#endif
