#include "sim/lower/lower.h"

#include "base/heap.h"
#include "base/poll.h"
#include "ptx/opcode.h"
#include "sim/exec/alu.h"
#include "sim/exec/control.h"
#include "sim/lower/instrument.h"
#include "sim/lower/lowering.h"

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

bool smk_lower_fail(smk_lowering *l, smk_status status, const char *format, ...)
{
    if (l->status == SMK_OK) {
        char message[512];
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        l->status = smk_status_fail(l->error, status, "%s", message);
        locate(l->module, l->instruction, l->error);
    }
    return false;
}

smk_operation *smk_lower_emit_always(smk_lowering *l, smk_handler run)
{
    if (l->count == l->capacity) {
        uint32_t capacity = l->capacity == 0 ? 256 : 2 * l->capacity;
        smk_operation *grown = NULL;
        if (capacity <= OPERATIONS_MAX) {
            grown = smk_heap_resize(l->operation, l->capacity * sizeof *grown, capacity * sizeof *grown);
        }
        if (grown == NULL) {
            (void)smk_lower_fail(l, SMK_MEMORY, "no memory for %u operations", capacity);
            return NULL;
        }
        l->operation = grown;
        l->capacity = capacity;
    }
    smk_operation *op = &l->operation[l->count++];
    *op = (smk_operation){
        .run = run, .guard = smk_lower_ones(l), .instruction = l->instruction_index, .function = l->code->index};
    return op;
}

smk_operation *smk_lower_emit(smk_lowering *l, smk_handler run)
{
    smk_operation *op = smk_lower_emit_always(l, run);
    if (op != NULL && l->instruction->guarded) {
        op->guard = l->rows.offset[l->instruction->guard];
        op->guard_flip = l->instruction->guard_negate ? UINT32_MAX : 0;
    }
    return op;
}

uint32_t smk_lower_ones(smk_lowering *l)
{
    return smk_constant_rows_value(l->constant_rows, 1, 1);
}

uint32_t smk_lower_flip(const smk_operand *operand)
{
    return operand->negate ? UINT32_MAX : 0;
}

uint32_t smk_lower_scratch(smk_lowering *l, unsigned bits)
{
    unsigned class = bits == 1 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
    return smk_constant_rows_scratch(l->constant_rows, bits, l->scratch[class]++);
}

bool smk_lower_locate_variable(smk_lowering *l, smk_variable_ref index, smk_location *location)
{
    const smk_variable *variable = smk_module_variable(l->module, l->function, index);
    switch ((smk_space)variable->space) {
    case SMK_SPACE_GLOBAL:
    case SMK_SPACE_CONST:
        if (index >= l->module->variable_count || l->addresses[index] == 0) {
            return smk_lower_fail(l, SMK_UNSUPPORTED, "%.*s is declared and not defined in this module",
                                  SMK_TEXT_PRINT(variable->name));
        }
        *location = (smk_location){(smk_space)variable->space, l->addresses[index]};
        return true;
    case SMK_SPACE_SHARED: {
        const smk_shared_variable *shared = smk_image_find_shared(l->image, variable);
        if (shared != NULL) {
            *location = (smk_location){SMK_SPACE_SHARED, shared->offset};
            return true;
        }
        return smk_lower_fail(l, SMK_INTERNAL, "the shared variable %.*s has no address",
                              SMK_TEXT_PRINT(variable->name));
    }
    case SMK_SPACE_GENERIC:
    case SMK_SPACE_LOCAL:
    case SMK_SPACE_PARAM:
        break;
    }
    uint32_t own = index - l->module->variable_count;
    if (index < l->module->variable_count) {
        return smk_lower_fail(l, SMK_UNSUPPORTED, "%.*s lies in no memory that functions can reach",
                              SMK_TEXT_PRINT(variable->name));
    }
    if (l->function->is_entry && own < l->function->parameter_count) {
        *location = (smk_location){SMK_SPACE_PARAM, l->image->parameter_offset[own]};
    } else {
        *location = (smk_location){SMK_SPACE_LOCAL, l->local_offset[own]};
    }
    return true;
}

