/* The plan of persistent kernels, whose blocks read long parts of a vector. */
#ifndef SMK_REGISTRY_PLAN_PERSISTENT_H
#define SMK_REGISTRY_PLAN_PERSISTENT_H

#include "registry/plan.h"

/* One launch with all parameters of the family: at least one block, one for each `block_bytes` bytes of the first
 * input, a vector, and unless it is 0 at most `blocks_per_multiprocessor` on each multiprocessor, which then process
 * several parts each. The row's tile_x is not used. Errors: as smk_plan_single. */
smk_status smk_plan_persistent(const smk_request *request, int64_t block_bytes, uint32_t blocks_per_multiprocessor,
                               smk_plan *plan, smk_error *error);

#endif
