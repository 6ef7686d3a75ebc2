/* Checks operands against the slots of a form. */
#include "ptx/texel.h"
#include "ptx/verify.h"

#include <string.h>

bool smk_operand_fits(smk_type have, smk_type want, bool relaxed)
{
    smk_type_kind kind = smk_module_type_kind(want);
    smk_type_kind other = smk_module_type_kind(have);
    unsigned bits = smk_module_type_bits(want);
    unsigned width = smk_module_type_bits(have);
    if (have == want) {
        return true;
    }
    if (kind == SMK_KIND_PREDICATE || other == SMK_KIND_PREDICATE) {
        return false;
    }
    if (relaxed ? width < bits : width != bits) {
        return false;
    }
    if (kind == SMK_KIND_BITS || other == SMK_KIND_BITS) {
        return true;
    }
    if (have == SMK_TYPE_F16X2 && kind != SMK_KIND_FLOAT) {
        return true; /* set.gtu.u32.f16x2 writes such a register, and ptxas takes it for one of .b32 */
    }
    if (kind == SMK_KIND_FLOAT) {
        /* Old compilers keep half precision in integer registers. */
        bool packed = want == SMK_TYPE_F16 || want == SMK_TYPE_F16X2 || want == SMK_TYPE_BF16 ||
                      want == SMK_TYPE_BF16X2 || want == SMK_TYPE_TF32;
        return packed && width == bits && other != SMK_KIND_FLOAT;
    }
    return other != SMK_KIND_FLOAT;
}

