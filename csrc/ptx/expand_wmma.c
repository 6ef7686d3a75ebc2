/* wmma in instructions that exist without it, the way ptxas assembles it for sm_80 and later.
 *
 * A fragment holds what mma.sync takes (sim/exec/mma.h has the layout), with g = lane / 4 and t = lane % 4. Matrices are
 * cut into blocks of 8 rows or columns, and along k into blocks of 4 registers a row: 8 elements of 16 bits, 16 of 8
 * bits, 32 of 4 bits, 128 of one bit, 4 of 32 or 64. Of elements below 8 bits strides and columns count bytes. The rows of the product are those of `a`; m8n32k16 computes the transposed product, so that 32
 * is the number of rows: d' = b' a' + c'.
 *
 * Where the elements of a register are neighbours in memory it is loaded as one word. Else words of 16-bit elements are
 * loaded as they lie and movmatrix transposes them; bytes are loaded one by one. Loads of 8-bit and 16-bit elements from
 * shared memory are ldmatrix where that is possible. */
#include "ptx/expand.h"
#include "ptx/instruction.h"
#include "ptx/refuse.h"

#include <string.h>

enum { BLOCK = 8, FRAGMENT_MAX = 8, ADDRESSES_MAX = 32 };

typedef enum role { ROLE_ROWS, ROLE_COLUMNS, ROLE_SUM } role; /* of mma.sync: a, b, or c and d */

/* A wmma statement that is being expanded. */
typedef struct wmma {
    smk_parser *parser;
    const smk_statement *origin;
    role role;
    bool along;       /* rows (of a, c, d) or columns (of b) are contiguous in memory, as the product has them */
    unsigned outer;   /* blocks of rows of a, or of columns of b */
    unsigned inner;   /* blocks of columns of c and d; of k of a and b */
    unsigned bits;    /* of an element */
    unsigned leading; /* default stride in elements */
    uint32_t group, thread, stride; /* registers: g, t; the stride in elements */
    smk_operand base;               /* the address of the matrix, in a register of base_bits */
    unsigned base_bits;
    int64_t offset;             /* bytes beyond it */
    uint32_t start;             /* register: the address of this lane's element of the first block */
    uint32_t step;              /* register: bytes from one row in memory to the next */
    uint32_t at[ADDRESSES_MAX]; /* registers: the address so many rows on, plus 1; 0: not computed yet */
} wmma;

/* An operand of an instruction that is written: a register or a constant. */
#define REG(index) smk_expand_register(index)
#define NUM(value) smk_expand_constant(value)

static smk_status emit(wmma *w, smk_statement *made, const smk_operand *operands, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        smk_expand_operand(made, operands[i]);
    }
    return smk_expand_finish(w->parser, made);
}

/* opcode{.modifier}.type operands: the modifier is SMK_MODIFIER_COUNT where there is none. */
static smk_status emit_plain(wmma *w, smk_opcode opcode, smk_modifier modifier, smk_type type,
                             const smk_operand *operands, unsigned count)
{
    smk_statement made;
    smk_expand_begin(w->parser, w->origin, opcode, &made);
    if (modifier != SMK_MODIFIER_COUNT) {
        smk_expand_modifier(&made, modifier);
    }
    smk_expand_type(&made, type);
    return emit(w, &made, operands, count);
}

static smk_status new_register(wmma *w, smk_type type, uint32_t *index)
{
    return smk_instruction_add_register(w->parser, w->origin->opcode_at.text, type, index);
}

/* d = a op b in a new register of 32 bits */
static smk_status compute(wmma *w, smk_opcode opcode, smk_type type, smk_operand a, smk_operand b, uint32_t *d)
{
    SMK_TRY(new_register(w, SMK_TYPE_B32, d));
    const smk_operand operands[] = {REG(*d), a, b};
    return emit_plain(w, opcode, SMK_MODIFIER_COUNT, type, operands, 3);
}

/* d = a * b + c in a new register of 32 bits */
static smk_status multiply_add(wmma *w, smk_operand a, smk_operand b, smk_operand c, uint32_t *d)
{
    SMK_TRY(new_register(w, SMK_TYPE_B32, d));
    const smk_operand operands[] = {REG(*d), a, b, c};
    return emit_plain(w, SMK_OPCODE_MAD, SMK_MODIFIER_LO, SMK_TYPE_U32, operands, 4);
}

