/* Plans of conv2d: what each variant needs beside its row, and how large a filter it takes. */
#include "plan.h"

/* h, w, p, q: the image's rows and columns, the filter's. */
enum { DIMENSION_P = 2, DIMENSION_Q = 3 };

/* image, weights, out. */
enum { OPERAND_WEIGHTS = 1 };

/* Bytes of conv2d_constant_weights, of each element type: a module has 64 KB of constants. */
enum { CONSTANT_BYTES = 32768 };

/* PIECE and the 16 bytes of conv2d/register: its tiles are given for float32, and other types take as many bytes. */
enum { PIECE_MAX = 16, VECTOR_BYTES = 16, TILED_ITEM_BYTES = 4 };

/* One launch, for a filter that has weights. */
smk_status smk_plan_conv2d_plain(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const long long p = (long long)request->dimensions[DIMENSION_P];
    const long long q = (long long)request->dimensions[DIMENSION_Q];
    if (p == 0 || q == 0) {
        return smk_status_fail(error, SMK_SHAPE, "conv2d: weights of shape (%lld, %lld) are no filter", p, q);
    }
    return smk_plan_one(request, plan, error);
}

/* The same, and the weights go to constant memory before. */
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

/* Rows (columns) of the pieces that the filter is cut into. */
static int64_t cut_pieces(int64_t size)
{
    const int64_t pieces = size / PIECE_MAX + (size % PIECE_MAX != 0);
    return size / pieces + (size % pieces != 0);
}

static int64_t round_up(int64_t size, int64_t multiple)
{
    return (size + multiple - 1) / multiple * multiple;
}

/* The same, with tiles of as many bytes for each type, and dynamic shared memory for the tile of a piece. */
smk_status smk_plan_conv2d_register(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_variant scaled = *request->variant;
    scaled.tile_x = scaled.tile_x * TILED_ITEM_BYTES / (uint32_t)request->item_bytes;
    scaled.tile_y = scaled.tile_y * TILED_ITEM_BYTES / (uint32_t)request->item_bytes;
    smk_request tiled = *request;
    tiled.variant = &scaled;
    smk_plan made = {.step_count = 0};
    smk_status status = smk_plan_conv2d_plain(&tiled, &made, error);
    if (status != SMK_OK) {
        return status;
    }
    if (made.step_count > 0) {
        const int64_t lanes = VECTOR_BYTES / (int64_t)request->item_bytes;
        const int64_t p = cut_pieces(request->dimensions[DIMENSION_P]);
        const int64_t q = cut_pieces(request->dimensions[DIMENSION_Q]);
        const int64_t pitch = scaled.tile_x + round_up(q - 1, lanes);
        made.step[0].shared_bytes = (size_t)((scaled.tile_y + p - 1) * pitch) * request->item_bytes;
    }
    *plan = made;
    return SMK_OK;
}
