/* Plans of transpose: the copy as one run of bytes, and tiles in an order that suits memory. */
#include "registry/plan.h"

/* The signature's dimensions. */
enum { DIMENSION_M, DIMENSION_N };

enum { VECTOR_BYTES = 16 };

/* One launch of a thread for every 16 bytes. */
smk_status smk_plan_transpose_run(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_plan made = {.step_count = 0};
    smk_status status = smk_plan_single(request, &made, error);
    if (status != SMK_OK) {
        return status;
    }
    const int64_t elements = request->dimensions[DIMENSION_M] * request->dimensions[DIMENSION_N];
    const int64_t each = (int64_t)request->variant->block_x * VECTOR_BYTES / (int64_t)request->item_bytes;
    const int64_t blocks = smk_plan_divide_up(elements, each);
    if (blocks > INT32_MAX) {
        return smk_status_fail(error, SMK_LAUNCH, "transpose variant '%s': %lld elements are more than a grid takes",
                               request->variant->name, (long long)elements);
    }
    made.step[0].grid = (smk_dim3){(uint32_t)blocks, 1, 1};
    *plan = made;
    return SMK_OK;
}

/* Rows that do not begin at multiples of 16 bytes go element by element, at about half the speed. */
static const double scalar_efficiency = 0.47;

/* Elements along an axis over those that its tiles cover. */
static double measure_fill(int64_t size, int64_t tile)
{
    const int64_t tiles = smk_plan_divide_up(size, tile);
    return tiles > 0 ? (double)size / (double)tile / (double)tiles : 1.0;
}

/* One launch whose blocks go down the rows of a first (x), then to the right (y and z): those that run at a time write
 * whole rows of the result. A tile of single bytes has twice the row's side, here as in the kernel: a row of it is then
 * as long as all the banks of shared memory together. That of 16-byte items has half of it. */
smk_status smk_plan_transpose_down(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const uint32_t times = request->item_bytes == 1 ? 2 : 1, part = request->item_bytes == VECTOR_BYTES ? 2 : 1;
    smk_family turned = *request->family;
    smk_variant row = *request->variant;
    smk_request changed = *request;
    turned.grid_x = request->family->grid_y;
    turned.grid_y = request->family->grid_x;
    row.tile_x = request->variant->tile_y * times / part;
    row.tile_y = request->variant->tile_x * times / part;
    changed.family = &turned;
    changed.variant = &row;
    smk_plan made = {.step_count = 0};
    smk_status status = smk_plan_single(&changed, &made, error);
    if (status != SMK_OK) {
        return status;
    }
    const int64_t m = request->dimensions[DIMENSION_M], n = request->dimensions[DIMENSION_N];
    const int64_t lanes = VECTOR_BYTES / (int64_t)request->item_bytes;
    made.efficiency = measure_fill(m, row.tile_x) * measure_fill(n, row.tile_y);
    made.efficiency *= m % lanes == 0 && n % lanes == 0 ? 1.0 : scalar_efficiency;
    *plan = made;
    return SMK_OK;
}