/* Addresses ---------------------------------------------------------------------------------------- */

/* The address operand in a register, and the stride in another. */
static smk_status read_operands(wmma *w, unsigned address, unsigned stride)
{
    const smk_instruction *instruction = &w->origin->instruction;
    const smk_operand *operand = &instruction->operands[address];
    const smk_register *registers = w->parser->registers.items;
    uint32_t index = operand->index;
    w->offset = operand->offset;
    w->base_bits = 64;
    if (operand->base_kind == SMK_OPERAND_REGISTER) {
        w->base_bits = smk_module_type_bits((smk_type)registers[index].type);
    } else {
        smk_operand source = {.kind = SMK_OPERAND_IMMEDIATE, .type = SMK_TYPE_U64, .bits = operand->bits};
        if (operand->base_kind == SMK_OPERAND_VARIABLE) {
            source = (smk_operand){.kind = SMK_OPERAND_VARIABLE, .index = operand->index};
        }
        SMK_TRY(new_register(w, SMK_TYPE_B64, &index));
        const smk_operand operands[] = {REG(index), source};
        SMK_TRY(emit_plain(w, SMK_OPCODE_MOV, SMK_MODIFIER_COUNT, SMK_TYPE_U64, operands, 2));
    }
    w->base = REG(index);
    SMK_TRY(new_register(w, SMK_TYPE_B32, &w->stride));
    const bool given = instruction->operand_count > stride;
    const smk_operand operands[] = {REG(w->stride), given ? instruction->operands[stride] : NUM(w->leading)};
    SMK_TRY(emit_plain(w, SMK_OPCODE_MOV, SMK_MODIFIER_COUNT, SMK_TYPE_U32, operands, 2));
    if (w->bits >= 8) {
        return SMK_OK;
    }
    return compute(w, SMK_OPCODE_SHR, SMK_TYPE_U32, REG(w->stride), NUM(w->bits == 4 ? 1 : 3), &w->stride);
}

/* The address of the element at row `row` and column `column`, registers, of the first block. */
static smk_status start_addresses(wmma *w, uint32_t row, uint32_t column)
{
    const bool wide = w->base_bits == 64;
    const smk_type address_type = wide ? SMK_TYPE_B64 : SMK_TYPE_B32;
    const smk_operand size = NUM(w->bits < 8 ? 1 : w->bits / 8);
    uint32_t element = 0;
    SMK_TRY(multiply_add(w, REG(row), REG(w->stride), REG(column), &element));
    SMK_TRY(new_register(w, address_type, &w->start));
    SMK_TRY(new_register(w, address_type, &w->step));
    const smk_operand sum[] = {REG(w->start), REG(element), size, w->base};
    SMK_TRY(emit_plain(w, SMK_OPCODE_MAD, wide ? SMK_MODIFIER_WIDE : SMK_MODIFIER_LO, SMK_TYPE_U32, sum, 4));
    const smk_operand product[] = {REG(w->step), REG(w->stride), size};
    return emit_plain(w, SMK_OPCODE_MUL, wide ? SMK_MODIFIER_WIDE : SMK_MODIFIER_LO, SMK_TYPE_U32, product, 3);
}

/* The address operand of an element so many rows and columns on. */
static smk_status find_address(wmma *w, unsigned rows, unsigned columns, smk_operand *address)
{
    uint32_t index = w->start;
    if (rows != 0 && w->at[rows] == 0) {
        const bool wide = w->base_bits == 64;
        SMK_TRY(new_register(w, wide ? SMK_TYPE_B64 : SMK_TYPE_B32, &index));
        const smk_operand operands[] = {REG(index), REG(w->step), NUM(rows), REG(w->start)};
        SMK_TRY(emit_plain(w, SMK_OPCODE_MAD, SMK_MODIFIER_LO, wide ? SMK_TYPE_U64 : SMK_TYPE_U32, operands, 4));
        w->at[rows] = index + 1;
    } else if (rows != 0) {
        index = w->at[rows] - 1;
    }
    *address = (smk_operand){.kind = SMK_OPERAND_ADDRESS,
                             .base_kind = SMK_OPERAND_REGISTER,
                             .index = index,
                             .offset = w->offset + (int64_t)columns * (w->bits / 8)};
    return SMK_OK;
}

