#include "sim/lower/cover_points.h"

#include "sim/code/coverage.h"
#include "sim/exec/cover_count.h"

void smk_cover_points_prepare(smk_lowering *lowering)
{
    if (lowering->code->covered != NULL) {
        lowering->code->first_counter = lowering->image->counter_count;
        lowering->image->counter_count += lowering->code->covered->counter_count;
    }
}

static bool emit(smk_lowering *lowering, const smk_coverage_point *point)
{
    const smk_instruction *instruction = lowering->instruction;
    const bool table = point->kind == SMK_COVERAGE_TABLE;
    const uint32_t row = table ? smk_lower_row(lowering, &instruction->operands[0], 32, NULL) : 0;
    smk_operation *op = point->kind == SMK_COVERAGE_RUN
                            ? smk_lower_emit_always(lowering, smk_cover_count_run)
                            : smk_lower_emit(lowering, table ? smk_cover_count_table : smk_cover_count_decision);
    if (op == NULL) {
        return false;
    }
    op->d = lowering->code->first_counter + point->counter;
    op->b = row;
    op->c = point->target_count;
    return true;
}

/* A branch to the end of a kernel ends its lanes itself (smk_cfg_exits), so it also counts the runs on the way. */
static bool emit_exits(smk_lowering *lowering)
{
    const smk_function *function = lowering->function;
    const smk_coverage_function *covered = lowering->code->covered;
    const smk_instruction *at = lowering->instruction;
    while (at->opcode == SMK_OPCODE_BRA) {
        const uint32_t target = function->labels[at->operands[0].index].target;
        if (!smk_cfg_exits(function, target) || target >= function->instruction_count) {
            return true;
        }
        uint32_t point = 0;
        while (covered->point[point].instruction != target) {
            point++; /* labels begin runs */
        }
        smk_operation *op = smk_lower_emit(lowering, smk_cover_count_exit);
        if (op == NULL) {
            return false;
        }
        op->d = lowering->code->first_counter + covered->point[point].counter;
        at = &function->instructions[target];
    }
    return true;
}

bool smk_cover_points_emit(smk_lowering *lowering)
{
    const smk_coverage_function *covered = lowering->code->covered;
    while (covered != NULL && lowering->next_point < covered->point_count &&
           covered->point[lowering->next_point].instruction == lowering->instruction_index) {
        if (!emit(lowering, &covered->point[lowering->next_point++])) {
            return false;
        }
    }
    return covered == NULL || emit_exits(lowering);
}
