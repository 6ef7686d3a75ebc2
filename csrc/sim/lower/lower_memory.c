/* Lowers loads, stores, atomics, copies, address conversions and the stack. */
#include "ptx/bulk_form.h"
#include "ptx/opcode.h"
#include "sim/exec/access.h"
#include "sim/exec/atomic.h"
#include "sim/exec/control.h"
#include "sim/exec/cp_async.h"
#include "sim/exec/mma.h"
#include "sim/lower/instrument.h"
#include "sim/lower/lowering.h"

enum { MATRIX_ROWS = 8, MATRIX_ROW_BYTES = 16, ALIGNMENT_MAX = 4096, NARROW_BYTES_MAX = 16 };

/* The address of an instruction: a row, and an offset. */
typedef struct address {
    smk_space space;
    uint32_t row;
    bool narrow; /* 32 bits */
    bool frame;  /* relative to the frame of local memory */
    uint64_t add;
} address;

static bool widen(smk_lowering *lowering, address *made)
{
    smk_operation *op = smk_lower_emit_always(lowering, smk_control_widen_address);
    if (op == NULL) {
        return false;
    }
    op->a = made->row;
    op->d = smk_lower_scratch(lowering, 64);
    made->row = op->d;
    made->narrow = false;
    return true;
}

/* An address in a register, in the space that the instruction names. */
static bool resolve_register(smk_lowering *lowering, const smk_operand *operand, address *made)
{
    unsigned bits = smk_operation_row_bits((smk_type)lowering->function->registers[operand->index].type);
    made->row = lowering->rows.offset[operand->index];
    made->narrow = bits == 32;
    made->add = (uint64_t)operand->offset;
    if (bits != 32 && bits != 64) {
        return smk_lower_fail(lowering, SMK_PTX_TYPE, "an address in a register of %u bits", bits);
    }
    if (made->space == SMK_SPACE_PARAM && !lowering->function->is_entry) {
        made->space = SMK_SPACE_LOCAL; /* parameters of a function are in its frame */
    }
    return !made->narrow || made->space == SMK_SPACE_SHARED || widen(lowering, made);
}

static bool resolve(smk_lowering *lowering, const smk_operand *operand, smk_space space, address *made)
{
    smk_location location = {space, 0};
    *made = (address){.space = space};
    if (operand->kind != SMK_OPERAND_ADDRESS) {
        return smk_lower_fail(lowering, SMK_INTERNAL, "an address is missing");
    }
    if (operand->base_kind == SMK_OPERAND_REGISTER) {
        return resolve_register(lowering, operand, made);
    }
    if (operand->base_kind == SMK_OPERAND_VARIABLE) {
        if (!smk_lower_locate_variable(lowering, operand->index, &location)) {
            return false;
        }
        made->space = location.space;
    } else {
        location.address = operand->bits;
    }
    uint64_t value = location.address + (uint64_t)operand->offset;
    made->frame = made->space == SMK_SPACE_LOCAL && operand->base_kind == SMK_OPERAND_VARIABLE;
    if (made->frame) {
        made->row = smk_constant_rows_value(lowering->constant_rows, 64, 0);
        made->add = value;
    } else {
        made->row = smk_constant_rows_value(lowering->constant_rows, 64, value);
    }
    return true;
}

bool smk_lower_address(smk_lowering *lowering, const smk_operand *operand, smk_space space, uint32_t *row,
                       uint64_t *add)
{
    address made;
    if (!resolve(lowering, operand, space, &made) || (made.narrow && !widen(lowering, &made))) {
        return false;
    }
    *row = made.row;
    *add = made.add;
    return true;
}

static uint32_t take_slot(smk_lowering *lowering)
{
    return 1 + lowering->image->slots++ % (SMK_WARP_CACHE_SIZE - 1); /* 0: SMK_WARP_CACHE_CONST */
}

