/* Lowers branches, calls, barriers and warp exchanges. */
#include "ptx/feature.h"
#include "ptx/opcode.h"
#include "sim/exec/barrier.h"
#include "sim/exec/control.h"
#include "sim/exec/kernel_heap.h"
#include "sim/exec/printf.h"
#include "sim/exec/warp_exchange.h"
#include "sim/lower/lowering.h"

static uint32_t block_at(const smk_lowering *lowering, uint32_t instruction)
{
    return lowering->cfg.block_of[instruction];
}

static const smk_label *label_of(const smk_lowering *lowering, const smk_operand *operand)
{
    return &lowering->function->labels[operand->index];
}

/* Until smk_lower_link, u.immediate holds the block of the target and `a` the block of reconvergence. */
static bool lower_branch(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    uint32_t target = label_of(lowering, &instruction->operands[0])->target;
    if (smk_cfg_exits(lowering->function, target)) {
        return smk_lower_emit(lowering, smk_control_exit) != NULL;
    }
    bool backward = target <= lowering->instruction_index;
    smk_operation *op =
        smk_lower_emit(lowering, instruction->guarded ? smk_control_branch(backward) : smk_control_jump(backward));
    if (op == NULL) {
        return false;
    }
    op->u.immediate = block_at(lowering, target);
    op->a = lowering->cfg.postdominator[block_at(lowering, lowering->instruction_index)];
    return true;
}

static bool lower_branch_table(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    const smk_label *label = label_of(lowering, &instruction->operands[1]);
    smk_detail *detail = smk_arena_allocate(lowering->arena, 1, sizeof *detail);
    const smk_operation **target = smk_arena_allocate(lowering->arena, (size_t)label->table_count + 1, sizeof *target);
    if (detail == NULL || target == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
    }
    detail->target = target;
    detail->target_count = label->table_count;
    uint32_t row = smk_lower_row(lowering, &instruction->operands[0], 32, NULL);
    smk_operation *op = smk_lower_emit(lowering, smk_control_branch_table);
    if (op == NULL) {
        return false;
    }
    op->b = row;
    op->a = lowering->cfg.postdominator[block_at(lowering, lowering->instruction_index)];
    op->u.detail = detail;
    return true;
}

/* The cell of an argument or of a result in the caller's frame. */
static bool make_cell(smk_lowering *lowering, const smk_operand *operand, smk_cell *cell)
{
    smk_location location;
    unsigned bits = 0;
    *cell = (smk_cell){0};
    if (operand->kind == SMK_OPERAND_SINK) {
        cell->discarded = true;
        return true;
    }
    if (operand->kind == SMK_OPERAND_VARIABLE) {
        if (!smk_lower_locate_variable(lowering, operand->index, &location)) {
            return false;
        }
        if (location.space != SMK_SPACE_LOCAL) {
            return smk_lower_fail(lowering, SMK_UNSUPPORTED, "a call passes a variable that is not its own .param");
        }
        cell->offset = (uint32_t)location.address;
        cell->bytes = (uint32_t)smk_module_variable(lowering->module, lowering->function, operand->index)->bytes;
        return true;
    }
    cell->in_row = true;
    cell->offset = smk_lower_row(lowering, operand, 32, &bits);
    cell->row_bits = (uint8_t)bits;
    cell->bytes = bits < 8 ? 1 : bits / 8;
    return lowering->status == SMK_OK;
}

static smk_cell *make_cells(smk_lowering *lowering, const smk_operand *list)
{
    smk_cell *cells = smk_arena_allocate(lowering->arena, (size_t)list->count + 1, sizeof *cells);
    if (cells == NULL) {
        (void)smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
        return NULL;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (!make_cell(lowering, &list->element[i], &cells[i])) {
            return NULL;
        }
    }
    return cells;
}