static smk_status find_lane(wmma *w, uint32_t *lane)
{
    SMK_TRY(new_register(w, SMK_TYPE_B32, lane));
    const smk_operand special = {.kind = SMK_OPERAND_SPECIAL, .index = SMK_SPECIAL_LANEID};
    const smk_operand operands[] = {REG(*lane), special};
    return emit_plain(w, SMK_OPCODE_MOV, SMK_MODIFIER_COUNT, SMK_TYPE_U32, operands, 2);
}

static smk_status find_lanes(wmma *w)
{
    uint32_t lane = 0;
    SMK_TRY(find_lane(w, &lane));
    SMK_TRY(compute(w, SMK_OPCODE_SHR, SMK_TYPE_U32, REG(lane), NUM(2), &w->group));
    return compute(w, SMK_OPCODE_AND, SMK_TYPE_B32, REG(lane), NUM(3), &w->thread);
}

/* Accesses ----------------------------------------------------------------------------------------- */

/* ld or st of `count` registers of `type`; a store's address stands in front. */
static smk_status access(wmma *w, bool store, smk_type type, smk_operand address, const smk_operand *values,
                         unsigned count)
{
    const smk_space space = (smk_space)w->origin->instruction.space;
    smk_operand value = values[0];
    smk_statement made;
    smk_expand_begin(w->parser, w->origin, store ? SMK_OPCODE_ST : SMK_OPCODE_LD, &made);
    if (space != SMK_SPACE_GENERIC) {
        smk_expand_modifier(&made, space == SMK_SPACE_SHARED ? SMK_MODIFIER_SHARED : SMK_MODIFIER_GLOBAL);
    }
    if (count == 2) {
        smk_expand_modifier(&made, SMK_MODIFIER_V2);
        value = (smk_operand){.kind = SMK_OPERAND_LIST, .count = 2};
        value.element = smk_arena_allocate(&w->parser->module->arena, 2, sizeof *values);
        if (value.element == NULL) {
            return smk_parse_memory(w->parser);
        }
        memcpy(value.element, values, 2 * sizeof *values);
    }
    smk_expand_type(&made, type);
    const smk_operand operands[] = {store ? address : value, store ? value : address};
    return emit(w, &made, operands, 2);
}

static smk_status transpose(wmma *w, smk_operand to, smk_operand from)
{
    static const smk_modifier words[] = {SMK_MODIFIER_SYNC, SMK_MODIFIER_ALIGNED, SMK_MODIFIER_M8N8,
                                         SMK_MODIFIER_TRANS};
    smk_statement made;
    smk_expand_begin(w->parser, w->origin, SMK_OPCODE_MOVMATRIX, &made);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        smk_expand_modifier(&made, words[i]);
    }
    smk_expand_type(&made, SMK_TYPE_B16);
    const smk_operand operands[] = {to, from};
    return emit(w, &made, operands, 2);
}

/* A word of two 16-bit elements that lie across a register: loaded, or stored, as they lie. */
static smk_status access_across(wmma *w, bool store, smk_operand address, smk_operand value)
{
    uint32_t word = 0;
    SMK_TRY(new_register(w, SMK_TYPE_B32, &word));
    const smk_operand held = REG(word);
    if (store) {
        SMK_TRY(transpose(w, held, value));
        return access(w, true, SMK_TYPE_B32, address, &held, 1);
    }
    SMK_TRY(access(w, false, SMK_TYPE_B32, address, &held, 1));
    return transpose(w, value, held);
}

/* Four bytes from four rows of memory, put together. */
static smk_status load_bytes(wmma *w, unsigned columns, smk_operand value)
{
    uint32_t bytes[4], pairs[2];
    for (unsigned i = 0; i < 4; i++) {
        smk_operand address;
        SMK_TRY(find_address(w, i, columns, &address));
        SMK_TRY(new_register(w, SMK_TYPE_B32, &bytes[i]));
        const smk_operand byte = REG(bytes[i]);
        SMK_TRY(access(w, false, SMK_TYPE_U8, address, &byte, 1));
    }
    for (unsigned i = 0; i < 2; i++) {
        SMK_TRY(new_register(w, SMK_TYPE_B32, &pairs[i]));
        const smk_operand pair[] = {REG(pairs[i]), REG(bytes[2 * i]), REG(bytes[2 * i + 1]), NUM(0x5540)};
        SMK_TRY(emit_plain(w, SMK_OPCODE_PRMT, SMK_MODIFIER_COUNT, SMK_TYPE_B32, pair, 4));
    }
    const smk_operand both[] = {value, REG(pairs[0]), REG(pairs[1]), NUM(0x5410)};
    return emit_plain(w, SMK_OPCODE_PRMT, SMK_MODIFIER_COUNT, SMK_TYPE_B32, both, 4);
}

