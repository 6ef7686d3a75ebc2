#include "sim/lower/lower.h"

#include "base/heap.h"
#include "base/poll.h"
#include "ptx/opcode.h"
#include "sim/exec/alu.h"
#include "sim/exec/control.h"
#include "sim/exec/convert_random.h"
#include "sim/lower/cover_points.h"
#include "sim/lower/instrument.h"
#include "sim/lower/lowering.h"
#include "sim/lower/timed_wait.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { OPERATION_ALIGNMENT = 64, LOCAL_ALIGNMENT = 16, LOCAL_ALIGNMENT_MIN = 4 };
#define LOCAL_BYTES_MAX (UINT64_C(512) << 10)
#define OPERATIONS_MAX (UINT32_C(1) << 28)

/* Fills the location of an instruction into an error of smk_status_fail, whose text fields are zero. */
static void locate(const smk_module *module, const smk_instruction *instruction, smk_error *error)
{
    if (error == NULL || instruction == NULL) {
        return;
    }
    error->ptx_line = instruction->line;
    error->ptx_column = instruction->column;
    if (instruction->source_line != 0 && instruction->source_file < module->file_count) {
        smk_text file = module->files[instruction->source_file];
        size_t length = file.length < sizeof error->source_file ? file.length : sizeof error->source_file - 1;
        memcpy(error->source_file, file.start, length);
        error->source_line = instruction->source_line;
    }
}

bool smk_lower_fail(smk_lowering *lowering, smk_status status, const char *format, ...)
{
    if (lowering->status == SMK_OK) {
        char message[512];
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        lowering->status = smk_status_fail(lowering->error, status, "%s", message);
        locate(lowering->module, lowering->instruction, lowering->error);
    }
    return false;
}

smk_operation *smk_lower_emit_always(smk_lowering *lowering, smk_handler run)
{
    if (lowering->count == lowering->capacity) {
        uint32_t capacity = lowering->capacity == 0 ? 256 : 2 * lowering->capacity;
        smk_operation *grown = NULL;
        if (capacity <= OPERATIONS_MAX) {
            grown = smk_heap_resize(lowering->operation, lowering->capacity * sizeof *grown, capacity * sizeof *grown);
        }
        if (grown == NULL) {
            (void)smk_lower_fail(lowering, SMK_MEMORY, "no memory for %u operations", capacity);
            return NULL;
        }
        lowering->operation = grown;
        lowering->capacity = capacity;
    }
    smk_operation *op = &lowering->operation[lowering->count++];
    *op = (smk_operation){.run = run,
                          .guard = smk_lower_ones(lowering),
                          .instruction = lowering->instruction_index,
                          .function = lowering->code->index};
    return op;
}

smk_operation *smk_lower_emit(smk_lowering *lowering, smk_handler run)
{
    smk_operation *op = smk_lower_emit_always(lowering, run);
    if (op != NULL && lowering->instruction->guarded) {
        op->guard = lowering->rows.offset[lowering->instruction->guard];
        op->guard_flip = lowering->instruction->guard_negate ? UINT32_MAX : 0;
    }
    return op;
}

uint32_t smk_lower_ones(smk_lowering *lowering)
{
    return smk_constant_rows_value(lowering->constant_rows, 1, 1);
}

uint32_t smk_lower_flip(const smk_operand *operand)
{
    return operand->negate ? UINT32_MAX : 0;
}

uint32_t smk_lower_scratch(smk_lowering *lowering, unsigned bits)
{
    unsigned class = bits == 1 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
    return smk_constant_rows_scratch(lowering->constant_rows, bits, lowering->scratch[class]++);
}

bool smk_lower_locate_variable(smk_lowering *lowering, smk_variable_ref index, smk_location *location)
{
    const smk_variable *variable = smk_module_variable(lowering->module, lowering->function, index);
    switch ((smk_space)variable->space) {
    case SMK_SPACE_GLOBAL:
    case SMK_SPACE_CONST:
        if (index >= lowering->module->variable_count || lowering->addresses[index] == 0) {
            return smk_lower_fail(lowering, SMK_UNSUPPORTED, "%.*s is declared and not defined in this module",
                                  SMK_TEXT_PRINT(variable->name));
        }
        *location = (smk_location){(smk_space)variable->space, lowering->addresses[index]};
        return true;
    case SMK_SPACE_SHARED: {
        const smk_shared_variable *shared = smk_image_find_shared(lowering->image, variable);
        if (shared != NULL) {
            *location = (smk_location){SMK_SPACE_SHARED, shared->offset};
            return true;
        }
        return smk_lower_fail(lowering, SMK_INTERNAL, "the shared variable %.*s has no address",
                              SMK_TEXT_PRINT(variable->name));
    }
    case SMK_SPACE_GENERIC:
    case SMK_SPACE_LOCAL:
    case SMK_SPACE_PARAM:
        break;
    }
    uint32_t own = index - lowering->module->variable_count;
    if (index < lowering->module->variable_count) {
        return smk_lower_fail(lowering, SMK_UNSUPPORTED, "%.*s lies in no memory that functions can reach",
                              SMK_TEXT_PRINT(variable->name));
    }
    if (lowering->function->is_entry && own < lowering->function->parameter_count) {
        *location = (smk_location){SMK_SPACE_PARAM, lowering->image->parameter_offset[own]};
    } else {
        *location = (smk_location){SMK_SPACE_LOCAL, lowering->local_offset[own]};
    }
    return true;
}

