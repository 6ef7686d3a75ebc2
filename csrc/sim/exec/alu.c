/* Finds the arithmetic handler of an instruction. */
#include "sim/exec/alu.h"

#include "sim/code/isa.h"
#include "sim/exec/convert.h"
#include "sim/exec/video.h"

#include <string.h>

typedef struct alu_key {
    uint64_t flags;
    uint16_t opcode;
    uint8_t type;
    uint8_t source;
} alu_key;

static const alu_key keys[SMK_ALU_COUNT] = {
#define SMK_ALU(id, opcode, type, source, flags, body) {flags, SMK_OPCODE_##opcode, SMK_TYPE_##type, SMK_TYPE_##source},
#include "sim/exec/alu.def"
};

#define F(modifier) (UINT64_C(1) << SMK_ALU_BIT_##modifier)

static const uint64_t roundings = F(RN) | F(RZ) | F(RM) | F(RP) | F(RNA) | F(RNI) | F(RZI) | F(RMI) | F(RPI);

static const smk_handler *clone_current(void)
{
#if defined(SMK_ALU_X86)
    switch (smk_isa_current()) {
    case SMK_ISA_AVX512:
        return smk_alu_avx512;
    case SMK_ISA_AVX2:
        return smk_alu_avx2;
    case SMK_ISA_BASELINE:
    case SMK_ISA_COUNT:
        break;
    }
#endif
    return smk_alu_baseline;
}

static uint64_t read_flags(const smk_instruction *instruction)
{
    uint64_t flags = 0;
#define READ_FLAG(id) flags |= smk_module_has(instruction, SMK_MODIFIER_##id) ? F(id) : 0;
    SMK_ALU_MODIFIERS(READ_FLAG)
#undef READ_FLAG
    return flags;
}

static bool is_float(smk_type type)
{
    return smk_module_type_kind(type) == SMK_KIND_FLOAT;
}

static bool is_integer(smk_type type)
{
    const smk_type_kind kind = smk_module_type_kind(type);
    return kind == SMK_KIND_SIGNED || kind == SMK_KIND_UNSIGNED || kind == SMK_KIND_BITS;
}

static bool is_signed(smk_type type)
{
    return smk_module_type_kind(type) == SMK_KIND_SIGNED;
}

/* The unsigned type of a type's width. */
static smk_type unsigned_of(smk_type type)
{
    switch (smk_module_type_bits(type)) {
    case 8:
        return SMK_TYPE_U8;
    case 16:
        return SMK_TYPE_U16;
    case 32:
        return SMK_TYPE_U32;
    case 64:
        return SMK_TYPE_U64;
    default:
        return type;
    }
}

static smk_type bits_of(unsigned bits)
{
    return bits == 8 ? SMK_TYPE_B8 : bits == 16 ? SMK_TYPE_B16 : bits == 32 ? SMK_TYPE_B32 : SMK_TYPE_B64;
}

/* The row of the table, or SMK_ALU_COUNT. */
static size_t find_exact(alu_key key)
{
    size_t i = 0;
    while (i < SMK_ALU_COUNT && (keys[i].opcode != key.opcode || keys[i].flags != key.flags ||
                                 keys[i].type != key.type || keys[i].source != key.source))
        i++;
    return i;
}

/* The row of a key, else that for unsigned words of its width, which serves where sign and type do not matter. */
static size_t find_row(alu_key key)
{
    const bool moves = key.opcode == SMK_OPCODE_MOV || key.opcode == SMK_OPCODE_SELP || key.opcode == SMK_OPCODE_SLCT;
    size_t row = find_exact(key);
    if (is_float((smk_type)key.type) && !moves)
        return row;
    key.type = (uint8_t)unsigned_of((smk_type)key.type);
    if (row == SMK_ALU_COUNT)
        row = find_exact(key);
    key.source = (uint8_t)unsigned_of((smk_type)key.source);
    return row == SMK_ALU_COUNT ? find_exact(key) : row;
}

/* cvt -------------------------------------------------------------------------------------------------------- */

static unsigned natural_storage(smk_type type)
{
    const unsigned bits = smk_module_type_bits(type);
    return bits < 16 ? 16 : bits;
}

/* Is every value of `from` a value of `to`? */
static bool holds(smk_type to, smk_type from)
{
    const unsigned to_bits = smk_module_type_bits(to);
    const unsigned from_bits = smk_module_type_bits(from);
    if (is_signed(from))
        return is_signed(to) && to_bits >= from_bits;
    return is_signed(to) ? to_bits > from_bits : to_bits >= from_bits;
}

/* An integer conversion without saturation extends some low bits of the source's row. The exception (a negative number
 * converted to unsigned, then extended into a wider row) has no row in the table. */
