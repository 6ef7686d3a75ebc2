/* Plans of gemm: one launch over the tiles of c; and for the tuned variant both operands are laid out for tensor cores,
 * then multiplied. */
#include "registry/plan.h"

enum { DIMENSION_M, DIMENSION_K, DIMENSION_N };
enum { OPERAND_A, OPERAND_B };

/* As in gemm/tuned.cu: fragments of 16 rows or columns; steps over k; stages of a block's tiles. The row's tile is that
 * of float32; a block makes half as many columns of float64. */
enum { FRAGMENT = 16, STEP_K = 16, STAGES = 3, VECTOR_BYTES = 16, TILED_ITEM_BYTES = 4 };

/* Of a fragment of float32, behind all fragments of its operand: 8 words that say which numbers have no parts, and a
 * byte that says whether there are any. */
enum { MARK_BYTES = 8 * 4 + 1, ALIGNMENT = 256 };

/* The cost of laying out an element, in products of the main loop: 10 or more bytes are moved, in the time of 145
 * products on an H200. */
static const double ARRANGE_PRODUCTS = 145.0;

/* Elements along an axis over those that its tiles cover. */
static double measure_fill(int64_t size, uint32_t tile)
{
    const int64_t tiles = size / tile + (size % tile != 0);
    return tiles > 0 ? (double)size / (double)tile / (double)tiles : 1.0;
}

/* One launch. The parts of tiles past the edges of c are computed from zeros, which takes time and gives no result. */
smk_status smk_plan_gemm_tiles(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_plan made = {.step_count = 0};
    smk_status status = smk_plan_single(request, &made, error);
    if (status != SMK_OK) {
        return status;
    }
    made.efficiency = measure_fill(request->dimensions[DIMENSION_M], request->variant->tile_y) *
                      measure_fill(request->dimensions[DIMENSION_N], request->variant->tile_x);
    *plan = made;
    return SMK_OK;
}

typedef struct fragment_shape {
    int64_t k, bytes, mark_bytes; /* elements along k; bytes of all its parts; of its marks */
} fragment_shape;

static fragment_shape shape_fragment(size_t item_bytes)
{
    return item_bytes == TILED_ITEM_BYTES ? (fragment_shape){16, (int64_t)3 * SMK_WARP_SIZE * VECTOR_BYTES, MARK_BYTES}
                                          /* bfloat16 */
                                          : (fragment_shape){4, (int64_t)SMK_WARP_SIZE * VECTOR_BYTES, 0};
}

/* Bytes of an operand that is laid out; false where they do not fit: a single row is laid out as a whole tile. */
static bool count_bytes(const fragment_shape *fragment, int64_t tiles, int64_t tiles_k, int64_t *bytes)
{
    int64_t fragments = 0, exact = 0;
    if (__builtin_mul_overflow(tiles, tiles_k, &fragments) ||
        __builtin_mul_overflow(fragments, fragment->bytes + fragment->mark_bytes, &exact) ||
        exact > INT64_MAX - ALIGNMENT) {
        return false;
    }
    *bytes = (exact + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return true;
}

/* The launch that lays out an operand of `size` rows (columns) and k: a warp makes a fragment. */
static smk_status add_arrange(const smk_request *request, int64_t operand, int64_t tiles, int64_t tiles_k,
                              int64_t offset, smk_plan *plan, smk_error *error)
{
    const int64_t *d = request->dimensions;
    const bool is_a = operand == OPERAND_A;
    const int64_t warps = request->variant->block_x / SMK_WARP_SIZE;
    const int64_t blocks = (tiles * tiles_k + warps - 1) / warps;
    smk_step *step = &plan->step[plan->step_count];
    if (blocks > INT32_MAX) {
        return smk_status_fail(error, SMK_LAUNCH,
                               "gemm variant 'tuned': %lld blocks to lay out %s, a grid has %lld at most",
                               (long long)blocks, is_a ? "a" : "b", (long long)INT32_MAX);
    }
    step->part = "arrange";
    step->grid = (smk_dim3){(uint32_t)blocks, 1, 1};
    step->block = (smk_dim3){request->variant->block_x, 1, 1};
    smk_plan_add(step, SMK_SOURCE_OPERAND, operand);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, offset);
    smk_plan_add(step, SMK_SOURCE_NUMBER, is_a ? d[DIMENSION_M] : d[DIMENSION_N]);
    smk_plan_add(step, SMK_SOURCE_NUMBER, d[DIMENSION_K]);
    smk_plan_add(step, SMK_SOURCE_NUMBER, is_a ? 0 : 1);
    smk_plan_add(step, SMK_SOURCE_NUMBER, tiles);
    smk_plan_add(step, SMK_SOURCE_NUMBER, tiles_k);
    plan->step_count++;
    return SMK_OK;
}

/* arrange a, arrange b, then (a, b, c, m, k, n, arranged a, arranged b). */
smk_status smk_plan_gemm_tuned(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_variant scaled = *request->variant;
    scaled.tile_x = scaled.tile_x * TILED_ITEM_BYTES / (uint32_t)request->item_bytes;
    smk_request tiled = *request;
    tiled.variant = &scaled;
    smk_plan tiles = {.step_count = 0}, made = {.step_count = 0};
    smk_status status = smk_plan_gemm_tiles(&tiled, &tiles, error);
    if (status != SMK_OK) {
        return status;
    }
    if (tiles.step_count == 0) {
        *plan = tiles;
        return SMK_OK;
    }
    const fragment_shape fragment = shape_fragment(request->item_bytes);
    const int64_t m = request->dimensions[DIMENSION_M], k = request->dimensions[DIMENSION_K];
    const int64_t n = request->dimensions[DIMENSION_N];
    const int64_t fragments_m = scaled.tile_y / FRAGMENT, fragments_n = scaled.tile_x / FRAGMENT; /* of a block */
    const int64_t tiles_a = (m + scaled.tile_y - 1) / scaled.tile_y * fragments_m;
    const int64_t tiles_b = (int64_t)tiles.step[0].grid.x * fragments_n;
    const int64_t tiles_k = (k + STEP_K - 1) / STEP_K * (STEP_K / fragment.k);
    int64_t bytes_a = 0, bytes_b = 0, all_bytes = 0;
    if (!count_bytes(&fragment, tiles_a, tiles_k, &bytes_a) || !count_bytes(&fragment, tiles_b, tiles_k, &bytes_b) ||
        __builtin_add_overflow(bytes_a, bytes_b, &all_bytes)) {
        return smk_status_fail(error, SMK_MEMORY,
                               "gemm variant 'tuned': both operands laid out for k = %lld have more bytes than 64 bits "
                               "count; other variants lay out none",
                               (long long)k);
    }
    if (k > 0) {
        status = add_arrange(request, OPERAND_A, tiles_a, tiles_k, 0, &made, error);
        if (status == SMK_OK) {
            status = add_arrange(request, OPERAND_B, tiles_b, tiles_k, bytes_a, &made, error);
        }
        if (status != SMK_OK) {
            return status;
        }
    }
    smk_step *step = &made.step[made.step_count++];
    *step = tiles.step[0];
    step->shared_bytes = (size_t)(STAGES * (fragments_m + fragments_n) * (STEP_K / fragment.k) * fragment.bytes);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, 0);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, bytes_a);
    made.workspace_bytes = (uint64_t)all_bytes;
    made.efficiency =
        tiles.efficiency * measure_fill(k, STEP_K) / (1.0 + ARRANGE_PRODUCTS * (1.0 / (double)m + 1.0 / (double)n));
    *plan = made;
    return SMK_OK;
}
