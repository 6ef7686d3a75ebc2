/* The plan of gemm's kernels that make one tile of c a block, in one launch; and what all plans of gemm share. */
#include "registry/gemm_model.h"

/* The sums of an element are added by several lanes where there are fewer than so many threads a multiprocessor. */
enum { ADD_THREADS_EACH = 2048 };

smk_gemm_strides smk_plan_gemm_strides(const smk_request *request)
{
    const smk_layout a = smk_plan_layout(request, SMK_GEMM_A), b = smk_plan_layout(request, SMK_GEMM_B);
    return (smk_gemm_strides){a.axis[0], a.axis[1], b.axis[0], b.axis[1], a.stack, b.stack};
}

int64_t smk_plan_gemm_elements(const smk_request *request)
{
    return smk_plan_stack(request) * request->dimensions[SMK_GEMM_M] * request->dimensions[SMK_GEMM_N];
}

smk_gemm_parts smk_plan_gemm_cut(const smk_request *request, int64_t blocks, int64_t wanted, int64_t least_k,
                                 int64_t step)
{
    const int64_t *d = request->dimensions, k = d[SMK_GEMM_K];
    int64_t count = blocks > 0 ? wanted / blocks : 1, elements = 0;
    count = count > k / least_k ? k / least_k : count;
    if (count > 1 && (__builtin_mul_overflow(d[SMK_GEMM_M], d[SMK_GEMM_N], &elements) ||
                      __builtin_mul_overflow(elements, smk_plan_stack(request), &elements) ||
                      elements > INT64_MAX / 2 / count / SMK_ITEM_BYTES_MAX)) {
        count = 1;
    }
    smk_gemm_parts parts = {1, k > 0 ? k : 1};
    if (count > 1) {
        parts.part_k = smk_plan_divide_up(smk_plan_divide_up(k, count), step) * step;
        parts.count = smk_plan_divide_up(k, parts.part_k);
    }
    return parts;
}

int64_t smk_plan_gemm_parts_bytes(const smk_request *request, smk_gemm_parts parts)
{
    if (parts.count == 1) {
        return 0;
    }
    const int64_t bytes = parts.count * smk_plan_gemm_elements(request) * (int64_t)request->item_bytes;
    return smk_plan_divide_up(bytes, SMK_GEMM_ALIGNMENT) * SMK_GEMM_ALIGNMENT;
}

void smk_plan_gemm_add_target(smk_step *step, smk_gemm_parts parts, int64_t offset)
{
    if (parts.count == 1) {
        smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_C);
    } else {
        smk_plan_add(step, SMK_SOURCE_WORKSPACE, offset);
    }
}

void smk_plan_gemm_add_operands(smk_step *step, const smk_request *request, smk_gemm_parts parts, int64_t sums)
{
    const int64_t *d = request->dimensions;
    smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_A);
    smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_B);
    smk_plan_gemm_add_target(step, parts, sums);
    for (int i = SMK_GEMM_M; i <= SMK_GEMM_N; i++) {
        smk_plan_add(step, SMK_SOURCE_NUMBER, d[i]);
    }
    smk_plan_gemm_add_strides(step, request);
}

void smk_plan_gemm_add_strides(smk_step *step, const smk_request *request)
{
    const smk_gemm_strides s = smk_plan_gemm_strides(request);
    const int64_t strides[] = {s.a_row, s.a_col, s.b_row, s.b_col};
    for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
        smk_plan_add(step, SMK_SOURCE_NUMBER, strides[i]);
    }
}

smk_status smk_plan_gemm_add_stack(smk_step *step, const smk_request *request, smk_error *error)
{
    const smk_gemm_strides s = smk_plan_gemm_strides(request);
    smk_plan_add(step, SMK_SOURCE_NUMBER, smk_plan_stack(request));
    smk_plan_add(step, SMK_SOURCE_NUMBER, s.a_stack);
    smk_plan_add(step, SMK_SOURCE_NUMBER, s.b_stack);
    return smk_plan_stack_grid(request, step, error);
}

void smk_plan_gemm_add_sums(smk_plan *plan, const smk_request *request, smk_gemm_parts parts, int64_t sums,
                            uint32_t threads)
{
    if (parts.count == 1) {
        return;
    }
    const int64_t elements = smk_plan_gemm_elements(request);
    const int64_t most = (int64_t)request->machine->multiprocessors * ADD_THREADS_EACH;
    int64_t lanes = 1;
    while (lanes < SMK_WARP_SIZE && lanes < parts.count && elements * lanes * 2 <= most) {
        lanes *= 2;
    }
    smk_step *step = &plan->step[plan->step_count++];
    step->part = "add";
    plan->adds_parts = true;
    step->grid = (smk_dim3){(uint32_t)smk_plan_divide_up(elements * lanes, threads), 1, 1};
    step->block = (smk_dim3){threads, 1, 1};
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, sums);
    smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_C);
    smk_plan_add(step, SMK_SOURCE_NUMBER, elements);
    smk_plan_add(step, SMK_SOURCE_NUMBER, parts.count);
    smk_plan_add(step, SMK_SOURCE_NUMBER, lanes);
}

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
    made.tile_rows = request->variant->tile_y;
    made.tile_columns = request->variant->tile_x;
    made.parts = 1;
    if (made.step_count > 0 && request->variant->speed > 0) {
        const smk_dim3 grid = made.step[0].grid;
        smk_request item = *request; /* a launch makes one product */
        item.stack = 1;
        made.time_us = smk_gemm_model_rate(&item, (int64_t)grid.x * grid.y * grid.z,
                                           measure_fill(request->dimensions[SMK_GEMM_M], request->variant->tile_y) *
                                               measure_fill(request->dimensions[SMK_GEMM_N], request->variant->tile_x));
    }
    *plan = made;
    return SMK_OK;
}
