/* Plans of conv2d: what each variant needs beyond its row, and the largest filter that it accepts. */
#include "registry/plan.h"

/* h, w, p, q: the image's rows and columns, the filter's. */
enum { DIMENSION_P = 2, DIMENSION_Q = 3 };

/* image, weights, out. */
enum { OPERAND_WEIGHTS = 1 };

/* Bytes of conv2d_constant_weights, of each element type: a module has 64 KB of constants. */
enum { CONSTANT_BYTES = 32768 };

/* conv2d/register: its blocks are as wide as the row says for float32, and other types take as many bytes. So many on a
 * multiprocessor keep it busy. Rows of a block: those of the strips of all its warps. */
enum { TILED_ITEM_BYTES = 4, BLOCKS_A_MULTIPROCESSOR = 2, BLOCK_ROWS_MIN = 64, BLOCK_ROWS_MAX = 2048 };

/* Its warps, which share the rows of all blocks of a column evenly; rows are read in pairs. */
enum { REGISTER_WARPS = 4, PAIR = 2 };

/* conv2d/window: rows and columns of the filters that it is made for, and its speed with others, in parts of that. */
enum { WINDOW_SIDE = 3 };
#define LARGE_EFFICIENCY 0.02

/* One launch, for a filter that has weights. */
smk_status smk_plan_conv2d_plain(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const long long p = (long long)request->dimensions[DIMENSION_P];
    const long long q = (long long)request->dimensions[DIMENSION_Q];
    if (p == 0 || q == 0) {
        return smk_status_fail(error, SMK_SHAPE, "conv2d: weights of shape (%lld, %lld) are not a filter", p, q);
    }
    return smk_plan_single(request, plan, error);
}

/* The same, after a copy of the weights to constant memory. */
smk_status smk_plan_conv2d_constant(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const int64_t p = request->dimensions[DIMENSION_P];
    const int64_t q = request->dimensions[DIMENSION_Q];
    const int64_t most = CONSTANT_BYTES / (int64_t)request->item_bytes;
    if (p > 0 && q > most / p) {
        return smk_status_fail(error, SMK_SHAPE,
                               "conv2d variant 'constant': constant memory has room for %lld weights of %s, not for "
                               "%lld x %lld; variant 'register' takes any number",
                               (long long)most, request->type, (long long)p, (long long)q);
    }
    smk_plan made = {.step_count = 0};
    smk_status status = smk_plan_conv2d_plain(request, &made, error);
    if (status != SMK_OK) {
        return status;
    }
    if (made.step_count > 0) {
        made.symbol = "weights";
        made.symbol_operand = OPERAND_WEIGHTS;
    }
    *plan = made;
    return SMK_OK;
}

/* The same, with dynamic shared memory for the tile and a halo of p - 1 rows and q - 1 columns. */
smk_status smk_plan_conv2d_shared(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_plan made = {.step_count = 0};
    smk_status status = smk_plan_conv2d_plain(request, &made, error);
    if (status != SMK_OK) {
        return status;
    }
    if (made.step_count > 0) {
        const int64_t p = request->dimensions[DIMENSION_P];
        const int64_t q = request->dimensions[DIMENSION_Q];
        const int64_t tile_x = request->variant->tile_x;
        const int64_t tile_y = request->variant->tile_y;
        const int64_t most = (int64_t)(request->machine->shared_bytes_max / request->item_bytes);
        /* sizes first, so that the product of rows and columns cannot overflow */
        if (p > most || q > most || tile_y + p - 1 > most / (tile_x + q - 1)) {
            return smk_status_fail(error, SMK_SHARED_MEMORY,
                                   "conv2d variant 'shared': the tile of %lld x %lld %s weights has (%lld + %lld) x "
                                   "(%lld + %lld) elements, more than the %zu bytes of shared memory a block has here; "
                                   "variant 'register' takes any filter",
                                   (long long)p, (long long)q, request->type, (long long)tile_y, (long long)p - 1,
                                   (long long)tile_x, (long long)q - 1, request->machine->shared_bytes_max);
        }
        made.step[0].shared_bytes = (size_t)((tile_y + p - 1) * (tile_x + q - 1)) * request->item_bytes;
    }
    *plan = made;
    return SMK_OK;
}