/* The row of a variable's address. */
static uint32_t address_row(smk_lowering *l, const smk_operand *operand, unsigned bits)
{
    smk_location location;
    bits = bits == 32 ? 32 : 64;
    if (!smk_lower_locate_variable(l, operand->index, &location)) {
        return 0;
    }
    uint64_t address = location.address + (uint64_t)operand->offset;
    if (location.space != SMK_SPACE_LOCAL) {
        return smk_constant_rows_value(l->constant_rows, bits, address);
    }
    smk_operation *op = smk_lower_emit_always(l, smk_control_local_address);
    if (op == NULL) {
        return 0;
    }
    op->d = smk_lower_scratch(l, bits);
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

static uint32_t special_row(smk_lowering *l, smk_special special)
{
    if (!is_clock(special)) {
        return smk_constant_rows_special(l->constant_rows, special);
    }
    smk_operation *op = smk_lower_emit_always(l, smk_control_clock);
    if (op == NULL) {
        return 0;
    }
    op->d = smk_lower_scratch(l, smk_module_special_bits(special));
    op->element = special;
    return op->d;
}

uint32_t smk_lower_row(smk_lowering *l, const smk_operand *operand, unsigned bits, unsigned *storage)
{
    unsigned typed = operand->type == SMK_TYPE_NONE ? bits : smk_operation_row_bits((smk_type)operand->type);
    unsigned unused;
    storage = storage == NULL ? &unused : storage;
    *storage = typed;
    switch (operand->kind) {
    case SMK_OPERAND_REGISTER:
        *storage = smk_operation_row_bits((smk_type)l->function->registers[operand->index].type);
        return l->rows.offset[operand->index];
    case SMK_OPERAND_IMMEDIATE:
        return smk_constant_rows_value(l->constant_rows, typed, operand->bits);
    case SMK_OPERAND_SPECIAL:
        *storage = smk_module_special_bits((smk_special)operand->index);
        return special_row(l, (smk_special)operand->index);
    case SMK_OPERAND_VARIABLE:
        *storage = typed == 32 ? 32 : 64;
        return address_row(l, operand, typed);
    case SMK_OPERAND_FUNCTION:
        *storage = typed == 32 ? 32 : 64;
        return smk_constant_rows_value(l->constant_rows, *storage, SMK_WINDOW_FUNCTION + UINT64_C(16) * operand->index);
    case SMK_OPERAND_SINK:
        return smk_lower_scratch(l, typed);
    default:
        (void)smk_lower_fail(l, SMK_INTERNAL, "an operand that has no row");
        return 0;
    }
}

/* The rows of an arithmetic instruction, flattened in the order of alu.h. */
static bool gather_rows(smk_lowering *l, uint32_t rows[5], uint32_t flips[5], unsigned storage[SMK_OPERANDS_MAX])
{
    const smk_instruction *instruction = l->instruction;
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
                return smk_lower_fail(l, SMK_UNSUPPORTED, "%s with so many operands is not supported",
                                      smk_module_opcode_name((smk_opcode)instruction->opcode));
            }
            part = part == 8 ? 16 : part;
            rows[index] = smk_lower_row(l, element, pair && i == 0 ? 1 : part, &width);
            flips[index] = smk_lower_flip(element);
            storage[i] = j == 0 ? width : storage[i];
        }
    }
    return l->status == SMK_OK;
}

