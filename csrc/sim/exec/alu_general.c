/* Rare forms of cvt, set and setp, each by one handler that reads what to do from op->u.immediate once a warp:
 * conversions through 64-bit integers and doubles (which hold every narrower type), comparisons with a second
 * predicate or result. The common forms have rows in alu.def. */
#include "sim/exec/alu.h"

#include "sim/exec/convert.h"

#include <math.h>
#include <string.h>

static smk_alu_general read_word(const smk_operation *op)
{
    smk_alu_general word;
    memcpy(&word, &op->u.immediate, sizeof word);
    return word;
}

static bool active(uint32_t mask, unsigned lane)
{
    return (mask >> lane & 1) != 0;
}

/* Loads the lanes of a row as bits. */
static void load_bits(const smk_warp *warp, uint32_t offset, unsigned storage, uint64_t bits[SMK_WARP_SIZE])
{
    const unsigned bytes = 1u << storage;
    const unsigned char *const row = warp->registers + offset;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        uint16_t half;
        uint32_t word;
        switch (storage) {
        case 1:
            memcpy(&half, row + i * bytes, sizeof half);
            bits[i] = half;
            break;
        case 2:
            memcpy(&word, row + i * bytes, sizeof word);
            bits[i] = word;
            break;
        default:
            memcpy(&bits[i], row + i * bytes, sizeof bits[i]);
        }
    }
}

static void store_bits(const smk_warp *warp, uint32_t offset, unsigned storage, const uint64_t bits[SMK_WARP_SIZE],
                       uint32_t mask)
{
    const unsigned bytes = 1u << storage;
    unsigned char *const row = warp->registers + offset;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        const uint16_t half = (uint16_t)bits[i];
        const uint32_t word = (uint32_t)bits[i];
        if (!active(mask, i))
            continue;
        if (storage == 1)
            memcpy(row + i * bytes, &half, sizeof half);
        else if (storage == 2)
            memcpy(row + i * bytes, &word, sizeof word);
        else
            memcpy(row + i * bytes, &bits[i], sizeof bits[i]);
    }
}

/* Truncates to the type's width and extends to 64 bits by its signedness. */
static void extend_bits(uint64_t bits[SMK_WARP_SIZE], smk_type type)
{
    const unsigned spare = 64 - smk_module_type_bits(type);
    const bool is_signed = smk_module_type_kind(type) == SMK_KIND_SIGNED;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++)
        bits[i] = is_signed ? (uint64_t)((int64_t)(bits[i] << spare) >> spare) : bits[i] << spare >> spare;
}

static void load_floats(const smk_warp *warp, uint32_t offset, unsigned storage, smk_type type, bool ftz,
                        double values[SMK_WARP_SIZE])
{
    uint64_t bits[SMK_WARP_SIZE];
    load_bits(warp, offset, storage, bits);
    if (type == SMK_TYPE_F64) {
        memcpy(values, bits, sizeof bits);
    } else if (type == SMK_TYPE_F16) {
        for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
            const uint16_t half = (uint16_t)bits[i];
            values[i] = (double)smk_widen_f16(ftz ? smk_flush_f16(half) : half);
        }
    } else if (type == SMK_TYPE_BF16) {
        for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
            const float single = smk_widen_bf16((uint16_t)bits[i]);
            values[i] = (double)(ftz ? smk_flush_f32(single) : single);
        }
    } else {
        for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
            const float single = smk_float_f32((uint32_t)bits[i]);
            values[i] = (double)(ftz ? smk_flush_f32(single) : single);
        }
    }
}

static bool is_float(smk_type type)
{
    return smk_module_type_kind(type) == SMK_KIND_FLOAT;
}

/* cvt ------------------------------------------------------------------------------------------------- */

static double round_integral(double x, smk_rounding rounding)
{
    switch (rounding) {
    case SMK_ROUND_ZERO:
        return trunc(x);
    case SMK_ROUND_DOWN:
        return floor(x);
    case SMK_ROUND_UP:
        return ceil(x);
    case SMK_ROUND_NEAREST:
    case SMK_ROUND_NEAREST_AWAY:
        break;
    }
    return rint(x);
}

/* The integer that a NaN becomes in PTX: 0, or the lowest signed number where either type has 64 bits. */
static uint64_t integer_of_nan(smk_type from, smk_type to)
{
    const unsigned bits = smk_module_type_bits(to);
    return from == SMK_TYPE_F64 || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
}