static size_t find_extension(smk_type to, smk_type from, unsigned to_storage, unsigned from_storage)
{
    const unsigned to_bits = smk_module_type_bits(to);
    const unsigned from_bits = smk_module_type_bits(from);
    const bool widens = to_bits > from_bits;
    if (widens && is_signed(from) && !is_signed(to) && to_storage > to_bits)
        return SMK_ALU_COUNT;
    const smk_type read = widens ? from : to;
    const uint64_t width = to_storage == 16 ? F(TO16) : to_storage == 32 ? F(TO32) : F(TO64);
    alu_key key = {width, SMK_OPCODE_CVT, (uint8_t)read, (uint8_t)bits_of(from_storage)};
    const size_t row = find_exact(key);
    key.type = (uint8_t)unsigned_of(read); /* no extension: the sign does not matter */
    return row == SMK_ALU_COUNT && smk_module_type_bits(read) == to_storage ? find_exact(key) : row;
}

static bool is_convertible(smk_type type)
{
    return type == SMK_TYPE_F16 || type == SMK_TYPE_BF16 || type == SMK_TYPE_F32 || type == SMK_TYPE_F64 ||
           (is_integer(type) && smk_module_type_kind(type) != SMK_KIND_BITS && type != SMK_TYPE_U16X2 &&
            type != SMK_TYPE_S16X2);
}

/* Pairs of floats of at most 8 bits. */
static bool is_small_float(smk_type type)
{
    return type == SMK_TYPE_E4M3X2 || type == SMK_TYPE_E5M2X2 || type == SMK_TYPE_E2M3X2 || type == SMK_TYPE_E3M2X2 ||
           type == SMK_TYPE_E2M1X2 || type == SMK_TYPE_UE8M0X2;
}

static smk_handler find_convert(alu_key key, const unsigned storage_bits[SMK_OPERANDS_MAX])
{
    const smk_type to = (smk_type)key.type;
    const smk_type from = (smk_type)key.source;
    size_t row = SMK_ALU_COUNT;

    if (is_small_float(to) || is_small_float(from)) {
        row = find_exact(key);
        return row == SMK_ALU_COUNT ? NULL : clone_current()[row];
    }
    if ((to == SMK_TYPE_F16X2 || to == SMK_TYPE_BF16X2) && from == SMK_TYPE_F32)
        return smk_alu_convert_pair;
    if (!is_convertible(from) || !(is_convertible(to) || (to == SMK_TYPE_TF32 && from == SMK_TYPE_F32)))
        return NULL;
    if (is_integer(to) && is_integer(from)) {
        if ((key.flags & F(SAT)) == 0 || holds(to, from))
            row = find_extension(to, from, storage_bits[0], storage_bits[1]);
    } else if (storage_bits[0] == natural_storage(to) && storage_bits[1] == natural_storage(from)) {
        if (is_integer(from))
            key.flags &= ~F(FTZ); /* no integer becomes a subnormal number */
        if (is_integer(from) && (key.flags & roundings) == 0)
            key.flags |= F(RN);
        if (is_integer(to))
            key.flags &= ~F(SAT); /* it saturates anyway */
        if (from == SMK_TYPE_BF16 && (to == SMK_TYPE_F32 || to == SMK_TYPE_F64))
            key.flags &= ~roundings; /* nothing is rounded */
        if (is_integer(to) && (key.flags & (F(RZI) | F(RNI))) != 0)
            key.flags &= ~F(FTZ); /* a subnormal number becomes zero anyway */
        row = find_exact(key);
    }
    return row == SMK_ALU_COUNT ? smk_alu_convert : clone_current()[row];
}

/* the key ------------------------------------------------------------------------------------------------------ */

static alu_key read_key(const smk_instruction *instruction)
{
    const smk_operand *const operands = instruction->operands;
    alu_key key = {read_flags(instruction), instruction->opcode, instruction->type, instruction->source_type};
    const smk_type type = (smk_type)key.type;

    if (key.opcode == SMK_OPCODE_MAD && is_float(type))
        key.opcode = SMK_OPCODE_FMA;
    switch (key.opcode) {
    case SMK_OPCODE_ADD:
    case SMK_OPCODE_SUB:
    case SMK_OPCODE_MUL:
    case SMK_OPCODE_FMA:
        if (is_float(type) && (key.flags & roundings) == 0)
            key.flags |= F(RN);
        break;
    case SMK_OPCODE_MIN:
    case SMK_OPCODE_MAX:
        if (instruction->operand_count == 4)
            key.flags |= F(THREE);
        break;
    case SMK_OPCODE_MOV: {
        const bool split = operands[0].kind == SMK_OPERAND_LIST;
        const smk_operand *const list = split ? &operands[0] : &operands[1];
        if (list->kind != SMK_OPERAND_LIST || list->count == 0)
            break;
        key.flags |= (split ? F(SPLIT) : 0) | (list->count == 4 ? F(LIST4) : 0);
        key.type = (uint8_t)bits_of(smk_module_type_bits(type) / list->count);
        key.source = (uint8_t)bits_of(smk_module_type_bits(type));
        break;
    }
    case SMK_OPCODE_SETP: /* unsigned comparisons by other names */
        if (!is_float(type)) {
            key.flags |= (key.flags & F(LO) ? F(LT) : 0) | (key.flags & F(LS) ? F(LE) : 0) |
                         (key.flags & F(HI) ? F(GT) : 0) | (key.flags & F(HS) ? F(GE) : 0);
            key.flags &= ~(F(LO) | F(LS) | F(HI) | F(HS));
        }
        break;
    default: /* the words as they are written */
        break;
    }
    return key;
}