/* The handler of a function that the module does not define, but the simulator does (printf.h). */
static smk_handler find_builtin(smk_lowering *lowering, const smk_function *callee, const smk_detail *detail)
{
    uint32_t arguments = 0;
    smk_handler run = smk_printf_find(callee->name, &arguments);
    if (run == NULL) {
        run = smk_kernel_heap_find(callee->name, &arguments);
        lowering->image->allocates = lowering->image->allocates || run != NULL;
    }
    if (run == NULL) {
        smk_feature refused = smk_feature_of_function(callee->name);
        bool known = refused != SMK_FEATURE_COUNT;
        (void)smk_lower_fail(lowering, SMK_UNSUPPORTED, known ? "'%.*s' is not supported: %s" : "%.*s is called, %s",
                             SMK_TEXT_PRINT(callee->name),
                             known ? smk_feature_reason(refused) : "but it is declared and not defined in this module");
    } else if (arguments != detail->argument_count) {
        (void)smk_lower_fail(lowering, SMK_PTX, "%.*s takes %u arguments, not %u", SMK_TEXT_PRINT(callee->name),
                             arguments, detail->argument_count);
        run = NULL;
    }
    return run;
}

static bool lower_call(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    const smk_operand *callee = &instruction->operands[1];
    smk_detail *detail = smk_arena_allocate(lowering->arena, 1, sizeof *detail);
    if (detail == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
    }
    detail->result_count = instruction->operands[0].count;
    detail->argument_count = instruction->operands[2].count;
    detail->result = make_cells(lowering, &instruction->operands[0]);
    detail->argument = detail->result == NULL ? NULL : make_cells(lowering, &instruction->operands[2]);
    if (detail->argument == NULL) {
        return false;
    }
    smk_handler run = smk_control_call_pointer;
    uint32_t row = 0;
    if (callee->kind == SMK_OPERAND_FUNCTION) {
        const smk_function *function = &lowering->module->functions[callee->index];
        detail->callee = smk_image_code(lowering->image, callee->index);
        run = function->is_defined ? smk_control_call : find_builtin(lowering, function, detail);
        if (run == NULL) {
            return false;
        }
    } else {
        row = lowering->rows.offset[callee->index]; /* the parser has checked that it is a register */
    }
    smk_operation *op = smk_lower_emit(lowering, run);
    if (op == NULL) {
        return false;
    }
    op->b = row;
    op->u.detail = detail;
    if (run == smk_control_call_pointer) {
        lowering->instruction_index++; /* the reconvergence belongs to the next instruction */
        bool done = smk_lower_emit_always(lowering, smk_control_reconverge) != NULL;
        lowering->instruction_index--;
        return done;
    }
    return true;
}

/* barrier.cluster: threads wait until all of them have arrived. An arrival alone changes nothing here, because the wait
 * ends when all threads have come to it, and no thread comes there without arriving first. */
static bool lower_cluster_barrier(smk_lowering *lowering)
{
    if (smk_module_has(lowering->instruction, SMK_MODIFIER_ARRIVE)) {
        return true;
    }
    smk_operation *op = smk_lower_emit(lowering, smk_barrier_find(lowering->instruction));
    if (op == NULL) {
        return false;
    }
    op->element = (uint32_t)SMK_BARRIER_CLUSTER;
    op->u.immediate = 0;
    return true;
}

/* bar.sync a{, b}; bar.arrive a, b; bar.red.op d, a{, b}, p; bar.warp.sync mask */
static bool lower_barrier(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    smk_barrier_kind kind = smk_barrier_kind_of(instruction);
    if (kind == SMK_BARRIER_CLUSTER) {
        return lower_cluster_barrier(lowering);
    }
    unsigned first = kind == SMK_BARRIER_PLAIN ? 0 : 1, count = instruction->operand_count - first;
    unsigned sources = kind == SMK_BARRIER_PLAIN ? count : count - 1;
    const smk_operand *operand = instruction->operands;
    uint32_t a = smk_lower_row(lowering, &operand[first], 32, NULL), b = 0, c = 0, d = 0, flip = 0;
    if (sources > 1) {
        b = smk_lower_row(lowering, &operand[first + 1], 32, NULL);
    }
    if (kind != SMK_BARRIER_PLAIN) {
        c = smk_lower_row(lowering, &operand[first + count - 1], 1, NULL);
        flip = smk_lower_flip(&operand[first + count - 1]);
        d = smk_lower_row(lowering, &operand[0], kind == SMK_BARRIER_POPC ? 32 : 1, NULL);
    }
    smk_operation *op = smk_lower_emit(lowering, smk_barrier_find(instruction));
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    op->a = a;
    op->b = b;
    op->c = c;
    op->d = d;
    op->element = (uint32_t)kind;
    op->slot = flip;
    op->u.immediate = sources > 1;
    return true;
}