static uint64_t saturate_float(double x, smk_type from, smk_type to)
{
    const unsigned bits = smk_module_type_bits(to);
    const bool is_signed = smk_module_type_kind(to) == SMK_KIND_SIGNED;
    const double above = ldexp(1.0, (int)bits - (is_signed ? 1 : 0)); /* the smallest number that is too large */
    const double lowest = is_signed ? -above : 0.0;
    if (x != x)
        return integer_of_nan(from, to);
    if (x >= above)
        return is_signed ? (UINT64_C(1) << (bits - 1)) - 1 : UINT64_MAX >> (64 - bits);
    if (x <= lowest)
        return is_signed ? 0 - (UINT64_C(1) << (bits - 1)) : 0;
    return is_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
}

static uint64_t saturate_integer(uint64_t x, bool from_signed, smk_type to)
{
    const unsigned bits = smk_module_type_bits(to);
    const bool is_signed = smk_module_type_kind(to) == SMK_KIND_SIGNED;
    const uint64_t greatest = UINT64_MAX >> (64 - bits) >> (is_signed ? 1 : 0);
    if (from_signed && (int64_t)x < 0) {
        const int64_t lowest = is_signed ? -(int64_t)greatest - 1 : 0;
        return (int64_t)x < lowest ? (uint64_t)lowest : x;
    }
    return x > greatest ? greatest : x;
}

/* An integer as a double, in the given rounding. */
static double round_integer(uint64_t x, bool is_signed, smk_rounding rounding)
{
    const bool negative = is_signed && (int64_t)x < 0;
    const uint64_t magnitude = negative ? 0 - x : x;
    unsigned cut = 0;
    while (magnitude >> cut >> 53 != 0)
        cut++;
    const uint64_t kept = magnitude >> cut;
    const uint64_t rest = magnitude - (kept << cut);
    const uint64_t tie = cut == 0 ? 1 : UINT64_C(1) << (cut - 1);
    const bool up = rounding == SMK_ROUND_NEAREST ? rest > tie || (rest == tie && (kept & 1) != 0)
                    : rounding == SMK_ROUND_DOWN  ? negative && rest != 0
                    : rounding == SMK_ROUND_UP    ? !negative && rest != 0
                                                  : false;
    const double value = ldexp((double)(kept + up), (int)cut);
    return negative ? -value : value;
}

/* The bits of `x` in a float type. */
static uint64_t narrow(double x, smk_type to, const smk_alu_general *word)
{
    const smk_rounding rounding = (smk_rounding)word->rounding;
    const bool satfinite = (word->flags & SMK_GENERAL_SATFINITE) != 0;
    const bool ftz = (word->flags & SMK_GENERAL_FTZ) != 0;
    if ((word->flags & SMK_GENERAL_SAT) != 0)
        x = smk_sat_f64(x);
    if ((word->flags & SMK_GENERAL_RELU) != 0 && (x < 0.0 || (x == 0.0 && signbit(x))))
        x = 0.0;
    switch (to) {
    case SMK_TYPE_F16:
        return smk_narrow_f16(x, rounding, satfinite);
    case SMK_TYPE_BF16:
        return smk_narrow_bf16(x, rounding, satfinite);
    case SMK_TYPE_TF32:
        return smk_narrow_tf32(x, rounding, satfinite);
    case SMK_TYPE_F32: {
        const float single = smk_narrow_f32(x, rounding);
        return smk_bits_f32(ftz ? smk_flush_f32(single) : single);
    }
    default: /* .f64 */
        return smk_bits_f64(smk_nan_f64(x));
    }
}

/* The shift from a double's fraction to that of a format; 0: a format with a single NaN. */
static unsigned payload_shift(smk_type type)
{
    return type == SMK_TYPE_F16 ? 42 : type == SMK_TYPE_BF16 ? 45 : type == SMK_TYPE_F32 ? 29 : 0;
}

/* Does a NaN keep its bits? Outside double precision only a plain move keeps them. */
static bool passes_nan(smk_type from, smk_type to, const smk_alu_general *word)
{
    const bool plain = (word->flags & (SMK_GENERAL_FTZ | SMK_GENERAL_INTEGRAL)) == 0;
    const bool sat = (word->flags & SMK_GENERAL_SAT) != 0;
    return !sat && (from == SMK_TYPE_F64 || to == SMK_TYPE_F64 || (plain && from == to && from == SMK_TYPE_F32));
}

/* A NaN's bits in another format: sign and payload, made quiet except in a plain move of single and double
 * precision. */
