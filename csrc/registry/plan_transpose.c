/* Plan of transpose: tiles whose rows are long enough in bytes. */
#include "plan.h"

smk_status smk_plan_transpose_squares(const smk_request *request, smk_plan *plan, smk_error *error);

/* One launch. A tile of single bytes has twice the row's side, here as in the kernel: a row of it is then as long as all
 * the banks of shared memory together. */
smk_status smk_plan_transpose_squares(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const uint32_t times = request->item_bytes == 1 ? 2 : 1;
    smk_variant row = *request->variant;
    smk_request changed = *request;
    row.tile_x *= times;
    row.tile_y *= times;
    changed.variant = &row;
    return smk_plan_one(&changed, plan, error);
}