/* The row of a variable's address. */
static uint32_t address_row(smk_lowering *lowering, const smk_operand *operand, unsigned bits)
{
    smk_location location;
    bits = bits == 32 ? 32 : 64;
    if (!smk_lower_locate_variable(lowering, operand->index, &location)) {
        return 0;
    }
    uint64_t address = location.address + (uint64_t)operand->offset;
    if (location.space != SMK_SPACE_LOCAL) {
        return smk_constant_rows_value(lowering->constant_rows, bits, address);
    }
    smk_operation *op = smk_lower_emit_always(lowering, smk_control_local_address);
    if (op == NULL) {
        return 0;
    }
    op->d = smk_lower_scratch(lowering, bits);
    op->count = bits;
    op->u.immediate = address;
    return op->d;
}

static bool is_clock(smk_special special)
{
    switch (special) {
    case SMK_SPECIAL_CLOCK:
    case SMK_SPECIAL_CLOCK_HI:
    case SMK_SPECIAL_CLOCK64:
    case SMK_SPECIAL_GLOBALTIMER:
    case SMK_SPECIAL_GLOBALTIMER_LO:
    case SMK_SPECIAL_GLOBALTIMER_HI:
        return true;
    default: /* registers that keep their value while a warp runs */
        return false;
    }
}

static uint32_t special_row(smk_lowering *lowering, smk_special special)
{
    if (!is_clock(special)) {
        return smk_constant_rows_special(lowering->constant_rows, special);
    }
    smk_operation *op = smk_lower_emit_always(lowering, smk_control_clock);
    if (op == NULL) {
        return 0;
    }
    op->d = smk_lower_scratch(lowering, smk_module_special_bits(special));
    op->element = special;
    op->slot = smk_timed_wait_find(lowering->function, lowering->instruction_index);
    return op->d;
}

uint32_t smk_lower_row(smk_lowering *lowering, const smk_operand *operand, unsigned bits, unsigned *storage)
{
    unsigned typed = operand->type == SMK_TYPE_NONE ? bits : smk_operation_row_bits((smk_type)operand->type);
    unsigned unused;
    storage = storage == NULL ? &unused : storage;
    *storage = typed;
    switch (operand->kind) {
    case SMK_OPERAND_REGISTER:
        *storage = smk_operation_row_bits((smk_type)lowering->function->registers[operand->index].type);
        return lowering->rows.offset[operand->index];
    case SMK_OPERAND_IMMEDIATE:
        return smk_constant_rows_value(lowering->constant_rows, typed, operand->bits);
    case SMK_OPERAND_SPECIAL:
        *storage = smk_module_special_bits((smk_special)operand->index);
        return special_row(lowering, (smk_special)operand->index);
    case SMK_OPERAND_VARIABLE:
        *storage = typed == 32 ? 32 : 64;
        return address_row(lowering, operand, typed);
    case SMK_OPERAND_FUNCTION:
        *storage = typed == 32 ? 32 : 64;
        return smk_constant_rows_value(lowering->constant_rows, *storage,
                                       SMK_WINDOW_FUNCTION + UINT64_C(16) * operand->index);
    case SMK_OPERAND_SINK:
        return smk_lower_scratch(lowering, typed);
    default:
        (void)smk_lower_fail(lowering, SMK_INTERNAL, "an operand that has no row");
        return 0;
    }
}