static uint64_t pass_nan(uint64_t bits, smk_type from, smk_type to, const smk_alu_general *word)
{
    const unsigned shift_from = payload_shift(from);
    const unsigned shift_to = payload_shift(to);
    const unsigned spare = 64 - smk_module_type_bits(from);
    if (from == to)
        return (word->flags & SMK_GENERAL_INTEGRAL) != 0 ? bits | SMK_QUIET_F64 : bits;
    if (from == SMK_TYPE_F32 && (word->flags & SMK_GENERAL_FTZ) != 0)
        bits = SMK_NAN_BITS_F32;
    const uint64_t sign = bits << spare >> 63;
    const uint64_t fraction = (bits << shift_from & (UINT64_MAX >> 12)) | SMK_QUIET_F64;
    const uint64_t exponent = to == SMK_TYPE_F64   ? UINT64_C(0x7ff) << 52
                              : to == SMK_TYPE_F32 ? UINT64_C(0x7f800000)
                              : to == SMK_TYPE_F16 ? UINT64_C(0x7c00)
                                                   : UINT64_C(0x7f80);
    return sign << (smk_module_type_bits(to) - 1) | exponent | fraction >> shift_to;
}

static const smk_operation *convert_away_tf32(smk_warp *warp, const smk_operation *op, const smk_alu_general *word)
{
    uint64_t bits[SMK_WARP_SIZE];
    load_bits(warp, op->a, word->from_storage, bits);
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++)
        bits[i] = smk_away_tf32((uint32_t)bits[i], (word->flags & SMK_GENERAL_SATFINITE) != 0);
    store_bits(warp, op->d, word->to_storage, bits, smk_operation_mask(warp, op));
    return op + 1;
}

const smk_operation *smk_alu_convert(smk_warp *warp, const smk_operation *op)
{
    const smk_alu_general word = read_word(op);
    const smk_type from = (smk_type)word.from;
    const smk_type to = (smk_type)word.to;
    /* .ftz does not affect a conversion to f16: with .rp a subnormal becomes the least number (observed on sm_90) */
    const bool ftz = (word.flags & SMK_GENERAL_FTZ) != 0 && from == SMK_TYPE_F32 && to != SMK_TYPE_F16;
    const bool from_signed = smk_module_type_kind(from) == SMK_KIND_SIGNED;
    uint64_t bits[SMK_WARP_SIZE];
    double values[SMK_WARP_SIZE];

    if (to == SMK_TYPE_TF32 && word.rounding == SMK_ROUND_NEAREST_AWAY)
        return convert_away_tf32(warp, op, &word);
    const bool passes = is_float(from) && passes_nan(from, to, &word);
    load_bits(warp, op->a, word.from_storage, bits);
    if (is_float(from)) {
        load_floats(warp, op->a, word.from_storage, from, ftz, values);
    } else {
        extend_bits(bits, from);
    }
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        if (passes && is_float(to) && values[i] != values[i]) {
            bits[i] = pass_nan(bits[i], from, to, &word);
        } else if (is_float(from)) {
            double x = values[i];
            if (!is_float(to) || (word.flags & SMK_GENERAL_INTEGRAL) != 0)
                x = round_integral(x, (smk_rounding)word.rounding);
            bits[i] = is_float(to) ? narrow(x, to, &word) : saturate_float(x, from, to);
        } else if (!is_float(to)) {
            bits[i] = (word.flags & SMK_GENERAL_SAT) != 0 ? saturate_integer(bits[i], from_signed, to) : bits[i];
        } else if (to == SMK_TYPE_F64) {
            bits[i] = narrow(round_integer(bits[i], from_signed, (smk_rounding)word.rounding), to, &word);
        } else {
            const double odd = from_signed ? smk_odd_s64((int64_t)bits[i]) : smk_odd_u64(bits[i]);
            bits[i] = narrow(odd, to, &word);
        }
    }
    extend_bits(bits, to);
    store_bits(warp, op->d, word.to_storage, bits, smk_operation_mask(warp, op));
    return op + 1;
}

