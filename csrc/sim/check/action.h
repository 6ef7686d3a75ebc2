/* What to do about a finding: the texts of finding.def. */
#ifndef SMK_SIM_CHECK_ACTION_H
#define SMK_SIM_CHECK_ACTION_H

#include "sim/check/finding.h"

/* The launch of which findings are. */
typedef struct smk_action_launch {
    const smk_instruction_ids *ids;
    const smk_image *image;
    const smk_launch *launch;
} smk_action_launch;

/* Writes finding->action. The finding has its kind and its sides. */
void smk_action_write(const smk_action_launch *of, smk_finding *finding);

/* Lets the action of a warp hazard refer to that of a race, where the race is of the same lines and its barrier cures
 * both. */
void smk_action_fold(const smk_action_launch *of, const smk_finding *race, smk_finding *hazard);

#endif
