/* Plans of dot: kernels that add to a result of 0. */
#include "registry/plan_persistent.h"

/* shuffle: 512 threads with four reads of 16 bytes each, of either input. */
enum { TILE_BYTES = 512 * 4 * 16 };

static smk_status add_to_zero(smk_status status, const smk_plan *made, smk_plan *plan)
{
    if (status == SMK_OK) {
        *plan = *made;
        plan->clears_outputs = true;
    }
    return status;
}

/* A tile of the row's size for each block. */
smk_status smk_plan_dot_added(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_plan made = {.step_count = 0};
    return add_to_zero(smk_plan_single(request, &made, error), &made, plan);
}

/* A tile of that many bytes for each block, for any type. */
smk_status smk_plan_dot_wide(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_plan made = {.step_count = 0};
    return add_to_zero(smk_plan_persistent(request, TILE_BYTES, 0, &made, error), &made, plan);
}