/* cvt.f16x2.f32 d, a, b: a becomes the upper half. */
const smk_operation *smk_alu_convert_pair(smk_warp *warp, const smk_operation *op)
{
    const smk_alu_general word = read_word(op);
    const smk_type to = word.to == SMK_TYPE_F16X2 ? SMK_TYPE_F16 : SMK_TYPE_BF16;
    const bool ftz = (word.flags & SMK_GENERAL_FTZ) != 0;
    double upper[SMK_WARP_SIZE];
    double lower[SMK_WARP_SIZE];
    uint64_t bits[SMK_WARP_SIZE];
    load_floats(warp, op->a, 2, SMK_TYPE_F32, ftz, upper);
    load_floats(warp, op->b, 2, SMK_TYPE_F32, ftz, lower);
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++)
        bits[i] = narrow(upper[i], to, &word) << 16 | narrow(lower[i], to, &word);
    store_bits(warp, op->d, 2, bits, smk_operation_mask(warp, op));
    return op + 1;
}

/* cvt.pack d, a, b, c: a, then b below it, saturated to a narrow integer, and c's low bits above both. Without c,
 * which has no row then, two of 16 bits fill the word. */
const smk_operation *smk_alu_convert_packed(smk_warp *warp, const smk_operation *op)
{
    const smk_alu_general word = read_word(op);
    const smk_type to = (smk_type)word.to;
    const unsigned width = smk_module_type_bits(to);
    const uint64_t low = UINT64_MAX >> (64 - width);
    uint64_t upper[SMK_WARP_SIZE];
    uint64_t lower[SMK_WARP_SIZE];
    uint64_t above[SMK_WARP_SIZE];
    load_bits(warp, op->a, 2, upper);
    load_bits(warp, op->b, 2, lower);
    extend_bits(upper, SMK_TYPE_S32);
    extend_bits(lower, SMK_TYPE_S32);
    if (width == 16)
        memset(above, 0, sizeof above);
    else
        load_bits(warp, op->c, 2, above);
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        const uint64_t pair =
            (saturate_integer(upper[i], true, to) & low) << width | (saturate_integer(lower[i], true, to) & low);
        above[i] = above[i] << 2 * width | pair;
    }
    store_bits(warp, op->d, 2, above, smk_operation_mask(warp, op));
    return op + 1;
}

/* comparisons ------------------------------------------------------------------------------------------- */

enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

/* The outcomes for which a comparison is true. */
static unsigned accepted(enum smk_alu_bit compare)
{
    switch (compare) {
    case SMK_ALU_BIT_EQ:
        return EQUAL;
    case SMK_ALU_BIT_NE:
        return LESS | GREATER;
    case SMK_ALU_BIT_LT:
    case SMK_ALU_BIT_LO:
        return LESS;
    case SMK_ALU_BIT_LE:
    case SMK_ALU_BIT_LS:
        return LESS | EQUAL;
    case SMK_ALU_BIT_GT:
    case SMK_ALU_BIT_HI:
        return GREATER;
    case SMK_ALU_BIT_GE:
    case SMK_ALU_BIT_HS:
        return GREATER | EQUAL;
    case SMK_ALU_BIT_EQU:
        return EQUAL | UNORDERED;
    case SMK_ALU_BIT_NEU:
        return LESS | GREATER | UNORDERED;
    case SMK_ALU_BIT_LTU:
        return LESS | UNORDERED;
    case SMK_ALU_BIT_LEU:
        return LESS | EQUAL | UNORDERED;
    case SMK_ALU_BIT_GTU:
        return GREATER | UNORDERED;
    case SMK_ALU_BIT_GEU:
        return GREATER | EQUAL | UNORDERED;
    case SMK_ALU_BIT_NUM:
        return LESS | EQUAL | GREATER;
    default: /* NAN */
        return UNORDERED;
    }
}

static uint32_t compare_floats(const double a[SMK_WARP_SIZE], const double b[SMK_WARP_SIZE], unsigned wanted)
{
    uint32_t result = 0;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        const unsigned outcome = a[i] < b[i] ? LESS : a[i] > b[i] ? GREATER : a[i] == b[i] ? EQUAL : UNORDERED;
        result |= (uint32_t)((wanted & outcome) != 0) << i;
    }
    return result;
}

