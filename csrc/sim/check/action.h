/* What to do about a finding: the texts of finding.def. */
#ifndef SMK_SIM_CHECK_ACTION_H
#define SMK_SIM_CHECK_ACTION_H

#include "sim/check/finding.h"

/* Writes finding->action. The finding has its kind and its sides. */
void smk_action_write(const smk_instruction_ids *ids, smk_finding *finding);

#endif