/* Fragments ---------------------------------------------------------------------------------------- */

/* The register of a or b that holds block `outer` of rows and block `k` of k. */
static unsigned index_of_factor(const wmma *w, unsigned outer, unsigned k)
{
    const unsigned high = w->outer > 1 ? 2 : 1;
    return w->role == ROLE_COLUMNS ? outer * w->inner + k : outer / high * high * w->inner + outer % high + high * k;
}

/* The first register of c or d that holds block `row` of rows and block `column` of columns: one of 16-bit elements,
 * else two. A product of mma.sync has 16 rows, or 8 where there is one block. */
static unsigned index_of_sum(const wmma *w, unsigned row, unsigned column)
{
    const unsigned high = w->outer > 1 ? 2 : 1, registers = w->bits == 16 ? 1 : 2;
    return (row / high * w->inner + column) * high * registers + row % high * registers;
}

static smk_status load_factor(wmma *w, const smk_operand *list)
{
    const unsigned per_word = w->bits < 32 ? 32 / w->bits : 1;
    const smk_type type = w->bits == 64 ? SMK_TYPE_B64 : SMK_TYPE_B32;
    const bool across = !w->along && w->bits == 16;
    const unsigned times = w->bits < 8 ? 4 : w->along ? per_word : across ? 2 : w->bits == 8 ? 4 : 1;
    uint32_t scaled = 0;
    SMK_TRY(compute(w, SMK_OPCODE_SHL, SMK_TYPE_B32, REG(w->thread), NUM(times == 4 ? 2 : times - 1), &scaled));
    SMK_TRY(w->along || across ? start_addresses(w, w->group, scaled) : start_addresses(w, scaled, w->group));
    for (unsigned outer = 0; outer < w->outer; outer++) {
        for (unsigned k = 0; k < w->inner; k++) {
            const smk_operand *value = &list->element[index_of_factor(w, outer, k)];
            const unsigned block = BLOCK * outer, depth = 4 * per_word * k;
            smk_operand address;
            if (!w->along && w->bits == 8) {
                SMK_TRY(load_bytes(w, block, *value));
                continue;
            }
            SMK_TRY(find_address(w, w->along ? block : depth, w->along ? depth : block, &address));
            SMK_TRY(across ? access_across(w, false, address, *value) : access(w, false, type, address, value, 1));
        }
    }
    return SMK_OK;
}

/* Loads or stores c or d. */
static smk_status access_sum(wmma *w, bool store, const smk_operand *list)
{
    const smk_type type = w->bits == 64 ? SMK_TYPE_B64 : SMK_TYPE_B32;
    const bool half = w->bits == 16;
    uint32_t scaled = 0;
    SMK_TRY(compute(w, SMK_OPCODE_SHL, SMK_TYPE_B32, REG(w->thread), NUM(1), &scaled));
    SMK_TRY(w->along || half ? start_addresses(w, w->group, scaled) : start_addresses(w, scaled, w->group));
    for (unsigned row = 0; row < w->outer; row++) {
        for (unsigned column = 0; column < w->inner; column++) {
            const smk_operand *values = &list->element[index_of_sum(w, row, column)];
            const unsigned down = BLOCK * (w->along ? row : column), right = BLOCK * (w->along ? column : row);
            smk_operand address;
            SMK_TRY(find_address(w, down, right, &address));
            if (half) {
                SMK_TRY(w->along ? access(w, store, type, address, values, 1)
                                 : access_across(w, store, address, *values));
                continue;
            }
            SMK_TRY(access(w, store, type, address, values, w->along ? 2 : 1));
            if (!w->along) {
                SMK_TRY(find_address(w, down + 1, right, &address));
                SMK_TRY(access(w, store, type, address, values + 1, 1));
            }
        }
    }
    return SMK_OK;
}