/* The width of the rows of a load or store: that of its registers, or of its type where all are constants. */
static unsigned row_bits_of(const smk_lowering *lowering, const smk_operand *operand)
{
    bool list = operand->kind == SMK_OPERAND_LIST;
    for (uint32_t i = 0; i < (list ? operand->count : 1); i++) {
        const smk_operand *element = list ? &operand->element[i] : operand;
        if (element->kind == SMK_OPERAND_REGISTER) {
            return smk_operation_row_bits((smk_type)lowering->function->registers[element->index].type);
        }
    }
    return smk_operation_row_bits((smk_type)lowering->instruction->type);
}

/* A row for an element; constants in the width of the other rows. */
static uint32_t element_row(smk_lowering *lowering, const smk_operand *operand, unsigned bits)
{
    unsigned storage;
    if (operand->kind == SMK_OPERAND_SINK) {
        return smk_lower_scratch(lowering, bits);
    }
    if (operand->kind == SMK_OPERAND_IMMEDIATE) {
        return smk_constant_rows_value(lowering->constant_rows, bits, operand->bits);
    }
    uint32_t row = smk_lower_row(lowering, operand, bits, &storage);
    if (storage != bits) {
        (void)smk_lower_fail(lowering, SMK_PTX_TYPE, "elements of one access in registers of %u and %u bits", bits,
                             storage);
    }
    return row;
}

static bool lower_access(smk_lowering *lowering, bool store)
{
    const smk_instruction *instruction = lowering->instruction;
    const smk_operand *value = &instruction->operands[store ? 1 : 0];
    uint32_t rows[SMK_ACCESS_ELEMENTS_MAX] = {0}, count = value->kind == SMK_OPERAND_LIST ? value->count : 1;
    unsigned bits = row_bits_of(lowering, value);
    smk_element element = smk_access_element((smk_type)instruction->type, bits);
    address at;
    if (count > SMK_ACCESS_ELEMENTS_MAX) {
        return smk_lower_fail(lowering, SMK_UNSUPPORTED, "vectors of %u elements are not supported", count);
    }
    if (element == SMK_ELEMENT_COUNT) {
        return smk_lower_fail(lowering, SMK_UNSUPPORTED,
                              "an access of type .%s with registers of %u bits is not supported",
                              smk_module_type_name((smk_type)instruction->type), bits);
    }
    smk_space space = instruction->opcode == SMK_OPCODE_LDU && instruction->space == SMK_SPACE_GENERIC
                          ? SMK_SPACE_GLOBAL
                          : (smk_space)instruction->space;
    if (!resolve(lowering, &instruction->operands[store ? 0 : 1], space, &at)) {
        return false;
    }
    if (at.space == SMK_SPACE_GENERIC && smk_access_element_bytes(element) * count > NARROW_BYTES_MAX) {
        at.space = SMK_SPACE_GLOBAL; /* no other memory takes 256 bits */
    }
    if (store && (at.space == SMK_SPACE_PARAM || at.space == SMK_SPACE_CONST)) {
        return smk_lower_fail(lowering, SMK_PTX, "a store to memory that a kernel can only read");
    }
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = element_row(lowering, value->kind == SMK_OPERAND_LIST ? &value->element[i] : value, bits);
    }
    smk_operation *op = smk_lower_emit(lowering, smk_access_find(store, at.space, at.narrow, element, count));
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    op->d = rows[0];
    op->b = rows[1];
    op->c = rows[2];
    op->d2 = rows[3];
    op->a = at.row;
    op->element = element;
    op->count = count;
    op->slot = at.space == SMK_SPACE_LOCAL ? (at.frame ? SMK_ACCESS_FRAME : 0)
               : space == SMK_SPACE_CONST  ? SMK_WARP_CACHE_CONST
                                           : take_slot(lowering);
    op->u.immediate = at.add;
    return smk_instrument_emit_access(lowering, store ? SMK_ACCESS_STORE : SMK_ACCESS_LOAD, at.space, at.narrow,
                                      smk_access_element_bytes(element) * count);
}

/* The address of an atomic operation. */
static bool resolve_atomic(smk_lowering *lowering, address *at)
{
    const smk_instruction *instruction = lowering->instruction;
    if (!resolve(lowering, &instruction->operands[instruction->result_count], (smk_space)instruction->space, at) ||
        (at->narrow && !widen(lowering, at))) {
        return false;
    }
    return at->space == SMK_SPACE_GENERIC || at->space == SMK_SPACE_GLOBAL || at->space == SMK_SPACE_SHARED ||
           smk_lower_fail(lowering, SMK_PTX, "an atomic operation on memory that is neither global nor shared");
}