/* The rows of an arithmetic instruction, flattened in the order of alu.h. */
static bool gather_rows(smk_lowering *lowering, uint32_t rows[5], uint32_t flips[5], unsigned storage[SMK_OPERANDS_MAX])
{
    const smk_instruction *instruction = lowering->instruction;
    unsigned bits = smk_operation_row_bits((smk_type)instruction->type), count = 0;
    bool pair = instruction->operands[0].kind == SMK_OPERAND_LIST && instruction->operands[0].pair;
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        const smk_operand *operand = &instruction->operands[i];
        bool list = operand->kind == SMK_OPERAND_LIST;
        uint32_t elements = list ? operand->count : 1;
        for (uint32_t j = 0; j < elements; j++) {
            const smk_operand *element = list ? &operand->element[j] : operand;
            unsigned width;
            unsigned part = list && !pair ? bits / operand->count : bits;
            unsigned index = pair && i == 0 && j == 1 ? 4 : count++;
            if (index >= 5 || (pair && index == 4 && i != 0)) {
                return smk_lower_fail(lowering, SMK_UNSUPPORTED, "%s with so many operands is not supported",
                                      smk_module_opcode_name((smk_opcode)instruction->opcode));
            }
            part = part == 8 ? 16 : part;
            rows[index] = smk_lower_row(lowering, element, pair && i == 0 ? 1 : part, &width);
            flips[index] = smk_lower_flip(element);
            storage[i] = j == 0 ? width : storage[i];
        }
    }
    return lowering->status == SMK_OK;
}

/* cvt.rs has more operands than an operation has rows. */
static bool lower_random_conversion(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    smk_detail *detail = smk_arena_allocate(lowering->arena, 1, sizeof *detail);
    uint32_t *rows = smk_arena_allocate(lowering->arena, SMK_CONVERT_RANDOM_ROWS, sizeof *rows), count = 0;
    if (detail == NULL || rows == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
    }
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        const smk_operand *operand = &instruction->operands[i];
        const bool list = operand->kind == SMK_OPERAND_LIST;
        for (uint32_t j = 0; j < (list ? operand->count : 1); j++) {
            rows[count++] = smk_lower_row(lowering, list ? &operand->element[j] : operand, 32, NULL);
        }
    }
    smk_operation *op = smk_lower_emit(lowering, smk_convert_random);
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    detail->rows = rows;
    op->count = smk_convert_random_word(instruction);
    op->u.detail = detail;
    return true;
}

static bool lower_arithmetic(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    uint32_t rows[5] = {0}, flips[5] = {0};
    unsigned storage[SMK_OPERANDS_MAX] = {0};
    if (smk_module_has(instruction, SMK_MODIFIER_RS)) {
        return lower_random_conversion(lowering);
    }
    if (!gather_rows(lowering, rows, flips, storage)) {
        return false;
    }
    smk_handler run = smk_alu_find(instruction, storage);
    if (run == NULL) {
        return smk_lower_fail(lowering, SMK_UNSUPPORTED, "%s in this form is not supported",
                              smk_module_opcode_name((smk_opcode)instruction->opcode));
    }
    smk_operation *op = smk_lower_emit(lowering, run);
    if (op == NULL) {
        return false;
    }
    op->d = rows[0];
    op->a = rows[1];
    op->b = rows[2];
    op->c = rows[3];
    op->d2 = rows[4];
    op->flip_a = flips[1];
    op->flip_b = flips[2];
    op->flip_c = flips[3];
    op->u.immediate = smk_alu_word(instruction, storage);
    return true;
}

/* A cache policy is 0: nothing depends on its bits. */
static bool lower_policy(smk_lowering *lowering)
{
    smk_operation *op = smk_lower_emit(lowering, smk_control_clear);
    if (op != NULL) {
        op->d = smk_lower_row(lowering, &lowering->instruction->operands[0], 64, NULL);
    }
    return op != NULL && lowering->status == SMK_OK;
}

static bool lower_instruction(smk_lowering *lowering)
{
    switch (smk_opcode_class(lowering->instruction)) {
    case SMK_CLASS_ALU:
        return lower_arithmetic(lowering);
    case SMK_CLASS_ADDRESS:
    case SMK_CLASS_LOAD:
    case SMK_CLASS_STORE:
    case SMK_CLASS_ATOMIC:
    case SMK_CLASS_COPY:
        return smk_lower_memory(lowering);
    case SMK_CLASS_MATRIX:
        return smk_opcode_moves_matrices(lowering->instruction) ? smk_lower_memory(lowering) : smk_lower_mma(lowering);
    case SMK_CLASS_TEXTURE:
        return smk_lower_texture(lowering);
    case SMK_CLASS_BARRIER:
    case SMK_CLASS_BRANCH:
    case SMK_CLASS_CALL:
    case SMK_CLASS_END:
    case SMK_CLASS_PAUSE:
        return smk_lower_control(lowering);
    case SMK_CLASS_EXCHANGE:
        return smk_lower_exchange(lowering);
    case SMK_CLASS_FENCE: /* the simulator accesses memory in order and ignores hints: a step without effect */
        return true;
    case SMK_CLASS_HINT:
        return lowering->instruction->result_count == 0 || lower_policy(lowering);
    }
    return smk_lower_fail(lowering, SMK_INTERNAL, "an instruction of no class");
}