/* ldmatrix of up to 4 matrices, into the registers from `first` on. */
static smk_status load_matrices(wmma *w, const smk_operand *list, unsigned first, unsigned count)
{
    static const smk_modifier counts[] = {[1] = SMK_MODIFIER_X1, [2] = SMK_MODIFIER_X2, [4] = SMK_MODIFIER_X4};
    static const smk_modifier words[] = {SMK_MODIFIER_SYNC, SMK_MODIFIER_ALIGNED, SMK_MODIFIER_M8N8,
                                         SMK_MODIFIER_SHARED};
    const unsigned skipped = BLOCK * (first / w->inner);
    smk_statement made;
    smk_operand address, target = {.kind = SMK_OPERAND_LIST, .count = count};
    SMK_TRY(find_address(w, w->along ? skipped : 0, w->along ? 0 : skipped, &address));
    target.element = smk_arena_allocate(&w->parser->module->arena, count, sizeof *target.element);
    if (target.element == NULL) {
        return smk_parse_memory(w->parser);
    }
    memcpy(target.element, list->element + first, count * sizeof *target.element);
    smk_expand_begin(w->parser, w->origin, SMK_OPCODE_LDMATRIX, &made);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        smk_expand_modifier(&made, words[i]);
    }
    smk_expand_modifier(&made, counts[count]);
    if (!w->along) {
        smk_expand_modifier(&made, SMK_MODIFIER_TRANS);
    }
    smk_expand_type(&made, SMK_TYPE_B16);
    const smk_operand operands[] = {target, address};
    return emit(w, &made, operands, 2);
}

/* a or b from shared memory. Lane 8 * m + r has the address of row r of matrix m. Of the two bits of m, one counts
 * blocks of rows in memory and the other blocks of columns: which does which follows from the order of registers. */
static smk_status load_shared(wmma *w, const smk_operand *list)
{
    const unsigned registers = w->outer * w->inner, most = w->bits == 8 ? 2 : 4;
    const bool low_is_row = w->inner == 1 || w->along == (w->role == ROLE_ROWS);
    uint32_t lane = 0, row = 0, column = 0, high = 0;
    SMK_TRY(find_lane(w, &lane));
    if (low_is_row) {
        SMK_TRY(compute(w, SMK_OPCODE_AND, SMK_TYPE_B32, REG(lane), NUM(15), &row));
        SMK_TRY(compute(w, SMK_OPCODE_SHR, SMK_TYPE_U32, REG(lane), NUM(4), &high));
    } else {
        SMK_TRY(compute(w, SMK_OPCODE_AND, SMK_TYPE_B32, REG(lane), NUM(7), &row));
        SMK_TRY(compute(w, SMK_OPCODE_SHR, SMK_TYPE_U32, REG(lane), NUM(4), &high));
        SMK_TRY(multiply_add(w, REG(high), NUM(BLOCK), REG(row), &row));
        SMK_TRY(compute(w, SMK_OPCODE_SHR, SMK_TYPE_U32, REG(lane), NUM(3), &high));
        SMK_TRY(compute(w, SMK_OPCODE_AND, SMK_TYPE_B32, REG(high), NUM(1), &high));
    }
    SMK_TRY(compute(w, SMK_OPCODE_SHL, SMK_TYPE_B32, REG(high), NUM(3), &column));
    if (w->inner == 1) { /* a row of 16 bytes is all of k */
        SMK_TRY(compute(w, SMK_OPCODE_AND, SMK_TYPE_B32, REG(column), NUM(0), &column));
    }
    SMK_TRY(start_addresses(w, row, column));
    for (unsigned first = 0; first < registers; first += most) {
        SMK_TRY(load_matrices(w, list, first, registers - first < most ? registers - first : most));
    }
    return SMK_OK;
}

/* Fragments of f16 have 8 registers in every shape: the others repeat those that are used. */
static smk_status repeat_registers(wmma *w, const smk_operand *list)
{
    const unsigned used = w->outer * w->inner;
    for (unsigned i = used; i < list->count; i++) {
        const smk_operand operands[] = {list->element[i], list->element[i % used]};
        if (operands[0].kind != SMK_OPERAND_SINK) {
            SMK_TRY(emit_plain(w, SMK_OPCODE_MOV, SMK_MODIFIER_COUNT, SMK_TYPE_B32, operands, 2));
        }
    }
    return SMK_OK;
}