/* The rows of an operand that is a list; scratch rows where it is the sink. */
static void add_rows(smk_lowering *lowering, const smk_operand *operand, unsigned bits, uint32_t count, uint32_t *rows)
{
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = operand != NULL && operand->kind == SMK_OPERAND_LIST
                      ? element_row(lowering, &operand->element[i], bits)
                      : smk_lower_scratch(lowering, bits);
    }
}

/* An atomic operation on several registers: a second operation holds their rows. */
static bool lower_wide_atomic(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    const bool vector = instruction->vector > 1, swaps = smk_module_atomic(instruction) == SMK_MODIFIER_CAS;
    const unsigned first = instruction->result_count,
                   bits = vector ? smk_module_type_bits((smk_type)instruction->type) : 64;
    const uint32_t count = vector ? instruction->vector : 2;
    const smk_operand *operands = instruction->operands;
    smk_detail *detail = smk_arena_allocate(lowering->arena, 1, sizeof *detail);
    uint32_t *rows = smk_arena_allocate(lowering->arena, 3 * (size_t)count, sizeof *rows);
    address at;
    if (detail == NULL || rows == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
    }
    if (!resolve_atomic(lowering, &at)) {
        return false;
    }
    detail->rows = rows;
    add_rows(lowering, first > 0 ? &operands[0] : NULL, bits, count, rows);
    add_rows(lowering, &operands[first + (swaps ? 2 : 1)], bits, count, rows + count);
    if (!vector) {
        add_rows(lowering, &operands[first + 1], bits, count, rows + 2 * count);
    }
    smk_operation *op = smk_lower_emit(lowering, vector ? smk_atomic_run_vector : smk_atomic_run_wide);
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    op->d = op->b = op->c = rows[0];
    op->a = at.row;
    op->d2 = (uint32_t)at.space;
    op->element = instruction->type;
    op->count = (uint32_t)smk_module_atomic(instruction);
    op->slot = take_slot(lowering);
    op->u.immediate = at.add;
    if (!smk_instrument_emit_access(lowering, SMK_ACCESS_ATOMIC, at.space, false,
                                    smk_module_type_bits((smk_type)instruction->type) / 8 * instruction->vector)) {
        return false;
    }
    smk_operation *held = smk_lower_emit_always(lowering, smk_control_nothing);
    if (held != NULL) {
        held->u.detail = detail;
        held->count = count;
    }
    return held != NULL;
}

static bool lower_atomic(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    bool has_result = instruction->result_count > 0;
    unsigned first = instruction->result_count, bits = smk_operation_row_bits((smk_type)instruction->type);
    address at;
    if (instruction->vector > 1 || instruction->type == SMK_TYPE_B128) {
        return lower_wide_atomic(lowering);
    }
    if (!resolve_atomic(lowering, &at)) {
        return false;
    }
    uint32_t d =
        has_result ? element_row(lowering, &instruction->operands[0], bits) : smk_lower_scratch(lowering, bits);
    uint32_t b = element_row(lowering, &instruction->operands[first + 1], bits), c = b;
    if (smk_module_atomic(instruction) == SMK_MODIFIER_CAS) {
        c = element_row(lowering, &instruction->operands[first + 2], bits);
    }
    smk_operation *op = smk_lower_emit(lowering, smk_atomic_run);
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    op->d = d;
    op->a = at.row;
    op->b = b;
    op->c = c;
    op->d2 = (uint32_t)at.space;
    op->element = instruction->type;
    op->count = (uint32_t)smk_module_atomic(instruction);
    op->slot = take_slot(lowering);
    op->u.immediate = at.add;
    return smk_instrument_emit_access(lowering, SMK_ACCESS_ATOMIC, at.space, false,
                                      smk_module_type_bits((smk_type)instruction->type) / 8);
}

