/* A plan for kernels whose blocks read long stretches of a vector. */
#ifndef SMK_REGISTRY_PLAN_PERSISTENT_H
#define SMK_REGISTRY_PLAN_PERSISTENT_H

#include "registry/plan.h"

/* One launch with all parameters of the family: a block for each `block_bytes` bytes of the first input, a vector, and
 * at least one; but where `turns` is not 0 no more than so many for each multiprocessor, which then take turns. The
 * row's tile_x is not read. Errors: as smk_plan_single. */
smk_status smk_plan_persistent(const smk_request *request, int64_t block_bytes, uint32_t blocks_per_multiprocessor,
                               smk_plan *plan, smk_error *error);

#endif