/* Shapes ------------------------------------------------------------------------------------------- */

static bool has(const wmma *w, smk_modifier modifier)
{
    return smk_module_has(&w->origin->instruction, modifier);
}

/* Rows, columns and depth of a shape. */
static void read_shape(const wmma *w, unsigned shape[3])
{
    static const struct {
        smk_modifier word;
        unsigned shape[3];
    } shapes[] = {{SMK_MODIFIER_M16N16K16, {16, 16, 16}}, {SMK_MODIFIER_M32N8K16, {32, 8, 16}},
                  {SMK_MODIFIER_M8N32K16, {8, 32, 16}},   {SMK_MODIFIER_M16N16K8, {16, 16, 8}},
                  {SMK_MODIFIER_M8N8K4, {8, 8, 4}},       {SMK_MODIFIER_M8N8K32, {8, 8, 32}},
                  {SMK_MODIFIER_M8N8K128, {8, 8, 128}}};
    unsigned i = 0;
    while (!has(w, shapes[i].word)) {
        i++;
    }
    memcpy(shape, shapes[i].shape, sizeof shapes[i].shape);
}

static unsigned element_bits(smk_type type)
{
    return type == SMK_TYPE_TF32 ? 32 : smk_module_type_bits(type);
}

static smk_status expand_access(wmma *w, bool store)
{
    const smk_instruction *instruction = &w->origin->instruction;
    const smk_operand *list = &instruction->operands[store ? 1 : 0];
    const bool swapped = has(w, SMK_MODIFIER_M8N32K16), by_row = has(w, SMK_MODIFIER_ROW);
    const bool is_a = has(w, SMK_MODIFIER_A), is_b = has(w, SMK_MODIFIER_B);
    unsigned shape[3];
    read_shape(w, shape);
    w->bits = element_bits((smk_type)instruction->type);
    const unsigned rows = is_b ? shape[2] : shape[0], columns = is_a ? shape[2] : shape[1];
    w->leading = by_row ? columns : rows;
    if (is_a || is_b) {
        w->role = is_a != swapped ? ROLE_ROWS : ROLE_COLUMNS;
        w->along = is_a == by_row;
        w->outer = (is_a ? shape[0] : shape[1]) / BLOCK;
        w->inner = shape[2] / (w->bits < 32 ? 4 * (32 / w->bits) : 4);
    } else {
        w->role = ROLE_SUM;
        w->along = by_row != swapped;
        w->outer = shape[swapped ? 1 : 0] / BLOCK;
        w->inner = shape[swapped ? 0 : 1] / BLOCK;
    }
    SMK_TRY(read_operands(w, store ? 0 : 1, 2));
    const bool shared = instruction->space == SMK_SPACE_SHARED && (w->bits == 16 || (w->bits == 8 && w->along));
    if (shared && w->role != ROLE_SUM) {
        SMK_TRY(load_shared(w, list));
        return repeat_registers(w, list);
    }
    SMK_TRY(find_lanes(w));
    if (w->role == ROLE_SUM) {
        return access_sum(w, store, list);
    }
    SMK_TRY(load_factor(w, list));
    return repeat_registers(w, list);
}

/* Products ----------------------------------------------------------------------------------------- */

/* What the products of a wmma.mma have in common. */
typedef struct product {
    smk_modifier shape;
    smk_type types[4];             /* of d, a, b and c of mma.sync */
    unsigned counts[3];            /* registers of a, b, and of c and d, in one mma.sync */
    unsigned rows, columns, steps; /* numbers of mma.sync: along rows, along columns, one after another along k */
    smk_operand a[FRAGMENT_MAX], b[FRAGMENT_MAX], sum[FRAGMENT_MAX];
} product;

static smk_status make_list(wmma *w, const smk_operand *values, unsigned count, smk_operand *list)
{
    *list = (smk_operand){.kind = SMK_OPERAND_LIST, .count = count};
    list->element = smk_arena_allocate(&w->parser->module->arena, count, sizeof *values);
    if (list->element == NULL) {
        return smk_parse_memory(w->parser);
    }
    memcpy(list->element, values, count * sizeof *values);
    return SMK_OK;
}

