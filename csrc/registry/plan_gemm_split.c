/* Plans of gemm that cut k into parts: partial sums of all parts, and a launch that adds them in order. */
#include "registry/plan_gemm.h"

/* As in gemm/split_k.cu. */
enum { SPLIT_STEP_K = 8, SPLIT_PART_LEAST = 64, SPLIT_BLOCKS_EACH = 2, ADD_THREADS = 256 };

/* (a, b, sums, m, k, n, part_k), then for several parts: add (sums, c, elements, parts). */
smk_status smk_plan_gemm_split_k(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const int64_t *d = request->dimensions;
    smk_plan tiles = {.step_count = 0}, made = {.step_count = 0};
    smk_status status = smk_plan_gemm_tiles(request, &tiles, error);
    if (status != SMK_OK || tiles.step_count == 0) {
        *plan = status == SMK_OK ? tiles : *plan;
        return status;
    }
    const smk_dim3 grid = tiles.step[0].grid;
    const int64_t blocks = (int64_t)grid.x * grid.y * grid.z;
    smk_gemm_parts parts =
        smk_plan_gemm_cut(request, blocks, (int64_t)request->machine->multiprocessors * SPLIT_BLOCKS_EACH,
                          SPLIT_PART_LEAST, SPLIT_STEP_K);
    const int64_t adding = smk_plan_divide_up(d[SMK_GEMM_M] * d[SMK_GEMM_N], ADD_THREADS);
    smk_step *step = &made.step[made.step_count++];
    step->grid = (smk_dim3){(uint32_t)(grid.x * parts.count), grid.y, grid.z};
    step->block = tiles.step[0].block;
    smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_A);
    smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_B);
    smk_plan_gemm_add_target(step, parts, 0);
    for (int i = SMK_GEMM_M; i <= SMK_GEMM_N; i++) {
        smk_plan_add(step, SMK_SOURCE_NUMBER, d[i]);
    }
    smk_plan_add(step, SMK_SOURCE_NUMBER, parts.part_k);
    if (parts.count > 1) {
        step = &made.step[made.step_count++];
        step->part = "add";
        made.adds_parts = true;
        step->grid = (smk_dim3){(uint32_t)adding, 1, 1};
        step->block = tiles.step[0].block;
        smk_plan_add(step, SMK_SOURCE_WORKSPACE, 0);
        smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_C);
        smk_plan_add(step, SMK_SOURCE_NUMBER, d[SMK_GEMM_M] * d[SMK_GEMM_N]);
        smk_plan_add(step, SMK_SOURCE_NUMBER, parts.count);
    }
    made.tile_rows = tiles.tile_rows;
    made.tile_columns = tiles.tile_columns;
    made.parts = parts.count;
    made.workspace_bytes = (uint64_t)smk_plan_gemm_parts_bytes(request, parts);
    *plan = made;
    return SMK_OK;
}
