#include "registry/plan_persistent.h"

smk_status smk_plan_persistent(const smk_request *request, int64_t block_bytes, uint32_t blocks_per_multiprocessor,
                               smk_plan *plan, smk_error *error)
{
    const int64_t most = (int64_t)request->machine->multiprocessors * blocks_per_multiprocessor;
    const int64_t bytes = request->dimensions[0] * (int64_t)request->item_bytes;
    smk_plan made = {.step_count = 0};
    smk_status status = smk_plan_single(request, &made, error);
    if (status != SMK_OK) {
        return status;
    }
    int64_t blocks = smk_plan_divide_up(bytes, block_bytes);
    if (most > 0 && blocks > most) {
        blocks = most;
    }
    if (blocks > INT32_MAX) {
        return smk_status_fail(error, SMK_LAUNCH, "%s variant '%s': %lld blocks, a grid has %lld at most",
                               request->family->name, request->variant->name, (long long)blocks, (long long)INT32_MAX);
    }
    made.step[0].grid.x = blocks > 0 ? (uint32_t)blocks : 1; /* not read where there is no step */
    *plan = made;
    return SMK_OK;
}
