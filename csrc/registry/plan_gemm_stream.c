/* The plan of gemm/stream_k: blocks that take equal numbers of steps of all tiles, and a launch that adds the sums of
 * those that go on with a tile. */
#include "registry/gemm_model.h"

/* As in gemm/stream_k.cu; and by what blocks are counted: so many run on a multiprocessor at a time, and each takes so
 * many steps at least. */
enum { STEP_K = 8, TILE = 128, ADD_THREADS = 256, BLOCKS_EACH = 2, STEPS_LEAST = 8 };

/* (a, b, c, sums, m, k, n, steps, steps of a tile, of a block), then where blocks begin inside tiles: add (sums, c, m,
 * n, steps of a tile, of a block). */
smk_status smk_plan_gemm_stream_k(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const int64_t *d = request->dimensions;
    smk_plan tiled = {.step_count = 0}, made = {.step_count = 0};
    smk_status status = smk_plan_gemm_tiles(request, &tiled, error);
    if (status != SMK_OK || tiled.step_count == 0) {
        *plan = status == SMK_OK ? tiled : *plan;
        return status;
    }
    const smk_dim3 grid = tiled.step[0].grid;
    int64_t tiles = 0, steps = 0;
    /* without any k there is a step too, which writes zeros */
    const int64_t tile_steps = d[SMK_GEMM_K] > 0 ? smk_plan_divide_up(d[SMK_GEMM_K], STEP_K) : 1;
    if (__builtin_mul_overflow((int64_t)grid.x * grid.y, grid.z, &tiles) || tiles > INT32_MAX ||
        __builtin_mul_overflow(tiles, tile_steps, &steps)) {
        return smk_gemm_model_check(request, (smk_gemm_choice){.tile = NULL}, error);
    }
    const int64_t room = (int64_t)request->machine->multiprocessors * BLOCKS_EACH, most = room > 0 ? room : tiles;
    const int64_t least = tile_steps < STEPS_LEAST ? tile_steps : STEPS_LEAST, even = smk_plan_divide_up(steps, most);
    const int64_t part_steps = even > least ? even : least, blocks = smk_plan_divide_up(steps, part_steps);
    smk_step *step = &made.step[made.step_count++];
    step->grid = (smk_dim3){(uint32_t)blocks, 1, 1};
    step->block = tiled.step[0].block;
    for (int i = SMK_GEMM_A; i <= SMK_GEMM_C; i++) {
        smk_plan_add(step, SMK_SOURCE_OPERAND, i);
    }
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, 0);
    for (int i = SMK_GEMM_M; i <= SMK_GEMM_N; i++) {
        smk_plan_add(step, SMK_SOURCE_NUMBER, d[i]);
    }
    smk_plan_add(step, SMK_SOURCE_NUMBER, steps);
    smk_plan_add(step, SMK_SOURCE_NUMBER, tile_steps);
    smk_plan_add(step, SMK_SOURCE_NUMBER, part_steps);
    made.parts = 1;
    if (part_steps % tile_steps != 0) {
        step = &made.step[made.step_count++];
        step->part = "add";
        made.adds_parts = true;
        step->grid = (smk_dim3){(uint32_t)tiles, TILE * TILE / ADD_THREADS, 1};
        step->block = tiled.step[0].block;
        smk_plan_add(step, SMK_SOURCE_WORKSPACE, 0);
        smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_C);
        smk_plan_add(step, SMK_SOURCE_NUMBER, d[SMK_GEMM_M]);
        smk_plan_add(step, SMK_SOURCE_NUMBER, d[SMK_GEMM_N]);
        smk_plan_add(step, SMK_SOURCE_NUMBER, tile_steps);
        smk_plan_add(step, SMK_SOURCE_NUMBER, part_steps);
        made.parts = smk_plan_divide_up(tile_steps - 1, part_steps) + 1;
        made.workspace_bytes = (uint64_t)(blocks * TILE * TILE) * request->item_bytes;
    }
    made.tile_rows = tiled.tile_rows;
    made.tile_columns = tiled.tile_columns;
    *plan = made;
    return SMK_OK;
}