static bool lower_arithmetic(smk_lowering *l)
{
    const smk_instruction *instruction = l->instruction;
    uint32_t rows[5] = {0}, flips[5] = {0};
    unsigned storage[SMK_OPERANDS_MAX] = {0};
    if (!gather_rows(l, rows, flips, storage)) {
        return false;
    }
    smk_handler run = smk_alu_find(instruction, storage);
    if (run == NULL) {
        return smk_lower_fail(l, SMK_UNSUPPORTED, "%s in this form is not supported",
                              smk_module_opcode_name((smk_opcode)instruction->opcode));
    }
    smk_operation *op = smk_lower_emit(l, run);
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

static bool lower_instruction(smk_lowering *l)
{
    switch (smk_opcode_class(l->instruction)) {
    case SMK_CLASS_ALU:
        return lower_arithmetic(l);
    case SMK_CLASS_ADDRESS:
    case SMK_CLASS_LOAD:
    case SMK_CLASS_STORE:
    case SMK_CLASS_ATOMIC:
    case SMK_CLASS_COPY:
        return smk_lower_memory(l);
    case SMK_CLASS_MATRIX:
        return l->instruction->opcode == SMK_OPCODE_LDMATRIX ? smk_lower_memory(l) : smk_lower_mma(l);
    case SMK_CLASS_BARRIER:
    case SMK_CLASS_BRANCH:
    case SMK_CLASS_CALL:
    case SMK_CLASS_END:
    case SMK_CLASS_PAUSE:
        return smk_lower_control(l);
    case SMK_CLASS_EXCHANGE:
        return smk_lower_exchange(l);
    case SMK_CLASS_FENCE: /* the simulator accesses memory in order and ignores hints: a step without effect */
    case SMK_CLASS_HINT:
        return true;
    }
    return smk_lower_fail(l, SMK_INTERNAL, "an instruction of no class");
}

/* Lays out the local memory of a frame: local arrays, and .param variables of calls. */
static bool lay_out_local(smk_lowering *l)
{
    const smk_function *function = l->function;
    uint64_t next = 0;
    l->local_offset = smk_arena_allocate(l->arena, (size_t)function->variable_count + 1, sizeof *l->local_offset);
    if (l->local_offset == NULL) {
        return smk_lower_fail(l, SMK_MEMORY, "no memory to lay out variables");
    }
    for (uint32_t i = 0; i < function->variable_count; i++) {
        const smk_variable *variable = &function->variables[i];
        bool inside = variable->space == SMK_SPACE_LOCAL || variable->space == SMK_SPACE_PARAM;
        if (!inside || (function->is_entry && i < function->parameter_count)) {
            continue;
        }
        uint64_t alignment = variable->alignment > LOCAL_ALIGNMENT_MIN ? variable->alignment : LOCAL_ALIGNMENT_MIN;
        next = (next + alignment - 1) / alignment * alignment;
        l->local_offset[i] = (uint32_t)next;
        if (variable->bytes > LOCAL_BYTES_MAX || next + variable->bytes > LOCAL_BYTES_MAX) {
            return smk_lower_fail(l, SMK_UNSUPPORTED, "%.*s needs more than %llu bytes of local memory a thread",
                                  SMK_TEXT_PRINT(function->name), (unsigned long long)LOCAL_BYTES_MAX);
        }
        next += variable->bytes;
    }
    l->code->local_bytes = (uint32_t)((next + LOCAL_ALIGNMENT - 1) / LOCAL_ALIGNMENT * LOCAL_ALIGNMENT);
    return true;
}

/* Lays out results and parameters in the function's own frame. */
static bool lay_out_formals(smk_lowering *l)
{
    const smk_function *function = l->function;
    uint32_t count = function->result_count + function->parameter_count;
    smk_cell *cells = smk_arena_allocate(l->arena, (size_t)count + 1, sizeof *cells);
    if (cells == NULL) {
        return smk_lower_fail(l, SMK_MEMORY, "no memory to lay out parameters");
    }
    for (uint32_t i = 0; i < count && !function->is_entry; i++) {
        const smk_variable *variable = &function->variables[i];
        uint32_t reg = function->parameter_registers == NULL ? SMK_NO_INDEX : function->parameter_registers[i];
        cells[i] = (smk_cell){.offset = l->local_offset[i], .bytes = (uint32_t)variable->bytes};
        if (reg != SMK_NO_INDEX) {
            unsigned bits = smk_operation_row_bits((smk_type)function->registers[reg].type);
            cells[i] = (smk_cell){true, false, (uint8_t)bits, l->rows.offset[reg], bits < 8 ? 1 : bits / 8};
        }
    }
    l->code->result = cells;
    l->code->result_count = function->is_entry ? 0 : function->result_count;
    l->code->parameter = cells + function->result_count;
    l->code->parameter_count = function->is_entry ? 0 : function->parameter_count;
    return true;
}

/* Marks the blocks that start with a reconvergence operation: the post-dominators of branches that can diverge. */
static void find_reconvergence(smk_lowering *l)
{
    for (uint32_t block = 0; block < l->cfg.graph.count; block++) {
        const smk_instruction *last = &l->function->instructions[l->cfg.first[block + 1] - 1];
        bool splits = smk_opcode_class(last) == SMK_CLASS_BRANCH && (last->guarded || last->opcode == SMK_OPCODE_BRX);
        if (splits && l->cfg.postdominator[block] != SMK_NO_INDEX) {
            l->reconverges[l->cfg.postdominator[block]] = 1;
        }
    }
}

static bool lower_body(smk_lowering *l)
{
    const smk_function *function = l->function;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        uint32_t block = l->cfg.block_of[i];
        if (smk_poll_stop()) {
            return smk_lower_fail(l, SMK_INTERRUPTED, "interrupted while a kernel was made ready");
        }
        l->instruction = &function->instructions[i];
        l->instruction_index = i;
        if (l->cfg.first[block] == i) {
            l->block_operation[block] = l->count;
            if (l->reconverges[block] && smk_lower_emit_always(l, smk_control_reconverge) == NULL) {
                return false;
            }
        }
        /* lanes may exit in a call, so a new run begins behind it */
        bool begins = l->cfg.first[block] == i || smk_opcode_class(&function->instructions[i - 1]) == SMK_CLASS_CALL;
        memset(l->scratch, 0, sizeof l->scratch);
        if ((begins && !smk_instrument_emit_run(l)) || !smk_instrument_emit(l)) {
            return false;
        }
        if (!lower_instruction(l)) {
            return false;
        }
    }
    l->instruction = NULL;
    l->instruction_index = function->instruction_count;
    l->block_operation[l->cfg.graph.count] = l->count;
    return smk_lower_emit_always(l, smk_control_end) != NULL;
}