/* The product of rows `row` and columns `column`; d is written over c. */
static smk_status multiply_tile(wmma *w, product *p, unsigned row, unsigned column)
{
    smk_operand *sum = p->sum + (row * p->columns + column) * p->counts[2];
    for (unsigned step = 0; step < p->steps; step++) {
        const smk_operand *a = p->a + (row * p->steps + step) * p->counts[0];
        const smk_operand *b = p->b + (column * p->steps + step) * p->counts[1];
        smk_statement made;
        smk_operand operands[4];
        smk_expand_begin(w->parser, w->origin, SMK_OPCODE_MMA, &made);
        const smk_modifier words[] = {SMK_MODIFIER_SYNC, SMK_MODIFIER_ALIGNED, p->shape, SMK_MODIFIER_ROW,
                                      SMK_MODIFIER_COL};
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            smk_expand_modifier(&made, words[i]);
        }
        const smk_modifier passed[] = {SMK_MODIFIER_SATFINITE, SMK_MODIFIER_RZ,  SMK_MODIFIER_RM,  SMK_MODIFIER_RP,
                                       SMK_MODIFIER_XOR,       SMK_MODIFIER_AND, SMK_MODIFIER_POPC};
        for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
            if (has(w, passed[i])) {
                smk_expand_modifier(&made, passed[i]);
            }
        }
        for (unsigned i = 0; i < 4; i++) {
            smk_expand_type(&made, p->types[i]);
        }
        SMK_TRY(make_list(w, sum, p->counts[2], &operands[0]));
        SMK_TRY(make_list(w, a, p->counts[0], &operands[1]));
        SMK_TRY(make_list(w, b, p->counts[1], &operands[2]));
        SMK_TRY(make_list(w, sum, p->counts[2], &operands[3]));
        SMK_TRY(emit(w, &made, operands, 4));
    }
    return SMK_OK;
}

/* The sums begin as c, in registers of their own, as single precision where only one of c and d is. */
static smk_status begin_sums(wmma *w, product *p, const smk_operand *c, smk_type type)
{
    const bool widen = type == SMK_TYPE_F16 && p->types[3] == SMK_TYPE_F32;
    const smk_type held = p->types[0] == SMK_TYPE_F64 ? SMK_TYPE_B64 : SMK_TYPE_B32;
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t sums[2] = {0, 0}, halves[2];
        SMK_TRY(new_register(w, held, &sums[0]));
        p->sum[widen ? 2 * i : i] = REG(sums[0]);
        if (!widen) {
            const smk_operand move[] = {REG(sums[0]), c->element[i]};
            SMK_TRY(emit_plain(w, SMK_OPCODE_MOV, SMK_MODIFIER_COUNT, held, move, 2));
            continue;
        }
        SMK_TRY(new_register(w, held, &sums[1]));
        p->sum[2 * i + 1] = REG(sums[1]);
        for (unsigned k = 0; k < 2; k++) {
            SMK_TRY(new_register(w, SMK_TYPE_B16, &halves[k]));
        }
        smk_operand list;
        const smk_operand both[] = {REG(halves[0]), REG(halves[1])};
        SMK_TRY(make_list(w, both, 2, &list));
        const smk_operand unpack[] = {list, c->element[i]};
        SMK_TRY(emit_plain(w, SMK_OPCODE_MOV, SMK_MODIFIER_COUNT, SMK_TYPE_B32, unpack, 2));
        for (unsigned k = 0; k < 2; k++) {
            smk_statement made;
            const smk_operand operands[] = {REG(sums[k]), REG(halves[k])};
            smk_expand_begin(w->parser, w->origin, SMK_OPCODE_CVT, &made);
            smk_expand_type(&made, SMK_TYPE_F32);
            smk_expand_type(&made, SMK_TYPE_F16);
            SMK_TRY(emit(w, &made, operands, 2));
        }
    }
    return SMK_OK;
}

