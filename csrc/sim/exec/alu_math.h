/* Integer functions of one lane for the expressions of alu.def, without branches, so that loops of them vectorise.
 * Names follow the PTX instructions. */
#ifndef SMK_SIM_EXEC_ALU_MATH_H
#define SMK_SIM_EXEC_ALU_MATH_H

#include "sim/exec/convert.h"

/* counting -------------------------------------------------------------------------------------- */

SMK_INLINE uint32_t smk_popc_u32(uint32_t x)
{
    x -= (x >> 1) & UINT32_C(0x55555555);
    x = (x & UINT32_C(0x33333333)) + ((x >> 2) & UINT32_C(0x33333333));
    x = (x + (x >> 4)) & UINT32_C(0x0f0f0f0f);
    return (x * UINT32_C(0x01010101)) >> 24;
}

SMK_INLINE uint32_t smk_popc_u64(uint64_t x)
{
    return smk_popc_u32((uint32_t)x) + smk_popc_u32((uint32_t)(x >> 32));
}

SMK_INLINE uint32_t smk_clz_u32(uint32_t x)
{
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    return smk_popc_u32(~x);
}

SMK_INLINE uint32_t smk_clz_u64(uint64_t x)
{
    const uint32_t high = smk_clz_u32((uint32_t)(x >> 32));
    const uint32_t low = smk_clz_u32((uint32_t)x);
    return high == 32 ? 32 + low : high;
}

SMK_INLINE uint32_t smk_brev_u32(uint32_t x)
{
    x = (x >> 1 & UINT32_C(0x55555555)) | (x & UINT32_C(0x55555555)) << 1;
    x = (x >> 2 & UINT32_C(0x33333333)) | (x & UINT32_C(0x33333333)) << 2;
    x = (x >> 4 & UINT32_C(0x0f0f0f0f)) | (x & UINT32_C(0x0f0f0f0f)) << 4;
    x = (x >> 8 & UINT32_C(0x00ff00ff)) | (x & UINT32_C(0x00ff00ff)) << 8;
    return x >> 16 | x << 16;
}

SMK_INLINE uint64_t smk_brev_u64(uint64_t x)
{
    return (uint64_t)smk_brev_u32((uint32_t)x) << 32 | smk_brev_u32((uint32_t)(x >> 32));
}

/* Highest set bit, or UINT32_MAX. */
SMK_INLINE uint32_t smk_bfind_u32(uint32_t x)
{
    return 31 - smk_clz_u32(x);
}

SMK_INLINE uint32_t smk_bfind_u64(uint64_t x)
{
    return 63 - smk_clz_u64(x);
}

/* Distance to shift left so that the highest set bit reaches the top. */
SMK_INLINE uint32_t smk_shiftamt_u32(uint32_t x)
{
    return x == 0 ? UINT32_MAX : smk_clz_u32(x);
}

SMK_INLINE uint32_t smk_shiftamt_u64(uint64_t x)
{
    return x == 0 ? UINT32_MAX : smk_clz_u64(x);
}