static bool is_pair(const smk_instruction *instruction)
{
    return instruction->operands[0].kind == SMK_OPERAND_LIST;
}

smk_handler smk_alu_find(const smk_instruction *instruction, const unsigned storage_bits[SMK_OPERANDS_MAX])
{
    const alu_key key = read_key(instruction);
    if (smk_video_is((smk_opcode)key.opcode)) {
        return smk_video_run;
    }
    switch (key.opcode) {
    case SMK_OPCODE_CVT:
        return smk_module_has(instruction, SMK_MODIFIER_PACK) ? smk_alu_convert_packed
                                                              : find_convert(key, storage_bits);
    case SMK_OPCODE_SET:
        return smk_alu_set;
    case SMK_OPCODE_SETP: {
        const size_t row = is_pair(instruction) ? SMK_ALU_COUNT : find_row(key);
        return row == SMK_ALU_COUNT ? smk_alu_setp : clone_current()[row];
    }
    case SMK_OPCODE_LOP3:
        if (is_pair(instruction))
            return NULL;
        break;
    default: /* one row of the table */
        break;
    }
    const size_t row = find_row(key);
    return row == SMK_ALU_COUNT ? NULL : clone_current()[row];
}

/* the word ------------------------------------------------------------------------------------------------------ */

static smk_rounding rounding_of(uint64_t flags, bool to_integer)
{
    if ((flags & (F(RZ) | F(RZI))) != 0)
        return SMK_ROUND_ZERO;
    if ((flags & (F(RM) | F(RMI))) != 0)
        return SMK_ROUND_DOWN;
    if ((flags & (F(RP) | F(RPI))) != 0)
        return SMK_ROUND_UP;
    if ((flags & F(RNA)) != 0)
        return SMK_ROUND_NEAREST_AWAY;
    return to_integer && (flags & roundings) == 0 ? SMK_ROUND_ZERO : SMK_ROUND_NEAREST;
}

static uint8_t storage_log2(unsigned bits)
{
    return bits >= 64 ? 3 : bits >= 32 ? 2 : 1;
}

/* The one bit of a set, or 0. */
static uint8_t first_bit(uint64_t flags)
{
    uint8_t bit = 0;
    while (flags > 1) {
        flags >>= 1;
        bit++;
    }
    return bit;
}

uint64_t smk_alu_word(const smk_instruction *instruction, const unsigned storage_bits[SMK_OPERANDS_MAX])
{
    const alu_key key = read_key(instruction);
    const bool compares = key.opcode == SMK_OPCODE_SET || key.opcode == SMK_OPCODE_SETP;
    if (key.opcode == SMK_OPCODE_LOP3)
        return instruction->operands[4].bits & 0xff;
    if (!compares && key.opcode != SMK_OPCODE_CVT)
        return 0;

    const smk_type to = (smk_type)key.type;
    const smk_type from = (smk_type)key.source;
    const uint64_t logic = F(AND) | F(OR) | F(XOR);
    const uint64_t comparisons = F(EQ) | F(NE) | F(LT) | F(LE) | F(GT) | F(GE) | F(LO) | F(LS) | F(HI) | F(HS) |
                                 F(EQU) | F(NEU) | F(LTU) | F(LEU) | F(GTU) | F(GEU) | F(NUM) | F(NAN);
    const uint64_t integral = F(RNI) | F(RZI) | F(RMI) | F(RPI);
    smk_alu_general word;
    memset(&word, 0, sizeof word);
    word.from = (uint8_t)from;
    word.to = (uint8_t)to;
    word.from_storage = storage_log2(compares ? natural_storage(from) : storage_bits[1]);
    word.to_storage = storage_log2(compares ? natural_storage(to) : storage_bits[0]);
    word.rounding = (uint8_t)rounding_of(key.flags, is_integer(to));
    word.compare = compares ? first_bit(key.flags & comparisons) : 0;
    word.combine = compares ? first_bit(key.flags & logic) : 0;
    word.flags =
        (uint8_t)((key.flags & F(FTZ) ? SMK_GENERAL_FTZ : 0) | (key.flags & F(SAT) ? SMK_GENERAL_SAT : 0) |
                  (key.flags & F(RELU) ? SMK_GENERAL_RELU : 0) |
                  (key.flags & F(SATFINITE) ? SMK_GENERAL_SATFINITE : 0) |
                  (key.flags & integral ? SMK_GENERAL_INTEGRAL : 0) | (is_pair(instruction) ? SMK_GENERAL_PAIR : 0));
    uint64_t packed;
    memcpy(&packed, &word, sizeof packed);
    return packed;
}