/* The next higher number of blocks down a column with which the strip of a warp has an even number of rows. The sum of a
 * pixel adds the rows of a pair in an order of its own, so each pixel has the same bits where every strip begins with an
 * even row, however high the image and the strips are. */
static uint32_t find_even(int64_t h, uint32_t blocks)
{
    for (int64_t y = blocks; y <= h && y < UINT16_MAX; y++) {
        const int64_t strips = y * REGISTER_WARPS;
        if (((h + strips - 1) / strips) % PAIR == 0) {
            return (uint32_t)y;
        }
    }
    return blocks;
}

/* Appends what tells the items of a stack apart, which are the grid's z then. Without a stack, and where the grid has no
 * room for one, z has more rows. */
static void add_items(const smk_request *request, smk_plan *plan)
{
    smk_step *step = &plan->step[0];
    const int64_t stack = smk_plan_stack(request);
    const bool takes = stack > 1 && stack <= UINT16_MAX && step->grid.z == 1;
    step->grid.z = takes ? (uint32_t)stack : step->grid.z;
    plan->takes_stack = takes;
    smk_plan_add(step, SMK_SOURCE_NUMBER, takes ? stack : 1);
    smk_plan_add(step, SMK_SOURCE_NUMBER, smk_plan_layout(request, 0).stack);
    smk_plan_add(step, SMK_SOURCE_NUMBER, smk_plan_layout(request, OPERAND_WEIGHTS).stack);
}

/* The same, with blocks as wide for each type in bytes, and as high as still gives every multiprocessor all the blocks
 * that it wants: each strip begins with p - 1 rows that make no pixels, so it should be high. */
smk_status smk_plan_conv2d_register(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const int64_t columns = (int64_t)request->variant->tile_x * TILED_ITEM_BYTES / (int64_t)request->item_bytes;
    const int64_t h = request->dimensions[0], w = request->dimensions[1];
    const int64_t across = smk_plan_divide_up(w, columns) * smk_plan_stack(request);
    const int64_t wanted = (int64_t)request->machine->multiprocessors * BLOCKS_A_MULTIPROCESSOR;
    const int64_t down = across > 0 && across < wanted ? wanted / across : 1;
    const int64_t rows = h / down + (h % down != 0);
    const int64_t high = rows < BLOCK_ROWS_MIN ? BLOCK_ROWS_MIN : rows > BLOCK_ROWS_MAX ? BLOCK_ROWS_MAX : rows;

    smk_variant scaled = *request->variant;
    scaled.tile_x = (uint32_t)columns;
    scaled.tile_y = (uint32_t)high;
    smk_request tiled = *request;
    tiled.variant = &scaled;
    smk_plan made = {.step_count = 0};
    smk_status status = smk_plan_conv2d_plain(&tiled, &made, error);
    if (status != SMK_OK) {
        return status;
    }
    if (made.step_count > 0 && made.step[0].grid.z == 1) {
        made.step[0].grid.y = find_even(h, made.step[0].grid.y);
    }
    if (made.step_count > 0) {
        add_items(request, &made);
    }
    *plan = made;
    return SMK_OK;
}

/* The same, with blocks as wide for each type in bytes. Filters beyond 3 x 3 go weight by weight, as those of
 * conv2d/naive. */
smk_status smk_plan_conv2d_window(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_variant scaled = *request->variant;
    scaled.tile_x = request->variant->tile_x * TILED_ITEM_BYTES / (uint32_t)request->item_bytes;
    smk_request tiled = *request;
    tiled.variant = &scaled;
    smk_plan made = {.step_count = 0};
    smk_status status = smk_plan_conv2d_plain(&tiled, &made, error);
    if (status != SMK_OK) {
        return status;
    }
    if (made.step_count > 0) {
        add_items(request, &made);
    }
    if (request->dimensions[DIMENSION_P] > WINDOW_SIDE || request->dimensions[DIMENSION_Q] > WINDOW_SIDE) {
        made.efficiency = LARGE_EFFICIENCY;
    }
    *plan = made;
    return SMK_OK;
}
