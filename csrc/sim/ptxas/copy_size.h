/* Which copies of cp.async have a source size of which ptxas does not know that it is 0 or all of the copy's bytes.
 * Those become LDGSTS with .ZFILL; a size chosen by selp from 0 and all bytes becomes a predicate of LDGSTS, and a
 * constant size leaves no trace. */
#ifndef SMK_SIM_PTXAS_COPY_SIZE_H
#define SMK_SIM_PTXAS_COPY_SIZE_H

#include "sim/ptxas/fusion.h"

/* Sets `zfill` of the function's copies in its plan. Errors: MEMORY. */
smk_status smk_copy_size_plan(const smk_function *function, smk_fusion_access *plan, smk_error *error);

#endif
