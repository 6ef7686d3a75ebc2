/* Plans of gemm on the tensor cores of float64. dmma: a launch of the tile and the parts of k that the model chooses; and
 * where parts are many or large, one that adds their sums. unstaged: a launch of its tile. */
#include "registry/gemm_model.h"

/* As in gemm/dmma.cu. */
enum { ADD_THREADS = 128, PART_STEP = 16 };

/* How many times as long as an H200 others take for a step, where the model knows no slowdown of theirs: GPUs that are not
 * made for float64 have a small part of its units, for mma too. */
static double slow_down(const smk_request *request)
{
    const int capability = request->machine->capability;
    return request->machine->slowdown != NULL || capability == 80 || capability == 90 || capability == 100 ? 1.0 : 64.0;
}

/* (a, b, c or sums, m, k, n, strides, tickets, sums, part_k, stack), then where the parts are not joined: add. */
smk_status smk_plan_gemm_dmma(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const int64_t *d = request->dimensions;
    smk_plan made = {.step_count = 0};
    if (d[SMK_GEMM_M] == 0 || d[SMK_GEMM_N] == 0) {
        *plan = made;
        return SMK_OK;
    }
    const smk_gemm_choice choice = smk_gemm_model_choose(request, PART_STEP);
    smk_status status = smk_gemm_model_check(request, choice, error);
    if (status != SMK_OK) {
        return status;
    }
    const smk_gemm_tile *tile = choice.tile;
    const int64_t tiles =
        smk_plan_divide_up(d[SMK_GEMM_M], tile->rows) * smk_plan_divide_up(d[SMK_GEMM_N], tile->columns);
    const int64_t all = tiles * smk_plan_stack(request), tickets = all * (int64_t)sizeof(uint32_t);
    const int64_t sums = smk_plan_divide_up(tickets, SMK_GEMM_ALIGNMENT) * SMK_GEMM_ALIGNMENT;
    const smk_gemm_parts added = choice.joins ? (smk_gemm_parts){1, d[SMK_GEMM_K]} : choice.parts;
    smk_step *step = &made.step[made.step_count++];
    step->part = tile->part;
    step->grid = (smk_dim3){(uint32_t)(tiles * choice.parts.count), 1, 1};
    step->block = (smk_dim3){tile->threads, 1, 1};
    step->shared_bytes = tile->shared_bytes;
    step->begins_early = smk_gemm_model_begins_early(request, tile, choice.parts);
    smk_plan_gemm_add_operands(step, request, added, 0);
    smk_plan_add(step, choice.joins ? SMK_SOURCE_WORKSPACE : SMK_SOURCE_NUMBER, 0);
    smk_plan_add(step, choice.joins ? SMK_SOURCE_WORKSPACE : SMK_SOURCE_NUMBER, choice.joins ? sums : 0);
    smk_plan_add(step, SMK_SOURCE_NUMBER, choice.parts.part_k);
    status = smk_plan_gemm_add_stack(step, request, error);
    if (status != SMK_OK) {
        return status;
    }
    smk_gemm_model_note(&choice, &made);
    if (choice.joins) {
        made.adds_parts = made.restores_workspace = true;
        made.workspace_bytes =
            (uint64_t)(sums + all * choice.parts.count * tile->rows * tile->columns * (int64_t)sizeof(double));
    } else {
        smk_plan_gemm_add_sums(&made, request, choice.parts, 0, ADD_THREADS);
        made.step[made.step_count - 1].begins_early |= choice.parts.count > 1;
        made.workspace_bytes = (uint64_t)smk_plan_gemm_parts_bytes(request, choice.parts);
    }
    made.time_us = choice.time_us * slow_down(request);
    *plan = made;
    return SMK_OK;
}

/* (a, b, c, m, k, n, strides, stack). */
smk_status smk_plan_gemm_unstaged(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const int64_t *d = request->dimensions;
    smk_plan made = {.step_count = 0};
    if (d[SMK_GEMM_M] == 0 || d[SMK_GEMM_N] == 0) {
        *plan = made;
        return SMK_OK;
    }
    const smk_gemm_choice choice = smk_gemm_model_choose(request, 0);
    smk_status status = smk_gemm_model_check(request, choice, error);
    if (status != SMK_OK) {
        return status;
    }
    const smk_gemm_tile *tile = choice.tile;
    const int64_t before = smk_gemm_model_is_apart(tile) ? SMK_GEMM_SECTOR - 1 : 0;
    const int64_t down = smk_plan_divide_up(d[SMK_GEMM_M], tile->rows);
    const int64_t across = smk_plan_divide_up(d[SMK_GEMM_N] + before, tile->columns);
    smk_step *step = &made.step[made.step_count++];
    step->part = tile->part;
    step->grid.x = (uint32_t)(down * across);
    step->block = (smk_dim3){tile->threads, 1, 1};
    step->begins_early = smk_gemm_model_begins_early(request, tile, choice.parts);
    smk_plan_gemm_add_operands(step, request, choice.parts, 0);
    status = smk_plan_gemm_add_stack(step, request, error);
    if (status != SMK_OK) {
        return status;
    }
    smk_gemm_model_note(&choice, &made);
    made.time_us = choice.time_us * slow_down(request);
    *plan = made;
    return SMK_OK;
}
