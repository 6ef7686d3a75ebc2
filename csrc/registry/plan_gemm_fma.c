/* The plan of gemm/fma and gemm/lean: one launch, whose tile and parts of k the model chooses. */
#include "registry/gemm_model.h"

/* (a, b, c, m, k, n, strides, staged k, stack): k is short. */
static smk_status plan_short(const smk_request *request, const smk_gemm_choice *choice, smk_plan *plan,
                             smk_error *error)
{
    const int64_t *d = request->dimensions;
    const smk_gemm_stage stage = smk_gemm_model_stage(request, choice->tile);
    smk_plan made = {.step_count = 1};
    smk_step *step = &made.step[0];
    step->part = choice->tile->part;
    step->grid.x = (uint32_t)(smk_plan_divide_up(d[SMK_GEMM_M], choice->tile->rows) *
                              smk_plan_divide_up(d[SMK_GEMM_N], choice->tile->columns));
    step->block = (smk_dim3){choice->tile->threads, 1, 1};
    step->shared_bytes = stage.shared_bytes;
    smk_plan_gemm_add_operands(step, request, choice->parts, 0);
    smk_plan_add(step, SMK_SOURCE_NUMBER, stage.depth);
    const smk_status status = smk_plan_gemm_add_stack(step, request, error);
    if (status != SMK_OK) {
        return status;
    }
    smk_gemm_model_note(choice, &made);
    made.time_us = choice->time_us;
    *plan = made;
    return SMK_OK;
}

/* (a, b, c, m, k, n, strides, tickets, sums, part_k, parts, stack), or what plan_short says. */
smk_status smk_plan_gemm_fma(const smk_request *request, smk_plan *plan, smk_error *error)
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
    if (choice.tile->kind == SMK_GEMM_SHORT) {
        return plan_short(request, &choice, plan, error);
    }
    const int64_t parts = choice.parts.count, tile_elements = choice.tile->rows * choice.tile->columns;
    const int64_t tiles =
        smk_plan_divide_up(d[SMK_GEMM_M], choice.tile->rows) * smk_plan_divide_up(d[SMK_GEMM_N], choice.tile->columns);
    const int64_t all = tiles * smk_plan_stack(request), tickets = all * (int64_t)sizeof(uint32_t);
    const int64_t sums = smk_plan_divide_up(tickets, SMK_GEMM_ALIGNMENT) * SMK_GEMM_ALIGNMENT;
    smk_step *step = &made.step[made.step_count++];
    step->part = choice.tile->part;
    step->grid = (smk_dim3){(uint32_t)(tiles * parts), 1, 1};
    step->block = (smk_dim3){choice.tile->threads, 1, 1};
    step->shared_bytes = smk_gemm_model_shared(request, choice.tile, choice.parts.part_k);
    step->begins_early = smk_gemm_model_begins_early(request, choice.tile, choice.parts);
    smk_plan_gemm_add_operands(step, request, (smk_gemm_parts){1, 1}, 0);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, 0);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, parts > 1 ? sums : 0);
    smk_plan_add(step, SMK_SOURCE_NUMBER, choice.parts.part_k);
    smk_plan_add(step, SMK_SOURCE_NUMBER, parts);
    status = smk_plan_gemm_add_stack(step, request, error);
    if (status != SMK_OK) {
        return status;
    }
    smk_gemm_model_note(&choice, &made);
    made.adds_parts = made.restores_workspace = parts > 1;
    made.workspace_bytes = parts > 1 ? (uint64_t)(sums + all * parts * tile_elements * (int64_t)sizeof(float)) : 0;
    made.time_us = choice.time_us;
    *plan = made;
    return SMK_OK;
}