/* Lays out the local memory of a frame: local arrays, and .param variables of calls. */
static bool lay_out_local(smk_lowering *lowering)
{
    const smk_function *function = lowering->function;
    uint64_t next = 0;
    lowering->local_offset =
        smk_arena_allocate(lowering->arena, (size_t)function->variable_count + 1, sizeof *lowering->local_offset);
    if (lowering->local_offset == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lay out variables");
    }
    for (uint32_t i = 0; i < function->variable_count; i++) {
        const smk_variable *variable = &function->variables[i];
        bool inside = variable->space == SMK_SPACE_LOCAL || variable->space == SMK_SPACE_PARAM;
        if (!inside || (function->is_entry && i < function->parameter_count)) {
            continue;
        }
        uint64_t alignment = variable->alignment > LOCAL_ALIGNMENT_MIN ? variable->alignment : LOCAL_ALIGNMENT_MIN;
        next = (next + alignment - 1) / alignment * alignment;
        lowering->local_offset[i] = (uint32_t)next;
        if (variable->bytes > LOCAL_BYTES_MAX || next + variable->bytes > LOCAL_BYTES_MAX) {
            return smk_lower_fail(lowering, SMK_UNSUPPORTED, "%.*s needs more than %llu bytes of local memory a thread",
                                  SMK_TEXT_PRINT(function->name), (unsigned long long)LOCAL_BYTES_MAX);
        }
        next += variable->bytes;
    }
    lowering->code->local_bytes = (uint32_t)((next + LOCAL_ALIGNMENT - 1) / LOCAL_ALIGNMENT * LOCAL_ALIGNMENT);
    return true;
}

/* Lays out results and parameters in the function's own frame. */
static bool lay_out_formals(smk_lowering *lowering)
{
    const smk_function *function = lowering->function;
    uint32_t count = function->result_count + function->parameter_count;
    smk_cell *cells = smk_arena_allocate(lowering->arena, (size_t)count + 1, sizeof *cells);
    if (cells == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lay out parameters");
    }
    for (uint32_t i = 0; i < count && !function->is_entry; i++) {
        const smk_variable *variable = &function->variables[i];
        uint32_t reg = function->parameter_registers == NULL ? SMK_NO_INDEX : function->parameter_registers[i];
        cells[i] = (smk_cell){.offset = lowering->local_offset[i], .bytes = (uint32_t)variable->bytes};
        if (reg != SMK_NO_INDEX) {
            unsigned bits = smk_operation_row_bits((smk_type)function->registers[reg].type);
            cells[i] = (smk_cell){true, false, (uint8_t)bits, lowering->rows.offset[reg], bits < 8 ? 1 : bits / 8};
        }
    }
    lowering->code->result = cells;
    lowering->code->result_count = function->is_entry ? 0 : function->result_count;
    lowering->code->parameter = cells + function->result_count;
    lowering->code->parameter_count = function->is_entry ? 0 : function->parameter_count;
    return true;
}

/* Marks the blocks that start with a reconvergence operation: the post-dominators of branches that can diverge. */
static void find_reconvergence(smk_lowering *lowering)
{
    for (uint32_t block = 0; block < lowering->cfg.graph.count; block++) {
        const smk_instruction *last = &lowering->function->instructions[lowering->cfg.first[block + 1] - 1];
        bool splits = smk_opcode_class(last) == SMK_CLASS_BRANCH && (last->guarded || last->opcode == SMK_OPCODE_BRX);
        if (splits && lowering->cfg.postdominator[block] != SMK_NO_INDEX) {
            lowering->reconverges[lowering->cfg.postdominator[block]] = 1;
        }
    }
}

