/* Lowers cp.async.bulk: copies, reductions, their groups, and prefetches, which have no effect. */
#include "ptx/bulk_form.h"
#include "sim/exec/bulk.h"
#include "sim/exec/control.h"
#include "sim/lower/lowering.h"

enum { TARGET, SOURCE, SIZE, BARRIER };

/* The row of addresses of the mbarrier, without an offset. */
static bool lower_barrier(smk_lowering *lowering, uint32_t *row)
{
    uint64_t add = 0;
    if (!smk_lower_address(lowering, &lowering->instruction->operands[BARRIER], SMK_SPACE_SHARED, row, &add)) {
        return false;
    }
    smk_operation *op = smk_lower_emit_always(lowering, smk_control_convert_address);
    if (op != NULL) {
        op->a = *row;
        op->u.immediate = add;
        *row = smk_lower_scratch(lowering, 64);
        lowering->operation[lowering->count - 1].d = *row;
    }
    return op != NULL;
}

/* The row of the mask of bytes, or of blocks of the cluster: the last operand but for a cache policy. */
static void lower_mask(smk_lowering *lowering, smk_detail *detail)
{
    const smk_instruction *instruction = lowering->instruction;
    const bool bytes = smk_module_has(instruction, SMK_MODIFIER_CP_MASK),
               blocks = smk_module_has(instruction, SMK_MODIFIER_MULTICAST);
    if (bytes || blocks) {
        const unsigned at = blocks ? BARRIER + 1 : instruction->operand_count - 1U;
        detail->row = smk_lower_row(lowering, &instruction->operands[at], 16, NULL);
        detail->source_bits = 16;
    }
}

static bool lower_copy(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    const smk_space target = smk_bulk_form_target(instruction), source = smk_bulk_form_source(instruction);
    const bool multicast = smk_module_has(instruction, SMK_MODIFIER_MULTICAST);
    smk_detail *detail = smk_arena_allocate(lowering->arena, 1, sizeof *detail);
    uint32_t to = 0, from = 0, barrier = 0;
    uint64_t add = 0, second_add = 0;
    if (detail == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
    }
    if (!smk_lower_address(lowering, &instruction->operands[TARGET], target, &to, &add) ||
        !smk_lower_address(lowering, &instruction->operands[SOURCE], source, &from, &second_add) ||
        (target == SMK_SPACE_SHARED && !lower_barrier(lowering, &barrier))) {
        return false;
    }
    const uint32_t size = smk_lower_row(lowering, &instruction->operands[SIZE], 32, NULL);
    lower_mask(lowering, detail);
    detail->offset = (int64_t)add;
    detail->second_offset = (int64_t)second_add;
    smk_operation *op = smk_lower_emit(lowering, smk_bulk_issue);
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    op->a = to;
    op->b = from;
    op->c = size;
    op->d = barrier;
    op->slot = (target == SMK_SPACE_GLOBAL ? SMK_BULK_TO_GLOBAL : 0U) |
               (source == SMK_SPACE_GLOBAL ? SMK_BULK_FROM_GLOBAL : 0U) | (multicast ? SMK_BULK_MULTICAST : 0U);
    op->element = instruction->type;
    op->count = (uint32_t)smk_module_atomic(instruction);
    op->u.detail = detail;
    return true;
}

bool smk_lower_bulk(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    if (smk_bulk_form_copies(instruction)) {
        return lower_copy(lowering);
    }
    if (smk_module_has(instruction, SMK_MODIFIER_COMMIT_GROUP)) {
        return smk_lower_emit(lowering, smk_bulk_commit) != NULL;
    }
    if (!smk_module_has(instruction, SMK_MODIFIER_WAIT_GROUP)) {
        return true; /* a prefetch */
    }
    smk_operation *op = smk_lower_emit(lowering, smk_bulk_wait);
    if (op != NULL) {
        const uint32_t groups = (uint32_t)instruction->operands[0].bits; /* ptxas takes any constant, and cuts it so */
        op->u.immediate = groups < SMK_LOWER_GROUPS_MAX ? groups : SMK_LOWER_GROUPS_MAX;
        op->count = smk_module_has(instruction, SMK_MODIFIER_READ);
    }
    return op != NULL;
}
