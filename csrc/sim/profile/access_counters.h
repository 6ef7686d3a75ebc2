/* Which counters the cost of an access belongs to. */
#ifndef SMK_SIM_PROFILE_ACCESS_COUNTERS_H
#define SMK_SIM_PROFILE_ACCESS_COUNTERS_H

#include "sim/profile/access_cost.h"
#include "sim/profile/count.h"

#include <stdint.h>

/* Adds the costs of an access to the counters of counters.def. */
void smk_access_counters_add(uint64_t value[SMK_COUNTER_COUNT], const smk_access_cost_plan *access,
                             const smk_access_cost *totals);

#endif