/* fns: the offset-th set bit from base, upwards or downwards. */
SMK_INLINE uint32_t smk_fns_b32(uint32_t mask, uint32_t base, int32_t offset)
{
    const int32_t step = offset > 0 ? 1 : -1;
    int64_t left = offset > 0 ? offset : -(int64_t)offset;
    if (base > 31)
        return UINT32_MAX;
    if (left == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    for (int32_t position = (int32_t)base; position >= 0 && position < 32; position += step)
        if ((mask >> position & 1) != 0 && --left == 0)
            return (uint32_t)position;
    return UINT32_MAX;
}

/* shifts: amounts past the width act as the width ------------------------------------------------- */

SMK_INLINE uint16_t smk_shl_u16(uint16_t x, uint32_t n)
{
    return (uint16_t)(n > 15 ? 0 : (uint32_t)x << (n & 15));
}

SMK_INLINE uint32_t smk_shl_u32(uint32_t x, uint32_t n)
{
    return n > 31 ? 0 : x << (n & 31);
}

SMK_INLINE uint64_t smk_shl_u64(uint64_t x, uint32_t n)
{
    return n > 63 ? 0 : x << (n & 63);
}

SMK_INLINE uint16_t smk_shr_u16(uint16_t x, uint32_t n)
{
    return (uint16_t)(n > 15 ? 0 : (uint32_t)x >> (n & 15));
}

SMK_INLINE uint32_t smk_shr_u32(uint32_t x, uint32_t n)
{
    return n > 31 ? 0 : x >> (n & 31);
}

SMK_INLINE uint64_t smk_shr_u64(uint64_t x, uint32_t n)
{
    return n > 63 ? 0 : x >> (n & 63);
}

SMK_INLINE int16_t smk_shr_s16(int16_t x, uint32_t n)
{
    return (int16_t)((int32_t)x >> (n > 15 ? 15 : n));
}

SMK_INLINE int32_t smk_shr_s32(int32_t x, uint32_t n)
{
    return x >> (n > 31 ? 31 : n);
}

SMK_INLINE int64_t smk_shr_s64(int64_t x, uint32_t n)
{
    return x >> (n > 63 ? 63 : n);
}

/* The upper (l) or lower (r) word of b:a shifted by n <= 32. */
SMK_INLINE uint32_t smk_shf_l(uint32_t a, uint32_t b, uint32_t n)
{
    return (uint32_t)((((uint64_t)b << 32 | a) << n) >> 32);
}

SMK_INLINE uint32_t smk_shf_r(uint32_t a, uint32_t b, uint32_t n)
{
    return (uint32_t)(((uint64_t)b << 32 | a) >> n);
}

/* The same of n < 32, in 32-bit lanes. */
SMK_INLINE uint32_t smk_shf_l_wrap(uint32_t a, uint32_t b, uint32_t n)
{
    return b << n | a >> 1 >> (31 - n);
}

SMK_INLINE uint32_t smk_shf_r_wrap(uint32_t a, uint32_t b, uint32_t n)
{
    return a >> n | b << 1 << (31 - n);
}

/* bit fields --------------------------------------------------------------------------------------- */

SMK_INLINE uint64_t smk_low_mask(uint32_t bits) /* the lowest `bits` bits, all 64 from there on */
{
    return bits > 63 ? UINT64_MAX : (UINT64_C(1) << (bits & 63)) - 1;
}

SMK_INLINE uint32_t smk_bfe_u32(uint32_t a, uint32_t b, uint32_t c)
{
    return (uint32_t)(smk_shr_u32(a, b & 0xff) & smk_low_mask(c & 0xff));
}

/* The 32-bit forms use only the lowest 8 bits of position and length. PTX does not specify the rest; a GPU has no
 * 64-bit form, and the sequence of ptxas clamps instead (observed on sm_90). */
SMK_INLINE uint64_t smk_bfe_u64(uint64_t a, uint32_t b, uint32_t c)
{
    return smk_shr_u64(a, b) & smk_low_mask(c);
}

SMK_INLINE uint64_t smk_bfe_s64(uint64_t a, uint32_t b, uint32_t c)
{
    const uint64_t field = (uint64_t)smk_shr_s64((int64_t)a, b);
    const uint64_t mask = smk_low_mask(c);
    const uint64_t top = (uint64_t)b + c - 1;
    const uint64_t sign = c == 0 ? 0 : a >> (top > 63 ? 63 : top & 63) & 1;
    return (field & mask) | (~mask & (0 - sign));
}

SMK_INLINE uint32_t smk_bfe_s32(int32_t a, uint32_t b, uint32_t c)
{
    return (uint32_t)smk_bfe_s64((uint64_t)(int64_t)a, b & 0xff, c & 0xff);
}

SMK_INLINE uint64_t smk_bfi_u64(uint64_t a, uint64_t b, uint32_t c, uint32_t d)
{
    const uint64_t mask = smk_shl_u64(smk_low_mask(d), c);
    return (b & ~mask) | (smk_shl_u64(a, c) & mask);
}

SMK_INLINE uint32_t smk_bfi_u32(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return (uint32_t)smk_bfi_u64(a, b, c & 0xff, d & 0xff);
}

SMK_INLINE uint32_t smk_bmsk_wrap(uint32_t a, uint32_t b)
{
    return (uint32_t)(smk_low_mask(b & 31) << (a & 31));
}

SMK_INLINE uint32_t smk_bmsk_clamp(uint32_t a, uint32_t b)
{
    return (uint32_t)smk_shl_u64(smk_low_mask(b > 32 ? 32 : b), a);
}

SMK_INLINE uint32_t smk_szext_u32(uint32_t a, uint32_t bits)
{
    return (uint32_t)(a & smk_low_mask(bits));
}

SMK_INLINE uint32_t smk_szext_s32(uint32_t a, uint32_t bits)
{
    const uint32_t mask = (uint32_t)smk_low_mask(bits);
    const uint32_t sign = bits == 0 ? 0 : smk_shr_u32(a, bits - 1) & 1;
    return (a & mask) | (~mask & (0 - sign));
}

/* permutation: byte k of b:a ------------------------------------------------------------------------- */

SMK_INLINE uint32_t smk_prmt_byte(uint64_t bytes, uint32_t k)
{
    return (uint32_t)(bytes >> (8 * (k & 7))) & 0xff;
}

SMK_INLINE uint32_t smk_prmt_pick(uint64_t bytes, uint32_t b0, uint32_t b1, uint32_t b2, uint32_t b3)
{
    return smk_prmt_byte(bytes, b0) | smk_prmt_byte(bytes, b1) << 8 | smk_prmt_byte(bytes, b2) << 16 |
           smk_prmt_byte(bytes, b3) << 24;
}

SMK_INLINE uint32_t smk_prmt_field(uint64_t bytes, uint32_t selector) /* bit 3: eight copies of the sign */
{
    const uint32_t byte = smk_prmt_byte(bytes, selector);
    const uint32_t sign = 0xff * (byte >> 7);
    return (selector & 8) != 0 ? sign : byte;
}

SMK_INLINE uint32_t smk_prmt_any(uint64_t bytes, uint32_t c)
{
    return smk_prmt_field(bytes, c) | smk_prmt_field(bytes, c >> 4) << 8 | smk_prmt_field(bytes, c >> 8) << 16 |
           smk_prmt_field(bytes, c >> 12) << 24;
}

SMK_INLINE uint32_t smk_lower(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

SMK_INLINE uint32_t smk_higher(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* lop3: bit i of the table is the value for a = i >> 2 & 1, b = i >> 1 & 1, c = i & 1. */
SMK_INLINE uint32_t smk_lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t result = 0;
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t row = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        result |= row & (0 - (table >> i & 1));
    }
    return result;
}

/* products ------------------------------------------------------------------------------------------- */

SMK_INLINE uint64_t smk_mulhi_u64(uint64_t a, uint64_t b)
{
    const uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
    const uint64_t cross1 = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
    const uint64_t cross2 = (a & UINT32_MAX) * (b >> 32) + (cross1 & UINT32_MAX);
    return (a >> 32) * (b >> 32) + (cross1 >> 32) + (cross2 >> 32);
}

SMK_INLINE uint64_t smk_mulhi_s64(int64_t a, int64_t b)
{
    const uint64_t product = smk_mulhi_u64((uint64_t)a, (uint64_t)b);
    return product - (a < 0 ? (uint64_t)b : 0) - (b < 0 ? (uint64_t)a : 0);
}

SMK_INLINE uint32_t smk_mulhi_u32(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

SMK_INLINE uint32_t smk_mulhi_s32(int32_t a, int32_t b)
{
    return (uint32_t)((uint64_t)((int64_t)a * b) >> 32);
}

SMK_INLINE uint16_t smk_mulhi_u16(uint16_t a, uint16_t b)
{
    return (uint16_t)(((uint32_t)a * b) >> 16);
}

SMK_INLINE uint16_t smk_mulhi_s16(int16_t a, int16_t b)
{
    return (uint16_t)((uint32_t)((int32_t)a * b) >> 16);
}

SMK_INLINE int64_t smk_mul24_s32(uint32_t a, uint32_t b)
{
    return (int64_t)((int32_t)(a << 8) >> 8) * ((int32_t)(b << 8) >> 8);
}

SMK_INLINE uint64_t smk_mul24_u32(uint32_t a, uint32_t b)
{
    return (uint64_t)(a & 0xffffff) * (b & 0xffffff);
}

SMK_INLINE int32_t smk_clamp_s32(int64_t x)
{
    return (int32_t)(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x);
}

SMK_INLINE uint32_t smk_byte(uint32_t x, uint32_t k, bool is_signed)
{
    const uint32_t byte = x >> (8 * k) & 0xff;
    return is_signed ? (byte ^ 0x80) - 0x80 : byte;
}

SMK_INLINE uint32_t smk_half(uint32_t x, uint32_t k, bool is_signed)
{
    const uint32_t half = x >> (16 * k) & 0xffff;
    return is_signed ? (half ^ 0x8000) - 0x8000 : half;
}

SMK_INLINE uint32_t smk_dp4a(uint32_t a, uint32_t b, uint32_t c, bool signed_a, bool signed_b)
{
    for (uint32_t k = 0; k < 4; k++)
        c += smk_byte(a, k, signed_a) * smk_byte(b, k, signed_b);
    return c;
}

SMK_INLINE uint32_t smk_dp2a(uint32_t a, uint32_t b, uint32_t c, uint32_t first, bool signed_a, bool signed_b)
{
    for (uint32_t k = 0; k < 2; k++)
        c += smk_half(a, k, signed_a) * smk_byte(b, first + k, signed_b);
    return c;
}

/* quotients: a divisor of zero gives all ones, as the hardware's sequences do ---------------------------- */

SMK_INLINE uint32_t smk_div_u32(uint32_t a, uint32_t b)
{
    /* No quotient of 32-bit integers is so close below an integer that its double rounds up to it. */
    const double quotient = (double)a / (double)(b == 0 ? 1 : b);
#if defined(__AVX512VL__) /* has the conversion; others have that to signed integers alone */
    return b == 0 ? UINT32_MAX : (uint32_t)quotient;
#else
    const bool big = quotient >= 2147483648.0;
    const int32_t part = (int32_t)(big ? quotient - 2147483648.0 : quotient);
    const uint32_t whole = (uint32_t)part + (big ? UINT32_C(0x80000000) : 0);
    return b == 0 ? UINT32_MAX : whole;
#endif
}

SMK_INLINE uint32_t smk_rem_u32(uint32_t a, uint32_t b)
{
    return b == 0 ? UINT32_MAX : a - b * smk_div_u32(a, b);
}

SMK_INLINE uint32_t smk_abs_u32(int32_t a)
{
    return a < 0 ? 0 - (uint32_t)a : (uint32_t)a;
}

SMK_INLINE uint32_t smk_div_s32(int32_t a, int32_t b)
{
    const uint32_t quotient = smk_div_u32(smk_abs_u32(a), smk_abs_u32(b));
    return b == 0 ? UINT32_MAX : (a ^ b) < 0 ? 0 - quotient : quotient;
}

SMK_INLINE uint32_t smk_rem_s32(int32_t a, int32_t b)
{
    const uint32_t rest = smk_rem_u32(smk_abs_u32(a), smk_abs_u32(b));
    return b == 0 ? UINT32_MAX : a < 0 ? 0 - rest : rest;
}

SMK_INLINE uint64_t smk_div_u64(uint64_t a, uint64_t b)
{
    return b == 0 ? UINT64_MAX : a / b;
}

SMK_INLINE uint64_t smk_rem_u64(uint64_t a, uint64_t b)
{
    return b == 0 ? UINT64_MAX : a % b;
}

SMK_INLINE uint64_t smk_div_s64(int64_t a, int64_t b)
{
    if (b == 0)
        return UINT64_MAX;
    return b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
}

SMK_INLINE uint64_t smk_rem_s64(int64_t a, int64_t b)
{
    if (b == 0)
        return UINT64_MAX;
    return b == -1 ? 0 : (uint64_t)(a % b);
}

#endif