/* The source size or ignore-src predicate of a cp.async. */
static bool lower_source(smk_lowering *lowering, smk_detail *detail)
{
    const smk_instruction *instruction = lowering->instruction;
    if (instruction->operand_count < 4) {
        return true;
    }
    const smk_operand *operand = &instruction->operands[3];
    unsigned storage;
    if (operand->kind == SMK_OPERAND_IMMEDIATE && operand->type != SMK_TYPE_PRED) {
        detail->row = smk_constant_rows_value(lowering->constant_rows, 32, operand->bits);
        detail->source_bits = 32;
        return true;
    }
    detail->row = smk_lower_row(lowering, operand, 32, &storage);
    if (storage == 64) {
        return true; /* a cache policy does not change the data */
    }
    detail->source_bits = (uint8_t)storage;
    detail->flip = smk_lower_flip(operand);
    return storage == 1 || storage == 32 || smk_lower_fail(lowering, SMK_PTX_TYPE, "a source size of %u bits", storage);
}

static bool lower_copy(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    smk_detail *detail = smk_arena_allocate(lowering->arena, 1, sizeof *detail);
    address to, from;
    if (detail == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
    }
    detail->bytes = (uint32_t)instruction->operands[2].bits;
    if (detail->bytes != 4 && detail->bytes != 8 && detail->bytes != 16) {
        return smk_lower_fail(lowering, SMK_PTX, "cp.async copies 4, 8 or 16 bytes, not %u", detail->bytes);
    }
    if (!resolve(lowering, &instruction->operands[0], SMK_SPACE_SHARED, &to) || (to.narrow && !widen(lowering, &to)) ||
        !resolve(lowering, &instruction->operands[1], SMK_SPACE_GLOBAL, &from) || !lower_source(lowering, detail)) {
        return false;
    }
    detail->offset = (int64_t)to.add;
    detail->second_offset = (int64_t)from.add;
    smk_operation *op = smk_lower_emit(lowering, smk_cp_async_copy);
    if (op == NULL) {
        return false;
    }
    op->a = to.row;
    op->b = from.row;
    op->d2 = (uint32_t)from.space;
    op->u.detail = detail;
    return smk_instrument_emit_access(lowering, SMK_ACCESS_COPY, SMK_SPACE_SHARED, false, detail->bytes);
}

static bool lower_async(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    smk_handler run = NULL;
    if (smk_bulk_form_is(instruction)) {
        return smk_lower_bulk(lowering);
    }
    if (smk_module_has(instruction, SMK_MODIFIER_COMMIT_GROUP)) {
        run = smk_cp_async_commit;
    } else if (smk_module_has(instruction, SMK_MODIFIER_WAIT_GROUP)) {
        run = smk_cp_async_wait_group;
    } else if (smk_module_has(instruction, SMK_MODIFIER_WAIT_ALL)) {
        run = smk_cp_async_wait_all;
    } else {
        return lower_copy(lowering);
    }
    smk_operation *op = smk_lower_emit(lowering, run);
    if (op != NULL && run == smk_cp_async_wait_group) {
        const uint32_t groups = (uint32_t)instruction->operands[0].bits; /* ptxas takes any constant, and cuts it so */
        op->u.immediate = groups < SMK_LOWER_GROUPS_MAX ? groups : SMK_LOWER_GROUPS_MAX;
    }
    return op != NULL;
}

/* The start of a space's window of generic addresses; 0 for global memory. */
static bool window_of(smk_lowering *lowering, smk_space space, uint64_t *window)
{
    switch (space) {
    case SMK_SPACE_SHARED:
        *window = SMK_WINDOW_SHARED;
        return true;
    case SMK_SPACE_LOCAL:
        *window = SMK_WINDOW_LOCAL;
        return true;
    case SMK_SPACE_PARAM: /* parameters of a function are in its frame */
        *window = lowering->function->is_entry ? SMK_WINDOW_PARAM : SMK_WINDOW_LOCAL;
        return true;
    case SMK_SPACE_GLOBAL:
    case SMK_SPACE_CONST:
        *window = 0;
        return true;
    default:
        return smk_lower_fail(lowering, SMK_INTERNAL, "an address conversion without a space");
    }
}