bool smk_lower_control(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    smk_class class = smk_opcode_class(instruction);
    if (class == SMK_CLASS_BRANCH) {
        return instruction->opcode == SMK_OPCODE_BRX ? lower_branch_table(lowering) : lower_branch(lowering);
    }
    if (class == SMK_CLASS_CALL) {
        return lower_call(lowering);
    }
    if (class == SMK_CLASS_BARRIER) {
        return lower_barrier(lowering);
    }
    switch (instruction->opcode) {
    case SMK_OPCODE_EXIT:
        return smk_lower_emit(lowering, smk_control_exit) != NULL;
    case SMK_OPCODE_RET:
        return smk_lower_emit(lowering, lowering->function->is_entry ? smk_control_exit : smk_control_return) != NULL;
    case SMK_OPCODE_NANOSLEEP:
        return smk_lower_emit(lowering, smk_control_sleep) != NULL;
    case SMK_OPCODE_TRAP:
    case SMK_OPCODE_BRKPT:
        return smk_lower_emit(lowering, smk_control_trap) != NULL;
    default:
        return smk_lower_fail(lowering, SMK_INTERNAL, "%s has no handler",
                              smk_module_opcode_name((smk_opcode)instruction->opcode));
    }
}

bool smk_lower_exchange(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    const smk_operand *operand = instruction->operands;
    smk_handler run = smk_warp_exchange_find(instruction);
    bool sync = smk_module_has(instruction, SMK_MODIFIER_SYNC), pair = operand[0].kind == SMK_OPERAND_LIST;
    bool vote = instruction->opcode == SMK_OPCODE_VOTE;
    unsigned count = instruction->operand_count, bits = smk_operation_row_bits((smk_type)instruction->type);
    uint32_t rows[3] = {0}, members = 0;
    if (run == NULL) {
        return smk_lower_fail(lowering, SMK_UNSUPPORTED, "%s in this form is not supported",
                              smk_module_opcode_name((smk_opcode)instruction->opcode));
    }
    /* an unused result (_) has 32 bits in all instructions with pairs */
    uint32_t d = smk_lower_row(lowering, pair ? &operand[0].element[0] : &operand[0], 32, NULL);
    uint32_t d2 = pair ? smk_lower_row(lowering, &operand[0].element[1], 1, NULL) : smk_lower_scratch(lowering, 1);
    if (sync) {
        members = smk_lower_row(lowering, &operand[--count], 32, NULL);
    }
    for (unsigned i = 1; i < count && i <= 3; i++) {
        rows[i - 1] = smk_lower_row(lowering, &operand[i], vote ? 1 : i == 1 ? bits : 32, NULL);
    }
    smk_operation *op = smk_lower_emit(lowering, run);
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    op->d = d;
    op->d2 = d2;
    op->a = rows[0];
    op->b = vote ? sync : rows[1];
    op->c = rows[2];
    if (vote) {
        op->flip_a = smk_lower_flip(&operand[1]);
    } else {
        op->count = sync;
    }
    op->u.immediate = members;
    return true;
}

bool smk_lower_link(smk_lowering *lowering)
{
    smk_operation *operations = lowering->code->operation;
    for (uint32_t i = 0; i < lowering->count; i++) {
        smk_operation *op = &operations[i];
        bool table = op->run == smk_control_branch_table;
        bool branch = op->run == smk_control_branch(true) || op->run == smk_control_branch(false) ||
                      op->run == smk_control_jump(true) || op->run == smk_control_jump(false);
        if (!table && !branch) {
            continue;
        }
        op->a = op->a == SMK_NO_INDEX ? SMK_NO_INDEX : lowering->block_operation[op->a];
        if (branch) {
            op->u.target = operations + lowering->block_operation[op->u.immediate];
            continue;
        }
        const smk_label *label = label_of(lowering, &lowering->function->instructions[op->instruction].operands[1]);
        for (uint32_t j = 0; j < label->table_count; j++) {
            uint32_t target = lowering->function->labels[label->table[j]].target;
            op->u.detail->target[j] = operations + lowering->block_operation[block_at(lowering, target)];
        }
    }
    return true;
}
