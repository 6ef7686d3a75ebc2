/* Lowers mma and movmatrix. */
#include "sim/exec/mma.h"
#include "sim/lower/lowering.h"

/* Operands of a sparse product; behind them, or behind the sums, those of scales: the scales of a, a list that says
 * where they stand, and those of b. */
enum { METADATA = 4, SELECTOR = 5, SELECTOR_MASK = 3 };

static bool lower_transposition(smk_lowering *lowering)
{
    const smk_operand *operand = lowering->instruction->operands;
    const uint32_t d = smk_lower_row(lowering, &operand[0], 32, NULL),
                   a = smk_lower_row(lowering, &operand[1], 32, NULL);
    smk_operation *op = smk_lower_emit(lowering, smk_mma_transpose);
    if (op != NULL) {
        op->d = d;
        op->a = a;
    }
    return op != NULL && lowering->status == SMK_OK;
}

bool smk_lower_mma(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    if (instruction->opcode == SMK_OPCODE_MOVMATRIX) {
        return lower_transposition(lowering);
    }
    smk_handler run = smk_mma_find(instruction);
    smk_detail *detail = smk_arena_allocate(lowering->arena, 1, sizeof *detail);
    uint32_t *rows = smk_arena_allocate(lowering->arena, SMK_MMA_REGISTERS_MAX, sizeof *rows);
    if (run == NULL) {
        return smk_lower_fail(lowering, SMK_UNSUPPORTED, "mma in this form is not supported");
    }
    if (detail == NULL || rows == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
    }
    unsigned bits = instruction->type == SMK_TYPE_F64 ? 64 : 32, count = 0;
    const bool sparse =
        smk_module_has(instruction, SMK_MODIFIER_SP) || smk_module_has(instruction, SMK_MODIFIER_SP_ORDERED);
    uint32_t selector = 0;
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        const smk_operand *list = &instruction->operands[i];
        if (sparse && i == SELECTOR) {
            selector = (uint32_t)list->bits & SELECTOR_MASK;
        } else if (list->kind != SMK_OPERAND_LIST) {
            rows[count++] = smk_lower_row(lowering, list, 32, NULL);
        }
        for (uint32_t j = 0; list->kind == SMK_OPERAND_LIST && j < list->count; j++) {
            const bool selects = i > METADATA && list->count == 2;
            rows[count++] = smk_lower_row(lowering, &list->element[j], selects ? 16 : bits, NULL);
        }
    }
    smk_operation *op = smk_lower_emit(lowering, run);
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    detail->rows = rows;
    op->count = smk_mma_flags(instruction) | selector << SMK_MMA_SELECTOR_SHIFT;
    op->u.detail = detail;
    return true;
}