/* Bit i: the comparison of lane i. `shift` selects a half of a packed pair. */
static uint32_t compare_rows(const smk_warp *warp, const smk_operation *op, const smk_alu_general *word, unsigned shift)
{
    const smk_type type = (smk_type)word->from;
    const unsigned wanted = accepted((enum smk_alu_bit)word->compare);
    const bool ftz = (word->flags & SMK_GENERAL_FTZ) != 0;
    const bool packed = type == SMK_TYPE_F16X2 || type == SMK_TYPE_BF16X2;
    const bool is_signed = smk_module_type_kind(type) == SMK_KIND_SIGNED;
    uint64_t a[SMK_WARP_SIZE];
    uint64_t b[SMK_WARP_SIZE];
    double x[SMK_WARP_SIZE];
    double y[SMK_WARP_SIZE];

    if (is_float(type) && !packed) {
        load_floats(warp, op->a, word->from_storage, type, ftz, x);
        load_floats(warp, op->b, word->from_storage, type, ftz, y);
        return compare_floats(x, y, wanted);
    }
    load_bits(warp, op->a, word->from_storage, a);
    load_bits(warp, op->b, word->from_storage, b);
    if (packed) {
        for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
            const uint16_t half_a = (uint16_t)(a[i] >> shift);
            const uint16_t half_b = (uint16_t)(b[i] >> shift);
            const bool flush = ftz && type == SMK_TYPE_F16X2;
            x[i] = (double)(type == SMK_TYPE_BF16X2 ? smk_widen_bf16(half_a)
                                                    : smk_widen_f16(flush ? smk_flush_f16(half_a) : half_a));
            y[i] = (double)(type == SMK_TYPE_BF16X2 ? smk_widen_bf16(half_b)
                                                    : smk_widen_f16(flush ? smk_flush_f16(half_b) : half_b));
        }
        return compare_floats(x, y, wanted);
    }
    extend_bits(a, type);
    extend_bits(b, type);
    uint32_t result = 0;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        const bool less = is_signed ? (int64_t)a[i] < (int64_t)b[i] : a[i] < b[i];
        const unsigned outcome = a[i] == b[i] ? EQUAL : less ? LESS : GREATER;
        result |= (uint32_t)((wanted & outcome) != 0) << i;
    }
    return result;
}

static uint32_t combine(const smk_warp *warp, const smk_operation *op, const smk_alu_general *word, uint32_t result)
{
    if (word->combine == 0)
        return result;
    const uint32_t c = *SMK_ROW(const uint32_t, warp, op->c) ^ op->flip_c;
    return word->combine == SMK_ALU_BIT_AND ? result & c : word->combine == SMK_ALU_BIT_OR ? result | c : result ^ c;
}

static void write_predicate(const smk_warp *warp, uint32_t offset, uint32_t value, uint32_t mask)
{
    uint32_t *const row = SMK_ROW(uint32_t, warp, offset);
    *row = (*row & ~mask) | (value & mask);
}

const smk_operation *smk_alu_setp(smk_warp *warp, const smk_operation *op)
{
    const smk_alu_general word = read_word(op);
    const uint32_t mask = smk_operation_mask(warp, op);
    const bool packed = word.from == SMK_TYPE_F16X2 || word.from == SMK_TYPE_BF16X2;
    const uint32_t first = compare_rows(warp, op, &word, 0);
    const uint32_t second = packed ? compare_rows(warp, op, &word, 16) : ~first;
    const uint32_t p = combine(warp, op, &word, first);
    const uint32_t q = combine(warp, op, &word, second);
    write_predicate(warp, op->d, p, mask);
    if ((word.flags & SMK_GENERAL_PAIR) != 0)
        write_predicate(warp, op->d2, q, mask);
    return op + 1;
}

static uint64_t truth(smk_type type)
{
    switch (type) {
    case SMK_TYPE_F32:
        return UINT32_C(0x3f800000);
    case SMK_TYPE_F16:
    case SMK_TYPE_F16X2:
        return 0x3c00;
    case SMK_TYPE_BF16:
    case SMK_TYPE_BF16X2:
        return 0x3f80;
    default: /* integers: all bits set */
        return UINT32_MAX;
    }
}

const smk_operation *smk_alu_set(smk_warp *warp, const smk_operation *op)
{
    const smk_alu_general word = read_word(op);
    const bool packed = word.from == SMK_TYPE_F16X2 || word.from == SMK_TYPE_BF16X2;
    const uint32_t lower = combine(warp, op, &word, compare_rows(warp, op, &word, 0));
    const uint32_t upper = packed ? combine(warp, op, &word, compare_rows(warp, op, &word, 16)) : 0;
    const uint64_t true_bits = packed ? truth((smk_type)word.to) & 0xffff : truth((smk_type)word.to);
    uint64_t bits[SMK_WARP_SIZE];
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++)
        bits[i] = (active(lower, i) ? true_bits : 0) | (active(upper, i) ? true_bits << 16 : 0);
    store_bits(warp, op->d, word.to_storage, bits, smk_operation_mask(warp, op));
    return op + 1;
}