static bool lower_body(smk_lowering *lowering)
{
    const smk_function *function = lowering->function;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        uint32_t block = lowering->cfg.block_of[i];
        if (smk_poll_stop()) {
            return smk_lower_fail(lowering, SMK_INTERRUPTED, "interrupted while a kernel was made ready");
        }
        lowering->instruction = &function->instructions[i];
        lowering->instruction_index = i;
        if (lowering->cfg.first[block] == i) {
            lowering->block_operation[block] = lowering->count;
            if (lowering->reconverges[block] && smk_lower_emit_always(lowering, smk_control_reconverge) == NULL) {
                return false;
            }
        }
        /* lanes may exit in a call, so a new run begins behind it */
        bool begins =
            lowering->cfg.first[block] == i || smk_opcode_class(&function->instructions[i - 1]) == SMK_CLASS_CALL;
        memset(lowering->scratch, 0, sizeof lowering->scratch);
        if (!smk_cover_points_emit(lowering) || (begins && !smk_instrument_emit_run(lowering)) ||
            !smk_instrument_emit(lowering)) {
            return false;
        }
        if (!lower_instruction(lowering)) {
            return false;
        }
    }
    lowering->instruction = NULL;
    lowering->instruction_index = function->instruction_count;
    lowering->block_operation[lowering->cfg.graph.count] = lowering->count;
    return smk_lower_emit_always(lowering, smk_control_end) != NULL;
}

/* The rows that each call clears: registers that may be read before they are written, and the tops of stacks. */
static bool keep_cleared(smk_lowering *lowering)
{
    const uint32_t count = lowering->rows.cleared_count;
    smk_row_range *cleared = lowering->rows.cleared;
    lowering->code->cleared_count = count;
    if (smk_constant_rows_has_stack(lowering->constant_rows)) {
        cleared = smk_arena_allocate(lowering->arena, (size_t)count + 1, sizeof *cleared);
        if (cleared == NULL) {
            return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
        }
        memcpy(cleared, lowering->rows.cleared, count * sizeof *cleared);
        cleared[lowering->code->cleared_count++] = (smk_row_range){smk_constant_rows_stack(lowering->constant_rows),
                                                                   SMK_WARP_SIZE * (uint32_t)sizeof(uint32_t)};
    }
    lowering->code->cleared = cleared;
    return true;
}

/* Moves the finished operations to the image's arena. */
static bool keep_operations(smk_lowering *lowering)
{
    unsigned char *room = smk_arena_allocate(lowering->arena, (size_t)lowering->count + 1, sizeof *lowering->operation);
    if (room != NULL && !keep_cleared(lowering)) {
        return false;
    }
    if (room == NULL || !smk_constant_rows_finish(lowering->constant_rows, lowering->arena, lowering->code)) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory for %u operations", lowering->count);
    }
    size_t odd = (uintptr_t)room % OPERATION_ALIGNMENT;
    lowering->code->operation = (smk_operation *)(void *)(room + (odd == 0 ? 0 : OPERATION_ALIGNMENT - odd));
    memcpy(lowering->code->operation, lowering->operation, lowering->count * sizeof *lowering->operation);
    lowering->code->operation_count = lowering->count;
    return smk_lower_link(lowering);
}

static bool prepare(smk_lowering *lowering)
{
    smk_status status = smk_cfg_build(lowering->function, lowering->arena, &lowering->cfg, lowering->error);
    if (status == SMK_OK) {
        status = smk_register_layout_assign(lowering->function, &lowering->cfg, lowering->arena, &lowering->rows,
                                            lowering->error);
    }
    if (status != SMK_OK) {
        lowering->status = status;
        return false;
    }
    lowering->constant_rows = smk_constant_rows_create(lowering->rows.bytes);
    lowering->reconverges = smk_arena_allocate(lowering->arena, (size_t)lowering->cfg.graph.count + 1, 1);
    lowering->block_operation =
        smk_arena_allocate(lowering->arena, (size_t)lowering->cfg.graph.count + 1, sizeof *lowering->block_operation);
    if (lowering->constant_rows == NULL || lowering->reconverges == NULL || lowering->block_operation == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
    }
    find_reconvergence(lowering);
    smk_cover_points_prepare(lowering);
    return lay_out_local(lowering) && lay_out_formals(lowering);
}

smk_status smk_lower_function(smk_image *image, const uint64_t *addresses, uint32_t function, smk_arena *arena,
                              smk_error *error)
{
    smk_lowering lowering = {.image = image,
                             .module = image->module,
                             .function = &image->module->functions[function],
                             .addresses = addresses,
                             .code = smk_image_code(image, function),
                             .arena = arena,
                             .error = error};
    bool done = prepare(&lowering) && lower_body(&lowering) && keep_operations(&lowering);
    smk_heap_free(lowering.operation);
    smk_constant_rows_free(lowering.constant_rows);
    return done ? SMK_OK : lowering.status;
}