static uint64_t mask_of(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

bool smk_operand_convert(const smk_operand *operand, smk_type type, uint64_t *bits)
{
    smk_constant constant = {(smk_type)operand->type, operand->bits};
    bool is_float = smk_module_type_kind(constant.type) == SMK_KIND_FLOAT;
    unsigned width = smk_module_type_bits(type);
    switch (smk_module_type_kind(type)) {
    case SMK_KIND_PREDICATE:
        *bits = constant.bits != 0;
        return !is_float;
    case SMK_KIND_FLOAT:
        return is_float && smk_constant_float_bits(&constant, type, bits);
    case SMK_KIND_BITS:
        *bits = constant.bits & mask_of(width);
        return !is_float || smk_module_type_bits(constant.type) == width;
    case SMK_KIND_NONE:
    case SMK_KIND_UNSIGNED:
    case SMK_KIND_SIGNED:
        break;
    }
    *bits = constant.bits & mask_of(width);
    return !is_float && width <= 64;
}

static smk_status mismatch(smk_parser *parser, const smk_statement *statement, unsigned index, smk_type type)
{
    const smk_token *at = &statement->operand_at[index];
    return smk_parse_fail(parser, at, SMK_PTX_TYPE, "'%s': operand %u, '%.*s', does not fit the type .%s",
                          smk_module_opcode_name((smk_opcode)statement->instruction.opcode), index + 1,
                          SMK_TEXT_PRINT(at->text), smk_module_type_name(type));
}

static smk_status misplaced(smk_parser *parser, const smk_statement *statement, unsigned index, const char *wanted)
{
    const smk_token *at = &statement->operand_at[index];
    return smk_parse_fail(parser, at, SMK_PTX, "'%s': operand %u must be %s, found '%.*s'",
                          smk_module_opcode_name((smk_opcode)statement->instruction.opcode), index + 1, wanted,
                          SMK_TEXT_PRINT(at->text));
}

static smk_type register_type(const smk_parser *parser, const smk_operand *operand)
{
    return (smk_type)((const smk_register *)parser->registers.items)[operand->index].type;
}

static bool special_fits(const smk_operand *operand, smk_type type, bool relaxed)
{
    unsigned width = smk_module_type_bits(type);
    unsigned bits = smk_module_special_bits((smk_special)operand->index);
    smk_type_kind kind = smk_module_type_kind(type);
    if (kind == SMK_KIND_FLOAT || kind == SMK_KIND_PREDICATE) {
        return false;
    }
    /* Old PTX reads %tid and similar registers with 16 bits, and %gridid with 32. */
    bool old = (bits == 32 && width == 16) || (operand->index == SMK_SPECIAL_GRIDID && width == 32);
    return width == bits || old || (relaxed && width < bits);
}

static smk_status check_immediate(smk_parser *parser, const smk_statement *statement, unsigned index,
                                  const smk_operand_slot *slot, smk_operand *operand, bool apply)
{
    uint64_t bits = 0;
    if (slot->varying) {
        return misplaced(parser, statement, index, "a register");
    }
    if (!smk_operand_convert(operand, slot->type, &bits)) {
        return mismatch(parser, statement, index, slot->type);
    }
    if ((slot->role == 'i' && bits != operand->bits) ||
        (slot->ranged && (operand->bits < slot->least || operand->bits > slot->most))) {
        const smk_token *at = &statement->operand_at[index];
        return smk_parse_fail(parser, at, SMK_PTX, "'%s': operand %u, '%.*s', is out of range",
                              smk_module_opcode_name((smk_opcode)statement->instruction.opcode), index + 1,
                              SMK_TEXT_PRINT(at->text));
    }
    if (apply) {
        operand->bits = bits;
        operand->type = (uint8_t)slot->type;
    }
    return SMK_OK;
}

/* Are these parts of a register that a video instruction reads or writes? One with a 2 or 4 in its name takes as many of
 * twice that number, and writes some of them, each once, the highest first; another one takes a byte or half. */
static bool select_fits(const smk_statement *statement, const smk_operand_slot *slot, unsigned select)
{
    const char *name = smk_module_opcode_name((smk_opcode)statement->instruction.opcode);
    const char last = name[strlen(name) - 1];
    const unsigned width = last == '2' || last == '4' ? (unsigned)(last - '0') : 1;
    const unsigned count = select >> SMK_SELECT_COUNT_SHIFT & SMK_SELECT_MASK;
    const bool halves = (select & SMK_SELECT_HALVES) != 0, writes = slot->role == 'd';
    unsigned below = width == 1 ? (halves ? 2 : 4) : writes ? width : 2 * width;
    if (select == 0 || !slot->selects) {
        return select == 0;
    }
    if (width > 1 ? halves != (width == 2) || (writes ? count > width : count != width) : count != 1) {
        return false;
    }
    for (unsigned i = count; i-- > 0;) {
        const unsigned part = select >> i * SMK_SELECT_BITS & SMK_SELECT_MASK;
        if (part >= below) {
            return false;
        }
        below = writes ? part : below;
    }
    return true;
}

static smk_status check_register(smk_parser *parser, const smk_statement *statement, unsigned index,
                                 const smk_operand_slot *slot, smk_operand *operand, bool apply)
{
    if (slot->role == 'i') {
        return misplaced(parser, statement, index, "a constant");
    }
    bool negatable = slot->negatable || (slot->type == SMK_TYPE_PRED && slot->role == 's');
    smk_type have = register_type(parser, operand);
    smk_type_kind kind = smk_module_type_kind(have);
    /* r+4: becomes an addition before the instruction (expand.c) */
    bool number = kind != SMK_KIND_FLOAT && kind != SMK_KIND_PREDICATE && smk_module_type_bits(have) >= 16;
    if (operand->offset != 0 && slot->role == 'd') {
        return misplaced(parser, statement, index, "a register");
    }
    if (!select_fits(statement, slot, operand->select)) {
        return misplaced(parser, statement, index,
                         slot->selects ? "a register with parts that the instruction has, as in %r1.b0"
                                       : "a register as a whole");
    }
    if (!smk_operand_fits(have, slot->type, slot->relaxed) || (operand->negate && !negatable) ||
        (operand->offset != 0 && !number)) {
        return mismatch(parser, statement, index, slot->type);
    }
    if (apply) {
        operand->type = (uint8_t)slot->type;
    }
    return SMK_OK;
}

smk_status smk_operand_check_scalar(smk_parser *parser, const smk_statement *statement, unsigned index,
                                    const smk_operand_slot *slot, smk_operand *operand, bool apply)
{
    bool destination = slot->role == 'd';
    switch ((smk_operand_kind)operand->kind) {
    case SMK_OPERAND_REGISTER:
        return check_register(parser, statement, index, slot, operand, apply);
    case SMK_OPERAND_SINK:
        return destination && slot->sink ? SMK_OK
                                         : misplaced(parser, statement, index, destination ? "a register" : "a value");
    case SMK_OPERAND_IMMEDIATE:
        if (!destination) {
            return check_immediate(parser, statement, index, slot, operand, apply);
        }
        break;
    case SMK_OPERAND_SPECIAL:
        if (slot->special && special_fits(operand, slot->type, slot->relaxed)) {
            operand->type = apply ? (uint8_t)slot->type : operand->type;
            return SMK_OK;
        }
        if (slot->special) {
            return mismatch(parser, statement, index, slot->type);
        }
        break;
    case SMK_OPERAND_VARIABLE:
        if (slot->role == 'a') {
            operand->type = apply ? (uint8_t)slot->type : operand->type;
            operand->base_kind = apply ? SMK_OPERAND_NONE : operand->base_kind;
            return SMK_OK;
        }
        break;
    case SMK_OPERAND_NONE:
    case SMK_OPERAND_FUNCTION:
    case SMK_OPERAND_LABEL:
    case SMK_OPERAND_ADDRESS:
    case SMK_OPERAND_LIST:
        break;
    }
    return misplaced(parser, statement, index,
                     slot->role == 'i' ? "a constant"
                     : destination     ? "a register"
                                       : "a register or a constant");
}

static const char *space_name(smk_space space)
{
    static const char *const names[] = {"generic", "global", "shared", "local", "const", "param"};
    return names[space];
}

static smk_status check_address(smk_parser *parser, const smk_statement *statement, unsigned index, smk_space space,
                                smk_operand *operand, bool apply)
{
    const smk_token *at = &statement->operand_at[index];
    bool subscript = operand->kind == SMK_OPERAND_VARIABLE && operand->base_kind == SMK_OPERAND_VARIABLE;
    if (operand->kind != SMK_OPERAND_ADDRESS && !subscript) {
        return misplaced(parser, statement, index, "an address in brackets");
    }
    if (operand->base_kind == SMK_OPERAND_REGISTER) {
        smk_type type = register_type(parser, operand);
        smk_type_kind kind = smk_module_type_kind(type);
        /* libcu++ hands cp.async.mbarrier.arrive an address in shared memory without naming the space */
        const bool shared = smk_module_has(&statement->instruction, SMK_MODIFIER_MBARRIER);
        bool narrow = (space != SMK_SPACE_GENERIC && space != SMK_SPACE_GLOBAL) || shared;
        unsigned bits = smk_module_type_bits(type);
        if (kind == SMK_KIND_FLOAT || kind == SMK_KIND_PREDICATE || (bits != 64 && !(narrow && bits == 32))) {
            return smk_parse_fail(parser, at, SMK_PTX_TYPE,
                                  "'%.*s': an address in %s memory cannot be a register of type .%s",
                                  SMK_TEXT_PRINT(at->text), space_name(space), smk_module_type_name(type));
        }
    } else if (operand->base_kind == SMK_OPERAND_VARIABLE) {
        smk_space own = (smk_space)smk_parse_variable(parser, operand->index)->space;
        const bool unnamed =
            own == SMK_SPACE_CONST || own == SMK_SPACE_PARAM; /* of no generic address in machine code */
        if (space != SMK_SPACE_GENERIC ? own != space : unnamed && !parser->expands) {
            return smk_parse_fail(parser, at, SMK_PTX,
                                  "'%.*s' lies in %s memory, and the instruction accesses %s memory",
                                  SMK_TEXT_PRINT(at->text), space_name(own), space_name(space));
        }
    } else if (space != SMK_SPACE_LOCAL && !parser->expands) {
        return smk_parse_fail(parser, at, SMK_PTX, "'%.*s': an address in %s memory cannot be a constant",
                              SMK_TEXT_PRINT(at->text), space_name(space));
    }
    if (apply) {
        operand->kind = SMK_OPERAND_ADDRESS;
        operand->type = SMK_TYPE_NONE;
    }
    return SMK_OK;
}

static smk_status check_list(smk_parser *parser, const smk_statement *statement, unsigned index,
                             const smk_operand_slot *slot, smk_operand *operand, bool apply)
{
    for (uint32_t i = 0; i < operand->count; i++) {
        SMK_TRY(smk_operand_check_scalar(parser, statement, index, slot, &operand->element[i], apply));
    }
    return SMK_OK;
}

/* d|p */
static smk_status check_pair(smk_parser *parser, const smk_statement *statement, unsigned index,
                             const smk_operand_slot *slot, smk_operand *operand, bool apply)
{
    smk_operand_slot first = *slot;
    smk_operand_slot second = *slot;
    first.sink = true;
    second.sink = !slot->must_pair;
    second.type = SMK_TYPE_PRED;
    SMK_TRY(smk_operand_check_scalar(parser, statement, index, &first, &operand->element[0], apply));
    return smk_operand_check_scalar(parser, statement, index, &second, &operand->element[1], apply);
}

/* {r} where one register stands: ptxas takes it for loads, stores and moves, and it means r. */
static smk_status check_single(smk_parser *parser, const smk_statement *statement, unsigned index,
                               const smk_operand_slot *slot, smk_operand *operand, bool apply)
{
    smk_operand element = operand->element[0];
    SMK_TRY(smk_operand_check_scalar(parser, statement, index, slot, &element, apply));
    *operand = apply ? element : *operand;
    return SMK_OK;
}

/* The parts of 128 bits: a register of that size is a pair (variable.c). */
static smk_status check_wide(smk_parser *parser, const smk_statement *statement, unsigned index, char role,
                             smk_operand *operand, uint32_t parts, bool apply)
{
    const smk_operand_slot part = {.role = role, .sink = role == 'd', .type = parts == 2 ? SMK_TYPE_B64 : SMK_TYPE_B32};
    if (operand->kind != SMK_OPERAND_LIST || operand->pair || operand->texel || operand->count != parts) {
        return misplaced(parser, statement, index, "a register of type .b128");
    }
    return check_list(parser, statement, index, &part, operand, apply);
}

smk_status smk_operand_check(smk_parser *parser, const smk_statement *statement, unsigned index,
                             const smk_operand_slot *slot, smk_operand *operand, bool apply)
{
    unsigned width = slot->count != 0 ? slot->count : statement->instruction.vector;
    if (slot->role == 'm') {
        return check_address(parser, statement, index, slot->space, operand, apply);
    }
    if (slot->role == 'l') {
        return operand->kind == SMK_OPERAND_LABEL ? SMK_OK : misplaced(parser, statement, index, "a label");
    }
    if (slot->role == '_') {
        return operand->kind == SMK_OPERAND_SINK ? SMK_OK : misplaced(parser, statement, index, "the sink _");
    }
    if (slot->role == 'x') {
        return smk_texel_check(parser, statement, index, slot, operand, apply);
    }
    bool is_list = operand->kind == SMK_OPERAND_LIST;
    if (slot->role == 'd' && slot->sink && operand->kind == SMK_OPERAND_SINK) {
        return SMK_OK;
    }
    if (slot->type == SMK_TYPE_B128 && width == 1) {
        return check_wide(parser, statement, index, slot->role, operand, 2, apply);
    }
    if (is_list && operand->resident && slot->pair) {
        return smk_texel_check_resident(parser, statement, index, slot, operand, apply);
    }
    if (slot->count != 0 || (slot->vector && width > 1)) {
        smk_operand_slot element = *slot;
        element.sink = true;
        element.special = element.special || slot->vector; /* {r, %tid.x} is taken where %tid.x alone is not */
        if (!is_list || operand->pair || operand->texel || operand->resident || operand->count != width) {
            const smk_token *at = &statement->operand_at[index];
            return smk_parse_fail(parser, at, SMK_PTX, "operand %u must be a list of %u in braces, found '%.*s'",
                                  index + 1, width, SMK_TEXT_PRINT(at->text));
        }
        return check_list(parser, statement, index, &element, operand, apply);
    }
    if (is_list && !operand->pair && operand->count == 1 && slot->vector) {
        return check_single(parser, statement, index, slot, operand, apply);
    }
    if (is_list && operand->pair && slot->pair) {
        return check_pair(parser, statement, index, slot, operand, apply);
    }
    if (slot->must_pair) {
        return misplaced(parser, statement, index, "a pair, d|p");
    }
    return smk_operand_check_scalar(parser, statement, index, slot, operand, apply);
}

static smk_type bits_type(unsigned bits)
{
    return bits == 8 ? SMK_TYPE_B8 : bits == 16 ? SMK_TYPE_B16 : bits == 32 ? SMK_TYPE_B32 : SMK_TYPE_B64;
}

/* mov.b64 {a, b}, c and mov.b64 c, {a, b} */
static smk_status check_pack(smk_parser *parser, smk_statement *statement, unsigned list, bool apply)
{
    smk_instruction *instruction = &statement->instruction;
    smk_type type = (smk_type)instruction->type;
    smk_operand *operand = &instruction->operands[list];
    unsigned bits = smk_module_type_bits(type);
    bool good = smk_module_type_kind(type) == SMK_KIND_BITS && !operand->pair && operand->count != 0 &&
                (operand->count == 1 || operand->count == 2 || operand->count == 4) && bits / operand->count >= 8 &&
                bits <= 64;
    if (!good) {
        return mismatch(parser, statement, list, type);
    }
    smk_operand_slot part = {.role = list == 0 ? 'd' : 's',
                             .sink = list == 0 && operand->count > 1,
                             .special = true,
                             .type = bits_type(bits / operand->count)};
    smk_operand_slot whole = {.role = list == 0 ? 's' : 'd', .special = true, .type = type};
    if (operand->count == 1) {
        SMK_TRY(check_single(parser, statement, list, &part, operand, apply));
    } else {
        SMK_TRY(check_list(parser, statement, list, &part, operand, apply));
    }
    return smk_operand_check_scalar(parser, statement, 1 - list, &whole, &instruction->operands[1 - list], apply);
}

/* mov d, address */
static smk_status check_address_of(smk_parser *parser, smk_statement *statement, bool apply)
{
    smk_instruction *instruction = &statement->instruction;
    smk_type type = (smk_type)instruction->type;
    smk_operand *source = &instruction->operands[1];
    smk_type_kind kind = smk_module_type_kind(type);
    unsigned bits = smk_module_type_bits(type);
    bool narrow = false;
    if (source->kind == SMK_OPERAND_VARIABLE) {
        smk_space space = (smk_space)smk_parse_variable(parser, source->index)->space;
        narrow = space != SMK_SPACE_GLOBAL;
    }
    if (kind == SMK_KIND_FLOAT || kind == SMK_KIND_PREDICATE || (bits != 64 && !(narrow && bits == 32))) {
        return mismatch(parser, statement, 1, type);
    }
    if (apply) {
        source->type = source->kind == SMK_OPERAND_VARIABLE ? (uint8_t)type : SMK_TYPE_NONE;
        source->base_kind = SMK_OPERAND_NONE;
    }
    return SMK_OK;
}

/* mov.v4 {a, b, c, d}, {e, f, g, h}; either list may be a vector of registers. */
static smk_status check_vector_move(smk_parser *parser, smk_statement *statement, bool apply)
{
    smk_instruction *instruction = &statement->instruction;
    const smk_operand_slot slots[2] = {
        {.role = 'd', .sink = true, .vector = true, .type = (smk_type)instruction->type},
        {.role = 's', .special = true, .vector = true, .type = (smk_type)instruction->type}};
    for (unsigned i = 0; i < 2; i++) {
        SMK_TRY(smk_operand_check(parser, statement, i, &slots[i], &instruction->operands[i], apply));
    }
    return SMK_OK;
}

smk_status smk_operand_check_mov(smk_parser *parser, smk_statement *statement, bool apply)
{
    smk_instruction *instruction = &statement->instruction;
    smk_operand *operands = instruction->operands;
    const smk_operand_slot destination = {.role = 'd', .type = (smk_type)instruction->type};
    const smk_operand_slot source = {.role = 's', .special = true, .type = (smk_type)instruction->type};
    if (instruction->vector > 1) {
        return check_vector_move(parser, statement, apply);
    }
    if (instruction->type == SMK_TYPE_B128) {
        const bool quarters[2] = {operands[0].count == 4, operands[1].count == 4 && operands[0].count != 4};
        SMK_TRY(check_wide(parser, statement, 0, 'd', &operands[0], quarters[0] ? 4 : 2, apply));
        return check_wide(parser, statement, 1, 's', &operands[1], quarters[1] ? 4 : 2, apply);
    }
    if (operands[0].kind == SMK_OPERAND_LIST) {
        return check_pack(parser, statement, 0, apply);
    }
    if (operands[1].kind == SMK_OPERAND_LIST) {
        return check_pack(parser, statement, 1, apply);
    }
    SMK_TRY(smk_operand_check_scalar(parser, statement, 0, &destination, &operands[0], apply));
    if (operands[1].kind == SMK_OPERAND_VARIABLE || operands[1].kind == SMK_OPERAND_FUNCTION) {
        return check_address_of(parser, statement, apply);
    }
    return smk_operand_check_scalar(parser, statement, 1, &source, &operands[1], apply);
}