/* Moves the finished operations to the image's arena. */
static bool keep_operations(smk_lowering *l)
{
    unsigned char *room = smk_arena_allocate(l->arena, (size_t)l->count + 1, sizeof *l->operation);
    if (room == NULL || !smk_constant_rows_finish(l->constant_rows, l->arena, l->code)) {
        return smk_lower_fail(l, SMK_MEMORY, "no memory for %u operations", l->count);
    }
    size_t odd = (uintptr_t)room % OPERATION_ALIGNMENT;
    l->code->operation = (smk_operation *)(void *)(room + (odd == 0 ? 0 : OPERATION_ALIGNMENT - odd));
    memcpy(l->code->operation, l->operation, l->count * sizeof *l->operation);
    l->code->operation_count = l->count;
    l->code->cleared = l->rows.cleared;
    l->code->cleared_count = l->rows.cleared_count;
    return smk_lower_link(l);
}

static bool prepare(smk_lowering *l)
{
    smk_status status = smk_cfg_build(l->function, l->arena, &l->cfg, l->error);
    if (status == SMK_OK) {
        status = smk_register_layout_assign(l->function, &l->cfg, l->arena, &l->rows, l->error);
    }
    if (status != SMK_OK) {
        l->status = status;
        return false;
    }
    l->constant_rows = smk_constant_rows_create(l->rows.bytes);
    l->reconverges = smk_arena_allocate(l->arena, (size_t)l->cfg.graph.count + 1, 1);
    l->block_operation = smk_arena_allocate(l->arena, (size_t)l->cfg.graph.count + 1, sizeof *l->block_operation);
    if (l->constant_rows == NULL || l->reconverges == NULL || l->block_operation == NULL) {
        return smk_lower_fail(l, SMK_MEMORY, "no memory to lower a function");
    }
    find_reconvergence(l);
    return lay_out_local(l) && lay_out_formals(l);
}

smk_status smk_lower_function(smk_image *image, const uint64_t *addresses, uint32_t function, smk_arena *arena,
                              smk_error *error)
{
    smk_lowering l = {.image = image,
                      .module = image->module,
                      .function = &image->module->functions[function],
                      .addresses = addresses,
                      .code = smk_image_code(image, function),
                      .arena = arena,
                      .error = error};
    bool done = prepare(&l) && lower_body(&l) && keep_operations(&l);
    smk_heap_free(l.operation);
    smk_constant_rows_free(l.constant_rows);
    return done ? SMK_OK : l.status;
}