/* alloca, stacksave and stackrestore */
static bool lower_stack(smk_lowering *lowering)
{
    enum { ALIGNMENT = 8 };
    const smk_instruction *instruction = lowering->instruction;
    const smk_operand *operands = instruction->operands;
    const unsigned bits = smk_module_type_bits((smk_type)instruction->type);
    const bool takes = instruction->opcode == SMK_OPCODE_ALLOCA, saves = instruction->opcode == SMK_OPCODE_STACKSAVE;
    const uint64_t alignment = takes && instruction->operand_count > 2 ? operands[2].bits : ALIGNMENT;
    const uint32_t a = saves ? 0 : smk_lower_row(lowering, &operands[takes ? 1 : 0], bits, NULL);
    const uint32_t d = takes || saves ? smk_lower_row(lowering, &operands[0], bits, NULL) : 0;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > ALIGNMENT_MAX) {
        return smk_lower_fail(lowering, SMK_PTX, "an alignment of %llu", (unsigned long long)alignment);
    }
    smk_operation *op = smk_lower_emit(lowering, takes   ? smk_control_allocate
                                                 : saves ? smk_control_save_stack
                                                         : smk_control_restore_stack);
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    op->d = d;
    op->a = a;
    op->b = smk_constant_rows_stack(lowering->constant_rows);
    op->count = bits;
    op->u.immediate = alignment;
    return true;
}

static bool lower_conversion(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    bool asks = instruction->opcode == SMK_OPCODE_ISSPACEP;
    if (!asks && instruction->opcode != SMK_OPCODE_CVTA) {
        return lower_stack(lowering);
    }
    uint64_t window = 0;
    unsigned storage;
    if (!window_of(lowering, (smk_space)instruction->space, &window)) {
        return false;
    }
    uint32_t a = smk_lower_row(lowering, &instruction->operands[1], 64, &storage);
    if (storage != 64) {
        return smk_lower_fail(lowering, SMK_UNSUPPORTED, "addresses of %u bits are not supported here", storage);
    }
    uint32_t d = smk_lower_row(lowering, &instruction->operands[0], asks ? 1 : 64, NULL);
    smk_handler run = !asks                                   ? smk_control_convert_address
                      : instruction->space == SMK_SPACE_CONST ? smk_control_is_constant
                                                              : smk_control_is_space;
    smk_operation *op = smk_lower_emit(lowering, run);
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    op->d = d;
    op->a = a;
    op->u.immediate = !asks && smk_module_has(instruction, SMK_MODIFIER_TO) ? 0 - window : window;
    return true;
}

/* Of an element in memory; a row has 16 of up to 8 bits, or 8 of 16. */
static unsigned get_row_bits(const smk_instruction *instruction)
{
    return instruction->source_type == SMK_TYPE_B6X16_P32 ? 6 : instruction->source_type == SMK_TYPE_B4X16_P64 ? 4 : 8;
}

/* The access of an ldmatrix or stmatrix: each lane with an address accesses a row of 16 bytes. */
static bool lower_rows_of_matrices(smk_lowering *lowering, bool store, const address *at, unsigned matrices,
                                   const uint32_t *rows)
{
    smk_handler run = smk_access_find(store, at->space, at->narrow, SMK_ELEMENT_U32_32, SMK_ACCESS_ELEMENTS_MAX);
    smk_operation *op = smk_lower_emit_always(lowering, run);
    if (op != NULL) {
        op->guard = smk_constant_rows_value(lowering->constant_rows, 32, UINT32_MAX >> (32 - MATRIX_ROWS * matrices));
        op->d = rows[0];
        op->b = rows[1];
        op->c = rows[2];
        op->d2 = rows[3];
        op->a = at->row;
        op->element = SMK_ELEMENT_U32_32;
        op->count = SMK_ACCESS_ELEMENTS_MAX;
        op->slot = take_slot(lowering);
        op->u.immediate = at->add;
    }
    const unsigned used = get_row_bits(lowering->instruction) * MATRIX_ROW_BYTES / 8;
    return op != NULL && (used < MATRIX_ROW_BYTES
                              ? smk_instrument_emit_partial(lowering, at->space, at->narrow, MATRIX_ROW_BYTES, used)
                              : smk_instrument_emit_access(lowering, store ? SMK_ACCESS_STORE : SMK_ACCESS_LOAD,
                                                           at->space, at->narrow, MATRIX_ROW_BYTES));
}

