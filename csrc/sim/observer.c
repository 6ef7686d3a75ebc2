#include "observer.h"

#include "block.h"
#include "lowering.h"
#include "program.h"

enum { LANES = 32 };

static const smk_observer *observer_of(const smk_warp *warp)
{
    return warp->control->block->run->observer;
}

static const smk_operation *run_instruction(smk_warp *warp, const smk_operation *op)
{
    const smk_observer *observer = observer_of(warp);
    const smk_instruction *instruction = &warp->control->code->function->instructions[op->instruction];
    uint32_t mask = smk_op_mask(warp, op);
    if (observer->instruction != NULL) {
        observer->instruction(observer->context, warp, op, mask);
    }
    if (instruction->opcode == SMK_OPCODE_BRA && instruction->guarded && observer->branch != NULL) {
        observer->branch(observer->context, warp, op, mask, warp->active & ~mask);
    }
    bool barrier = instruction->opcode == SMK_OPCODE_BAR || instruction->opcode == SMK_OPCODE_BARRIER;
    if (barrier && observer->barrier != NULL && mask != 0) {
        observer->barrier(observer->context, warp, op, mask);
    }
    return op + 1;
}

bool smk_observer_emit(smk_lowering *lowering)
{
    return smk_lower_emit(lowering, run_instruction) != NULL;
}

/* Fields: `a` and u.immediate as in the access; d space, b narrow, c bytes, d2 kind. */
static const smk_operation *run_access(smk_warp *warp, const smk_operation *op)
{
    const smk_observer *observer = observer_of(warp);
    uint32_t mask = smk_op_mask(warp, op);
    uint64_t address[LANES];
    if (mask == 0 || observer->access == NULL) {
        return op + 1;
    }
    uint64_t add = op->u.immediate;
    if (op->d == SMK_SPACE_LOCAL && op->slot == SMK_ACCESS_FRAME) {
        add += warp->control->local_base;
    }
    for (unsigned lane = 0; lane < LANES; lane++) {
        address[lane] = op->b != 0 ? (uint32_t)(SMK_ROW(uint32_t, warp, op->a)[lane] + (uint32_t)add)
                                   : SMK_ROW(uint64_t, warp, op->a)[lane] + add;
    }
    observer->access(observer->context, warp, op, (smk_access_kind)op->d2, (smk_space)op->d, address, op->c, mask);
    return op + 1;
}

bool smk_observer_emit_access(smk_lowering *lowering, smk_access_kind kind, smk_space space, bool narrow, unsigned bytes)
{
    if (!lowering->image->observed) {
        return true;
    }
    smk_operation *op = smk_lower_emit(lowering, run_access);
    if (op == NULL) {
        return false;
    }
    smk_operation access = op[-1];
    op[-1] = access;
    op[-1].run = run_access;
    op[-1].d = (uint32_t)space;
    op[-1].b = narrow;
    op[-1].c = bytes;
    op[-1].d2 = (uint32_t)kind;
    *op = access;
    return true;
}

smk_status smk_observer_run(smk_program *program, uint32_t entry, const smk_launch *launch,
                            const smk_run_options *options, const smk_observer *observer, smk_run_result *result,
                            smk_error *error)
{
    smk_image *image = NULL;
    smk_status status = smk_image_create(program, entry, true, &image, error);
    if (status == SMK_OK) {
        status = smk_grid_launch(program, image, launch, options, observer, result, error);
    }
    smk_image_free(image);
    return status;
}