static smk_status end_sums(wmma *w, const product *p, const smk_operand *d, smk_type type)
{
    const bool narrow = type == SMK_TYPE_F16 && p->types[0] == SMK_TYPE_F32;
    const smk_type held = p->types[0] == SMK_TYPE_F64 ? SMK_TYPE_B64 : SMK_TYPE_B32;
    for (uint32_t i = 0; i < d->count; i++) {
        if (d->element[i].kind == SMK_OPERAND_SINK) {
            continue;
        }
        if (!narrow) {
            const smk_operand move[] = {d->element[i], p->sum[i]};
            SMK_TRY(emit_plain(w, SMK_OPCODE_MOV, SMK_MODIFIER_COUNT, held, move, 2));
            continue;
        }
        smk_statement made;
        const smk_operand operands[] = {d->element[i], p->sum[2 * i + 1], p->sum[2 * i]};
        smk_expand_begin(w->parser, w->origin, SMK_OPCODE_CVT, &made);
        smk_expand_modifier(&made, SMK_MODIFIER_RN);
        smk_expand_type(&made, SMK_TYPE_F16X2);
        smk_expand_type(&made, SMK_TYPE_F32);
        SMK_TRY(emit(w, &made, operands, 3));
    }
    return SMK_OK;
}

/* The types of d, a, b and c of a wmma.mma, which names d and c alone where a and b are f16. */
static void read_types(const wmma *w, smk_type types[4])
{
    unsigned count = 0;
    for (unsigned i = 0; i < w->origin->instruction.word_count; i++) {
        const smk_word *word = &w->origin->instruction.words[i];
        if (word->is_type) {
            types[count++] = (smk_type)word->value;
        }
    }
    if (count == 2) {
        types[3] = types[1];
        types[1] = types[2] = SMK_TYPE_F16;
    }
}

static smk_status expand_product(wmma *w)
{
    const smk_operand *operands = w->origin->instruction.operands;
    const bool swapped = has(w, SMK_MODIFIER_M8N32K16);
    smk_type types[4] = {SMK_TYPE_NONE};
    unsigned shape[3];
    product p = {.steps = 1};
    read_types(w, types);
    read_shape(w, shape);
    const smk_type factor = types[1];
    const unsigned m = shape[swapped ? 1 : 0], n = shape[swapped ? 0 : 1];
    const bool tiny = smk_module_type_bits(factor) < 8;
    const unsigned rows = factor == SMK_TYPE_F64 || tiny ? 8 : 16, depth = shape[2] >= 16 ? shape[2] : 4;
    const unsigned per_word = factor == SMK_TYPE_TF32 || factor == SMK_TYPE_F64 ? 1 : 32 / element_bits(factor);
    p.shape = factor == SMK_TYPE_F64    ? SMK_MODIFIER_M8N8K4
              : factor == SMK_TYPE_TF32 ? SMK_MODIFIER_M16N8K4
              : factor == SMK_TYPE_B1   ? SMK_MODIFIER_M8N8K128
              : tiny                    ? SMK_MODIFIER_M8N8K32
                                        : SMK_MODIFIER_M16N8K16;
    const bool single = types[0] == SMK_TYPE_F32 || types[3] == SMK_TYPE_F32;
    p.types[0] = p.types[3] = factor == SMK_TYPE_F16 ? (single ? SMK_TYPE_F32 : SMK_TYPE_F16) : types[0];
    p.types[1] = types[swapped ? 2 : 1];
    p.types[2] = types[swapped ? 1 : 2];
    p.rows = m / rows;
    p.columns = n / BLOCK;
    p.steps = shape[2] / depth;
    p.counts[0] = rows * depth / 32 / per_word;
    p.counts[1] = BLOCK * depth / 32 / per_word;
    p.counts[2] = p.types[0] == SMK_TYPE_F16 ? 2 : rows / 4;
    const smk_operand *a = &operands[swapped ? 2 : 1], *b = &operands[swapped ? 1 : 2];
    memcpy(p.a, a->element, a->count * sizeof *p.a);
    memcpy(p.b, b->element, b->count * sizeof *p.b);
    SMK_TRY(begin_sums(w, &p, &operands[3], types[3]));
    for (unsigned row = 0; row < p.rows; row++) {
        for (unsigned column = 0; column < p.columns; column++) {
            SMK_TRY(multiply_tile(w, &p, row, column));
        }
    }
    return end_sums(w, &p, &operands[0], types[0]);
}

smk_status smk_expand_wmma(smk_parser *parser, const smk_statement *origin)
{
    wmma w = {.parser = parser, .origin = origin};
    if (has(&w, SMK_MODIFIER_MMA)) {
        return expand_product(&w);
    }
    return expand_access(&w, has(&w, SMK_MODIFIER_STORE));
}