static smk_handler find_distribution(const smk_instruction *instruction, bool store)
{
    const bool transposed = smk_module_has(instruction, SMK_MODIFIER_TRANS);
    if (transposed && !smk_module_has(instruction, SMK_MODIFIER_M8N8)) {
        return store ? smk_mma_collect_bytes : smk_mma_hand_out_bytes;
    }
    return store ? (transposed ? smk_mma_collect_transposed : smk_mma_collect)
                 : (transposed ? smk_mma_hand_out_transposed : smk_mma_hand_out);
}

/* The distribution of matrices over the lanes, or its inverse. */
static bool lower_distribution(smk_lowering *lowering, bool store, unsigned matrices, const smk_detail *detail)
{
    const unsigned bits = get_row_bits(lowering->instruction);
    smk_operation *op = NULL;
    if (bits < 8) {
        op = smk_lower_emit_always(lowering, bits == 6 ? smk_mma_unpack_6 : smk_mma_unpack_4);
        if (op == NULL) {
            return false;
        }
        op->u.detail = detail;
    }
    op = smk_lower_emit_always(lowering, find_distribution(lowering->instruction, store));
    if (op != NULL) {
        op->u.detail = detail;
        op->count = matrices;
    }
    return op != NULL;
}

static bool lower_matrices(smk_lowering *lowering)
{
    const bool store = lowering->instruction->opcode == SMK_OPCODE_STMATRIX;
    const smk_operand *held = &lowering->instruction->operands[store ? 1 : 0];
    smk_detail *detail = smk_arena_allocate(lowering->arena, 1, sizeof *detail);
    uint32_t *rows = smk_arena_allocate(lowering->arena, 2 * SMK_ACCESS_ELEMENTS_MAX, sizeof *rows);
    address at;
    if (detail == NULL || rows == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
    }
    if (!resolve(lowering, &lowering->instruction->operands[store ? 0 : 1], (smk_space)lowering->instruction->space,
                 &at)) {
        return false;
    }
    if (at.space != SMK_SPACE_SHARED && at.space != SMK_SPACE_GENERIC) {
        return smk_lower_fail(lowering, SMK_PTX, "%s accesses shared memory only", store ? "stmatrix" : "ldmatrix");
    }
    for (unsigned i = 0; i < SMK_ACCESS_ELEMENTS_MAX; i++) {
        rows[i] = smk_lower_scratch(lowering, 32);
    }
    for (uint32_t i = 0; i < held->count; i++) {
        rows[SMK_ACCESS_ELEMENTS_MAX + i] = smk_lower_row(lowering, &held->element[i], 32, NULL);
    }
    detail->rows = rows;
    uint32_t first = lowering->count;
    smk_operation *op = smk_lower_emit(lowering, smk_mma_enter);
    if (op == NULL) {
        return false;
    }
    op->u.detail = detail;
    bool done = store ? lower_distribution(lowering, true, held->count, detail) &&
                            lower_rows_of_matrices(lowering, true, &at, held->count, rows)
                      : lower_rows_of_matrices(lowering, false, &at, held->count, rows) &&
                            lower_distribution(lowering, false, held->count, detail);
    detail->bytes = lowering->count - first;
    return done && lowering->status == SMK_OK;
}

bool smk_lower_memory(smk_lowering *lowering)
{
    smk_class class = smk_opcode_class(lowering->instruction);
    if (class == SMK_CLASS_LOAD || class == SMK_CLASS_STORE) {
        return lower_access(lowering, class == SMK_CLASS_STORE);
    }
    if (class == SMK_CLASS_ATOMIC) {
        return lower_atomic(lowering);
    }
    if (class == SMK_CLASS_COPY) {
        return lower_async(lowering);
    }
    return class == SMK_CLASS_ADDRESS ? lower_conversion(lowering) : lower_matrices(lowering);
}
