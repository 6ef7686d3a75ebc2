/* Bits of floating-point formats, and exact conversion between them in every rounding mode, by rounding to odd first
 * where two roundings follow one another (Boldo and Melquiond, "Emulation of a FMA and Correctly Rounded Sums: Proved
 * Algorithms Using Rounding to Odd", 2008).
 *
 * All functions select among whole words, so that loops over lanes vectorise, and none depends on the rounding mode of
 * the host. Every narrowing makes NaN canonical: a GPU keeps no payload there.
 */
#ifndef SMK_SIM_EXEC_CONVERT_H
#define SMK_SIM_EXEC_CONVERT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define SMK_INLINE static inline __attribute__((always_inline, unused))
#else
#define SMK_INLINE static inline
#endif

typedef enum smk_rounding {
    SMK_ROUND_NEAREST, /* ties to even */
    SMK_ROUND_ZERO,
    SMK_ROUND_DOWN,
    SMK_ROUND_UP,
    SMK_ROUND_NEAREST_AWAY /* ties away from zero */
} smk_rounding;

#define SMK_NAN_BITS_F16 UINT16_C(0x7fff)
#define SMK_NAN_BITS_BF16 UINT16_C(0x7fff)
#define SMK_NAN_BITS_F32 UINT32_C(0x7fffffff)
#define SMK_NAN_BITS_TF32 UINT32_C(0x7fffe000)
#define SMK_NAN_BITS_F64 UINT64_C(0xfff8000000000000) /* without a NaN among the inputs */

SMK_INLINE uint32_t smk_bits_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

SMK_INLINE float smk_float_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

SMK_INLINE uint64_t smk_bits_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

SMK_INLINE double smk_float_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The NaN that an instruction returns, defined here alone. PTX does not specify it; this is the behaviour of an H200
 * (tests/sim/exec/nans_h200.json). Single precision and halves have one NaN for all inputs. Double precision returns
 * the input NaN with its sign and payload, made quiet. */
SMK_INLINE float smk_nan_f32(float x)
{
    return smk_float_f32(x == x ? smk_bits_f32(x) : SMK_NAN_BITS_F32);
}

SMK_INLINE double smk_nan_f64(double x)
{
    return smk_float_f64(x == x ? smk_bits_f64(x) : SMK_NAN_BITS_F64);
}

#define SMK_QUIET_F64 (UINT64_C(1) << 51)

SMK_INLINE bool smk_is_nan_f64(uint64_t bits)
{
    return (bits & (UINT64_MAX >> 1)) > UINT64_C(0x7ff0000000000000);
}

/* The result x of an operation on a; and on two or three operands, of which the first NaN counts. */
SMK_INLINE double smk_pass_f64(double x, double a)
{
    const uint64_t nan = a == a ? SMK_NAN_BITS_F64 : smk_bits_f64(a) | SMK_QUIET_F64;
    return smk_float_f64(x == x ? smk_bits_f64(x) : nan);
}

SMK_INLINE double smk_pass2_f64(double x, double first, double second)
{
    return smk_pass_f64(x, first == first ? second : first);
}

SMK_INLINE double smk_pass3_f64(double x, double first, double second, double third)
{
    return smk_pass2_f64(x, first, second == second ? third : second);
}

/* abs and neg are sums in hardware: `x`, or the NaN that a NaN in `a` becomes. */
SMK_INLINE uint64_t smk_sign_f64(uint64_t x, uint64_t a)
{
    return smk_is_nan_f64(a) ? a | SMK_QUIET_F64 : x;
}

SMK_INLINE uint32_t smk_sign_half(uint32_t x, uint32_t infinity)
{
    return (x & 0x7fffu) > infinity ? 0x7fffu : x;
}

/* Conversions between single and double precision keep as much of a payload as the result can hold. */
SMK_INLINE double smk_pass_f64_f32(float a)
{
    const uint64_t bits = smk_bits_f32(a);
    const uint64_t nan = (bits & UINT32_C(0x80000000)) << 32 | UINT64_C(0x7ff8000000000000) | (bits & 0x7fffff) << 29;
    return smk_float_f64(a == a ? smk_bits_f64((double)a) : nan);
}

SMK_INLINE float smk_pass_f32_f64(double a)
{
    const uint64_t bits = smk_bits_f64(a);
    const uint32_t nan =
        (uint32_t)(bits >> 32 & UINT32_C(0x80000000)) | UINT32_C(0x7fc00000) | (uint32_t)(bits >> 29 & 0x7fffff);
    return smk_float_f32(a == a ? smk_bits_f32((float)a) : nan);
}

/* .ftz: a subnormal becomes a zero of its sign. */
SMK_INLINE float smk_flush_f32(float x)
{
    const uint32_t bits = smk_bits_f32(x);
    return smk_float_f32((bits & UINT32_C(0x7f800000)) == 0 ? bits & UINT32_C(0x80000000) : bits);
}

SMK_INLINE double smk_flush_f64(double x)
{
    const uint64_t bits = smk_bits_f64(x);
    const uint64_t exponent = UINT64_C(0x7ff) << 52;
    return smk_float_f64((bits & exponent) == 0 ? bits & (UINT64_C(1) << 63) : bits);
}

SMK_INLINE uint16_t smk_flush_f16(uint16_t bits)
{
    return (uint16_t)((bits & 0x7c00u) == 0 ? bits & 0x8000u : bits);
}

/* .sat: to [+0, 1]; NaN becomes +0. */
SMK_INLINE float smk_sat_f32(float x)
{
    const float low = x > 0.0f ? x : 0.0f;
    return low < 1.0f ? low : 1.0f;
}

SMK_INLINE double smk_sat_f64(double x)
{
    const double low = x > 0.0 ? x : 0.0;
    return low < 1.0 ? low : 1.0;
}

/* The NaN, of either sign, that a tensor copy can write for elements outside of a tensor: .oob knows it. */
SMK_INLINE bool smk_is_outside(uint16_t half)
{
    return (half & 0x7fff) == 0x7ff7;
}

/* Widening is exact. A NaN stays a NaN. */
SMK_INLINE float smk_widen_f16(uint16_t half)
{
    const uint32_t magnitude = half & 0x7fffu;
    const float scaled = smk_float_f32(magnitude << 13) * 0x1p112f; /* moves the exponent's bias; subnormals too */
    const uint32_t special = magnitude >= 0x7c00u ? UINT32_C(0x7f800000) : 0;
    return smk_float_f32(smk_bits_f32(scaled) | special | (uint32_t)(half & 0x8000u) << 16);
}

SMK_INLINE float smk_widen_bf16(uint16_t half)
{
    return smk_float_f32((uint32_t)half << 16);
}

/* Rounds to a format of `digits` bits behind the point whose exponent has this bias (15 or 127), once, and returns
 * its bits, without a sign, aligned to the right. Overflow becomes infinity or the largest value, as the mode says. */
SMK_INLINE uint64_t smk_round_bits(double x, unsigned digits, int bias, smk_rounding rounding)
{
    const uint64_t bits = smk_bits_f64(x);
    const bool negative = bits >> 63 != 0;
    const uint64_t magnitude = bits & (UINT64_MAX >> 1);
    const int64_t exponent = (int64_t)(magnitude >> 52) - 1023 + bias; /* of the result, with its bias */
    const int64_t below = exponent < 1 ? 1 - exponent : 0;             /* digits lost to a subnormal result */
    const uint64_t shift = (uint64_t)(52 - (int64_t)digits + (below > 60 ? 60 : below));
    const uint64_t cut = shift > 62 ? 62 : shift;
    const uint64_t significand = magnitude == 0 ? 0 : (magnitude & (UINT64_MAX >> 12)) | UINT64_C(1) << 52;
    const uint64_t kept = significand >> cut;
    const uint64_t rest = significand & ((UINT64_C(1) << cut) - 1);
    const uint64_t tie = UINT64_C(1) << (cut - 1);
    uint64_t up = 0;
    if (rounding == SMK_ROUND_NEAREST)
        up = (rest > tie) | ((rest == tie) & (kept & 1));
    else if (rounding == SMK_ROUND_NEAREST_AWAY)
        up = rest >= tie;
    else if (rounding == SMK_ROUND_DOWN)
        up = negative & (rest != 0);
    else if (rounding == SMK_ROUND_UP)
        up = !negative & (rest != 0);
    const uint64_t base = exponent < 1 ? 0 : (uint64_t)(exponent - 1) << digits;
    return base + kept + up;
}

/* The same where the highest exponent is that of infinity, as in IEEE 754. */
SMK_INLINE uint32_t smk_narrow_bits(double x, unsigned digits, int bias, smk_rounding rounding, bool satfinite)
{
    const uint64_t magnitude = smk_bits_f64(x) & (UINT64_MAX >> 1), rounded = smk_round_bits(x, digits, bias, rounding);
    const bool negative = smk_bits_f64(x) >> 63 != 0;
    const uint64_t infinity = (uint64_t)(2 * bias + 1) << digits;
    const bool outwards = rounding == SMK_ROUND_NEAREST || rounding == SMK_ROUND_NEAREST_AWAY ||
                          (rounding == SMK_ROUND_DOWN && negative) || (rounding == SMK_ROUND_UP && !negative);
    const uint64_t overflow = outwards && !satfinite ? infinity : infinity - 1;
    const uint64_t source_infinity = UINT64_C(0x7ff) << 52;
    const uint64_t finite = rounded >= infinity ? overflow : rounded;
    return (uint32_t)(magnitude == source_infinity ? (satfinite ? infinity - 1 : infinity) : finite);
}

SMK_INLINE uint16_t smk_narrow_half(double x, unsigned digits, int bias, smk_rounding rounding, bool satfinite)
{
    const uint32_t sign = (uint32_t)(smk_bits_f64(x) >> 48) & 0x8000u;
    const uint32_t bits = smk_narrow_bits(x, digits, bias, rounding, satfinite) | sign;
    return (uint16_t)(x == x ? bits : 0x7fffu);
}

SMK_INLINE uint16_t smk_narrow_f16(double x, smk_rounding rounding, bool satfinite)
{
    return smk_narrow_half(x, 10, 15, rounding, satfinite);
}

SMK_INLINE uint16_t smk_narrow_bf16(double x, smk_rounding rounding, bool satfinite)
{
    return smk_narrow_half(x, 7, 127, rounding, satfinite);
}

/* Floats of 8 bits, e4m3 and e5m2: numbers beyond the largest become it. e4m3 has no infinity, and one NaN, 0x7f, which
 * is the NaN of e5m2 too. */
SMK_INLINE uint8_t smk_narrow_float8(double x, bool e5m2, bool relu)
{
    const uint64_t most = e5m2 ? 0x7b : 0x7e;
    const uint64_t rounded = smk_round_bits(x, e5m2 ? 2 : 3, e5m2 ? 15 : 7, SMK_ROUND_NEAREST);
    const uint64_t sign = smk_bits_f64(x) >> 56 & 0x80, finite = rounded > most ? most : rounded;
    return (uint8_t)(x != x ? 0x7f : relu && sign != 0 ? 0 : finite | sign);
}

SMK_INLINE uint16_t smk_pack_float8(double high, double low, bool e5m2, bool relu)
{
    return (uint16_t)(smk_narrow_float8(high, e5m2, relu) << 8 | smk_narrow_float8(low, e5m2, relu));
}

/* An 8-bit float as f16, which holds each of them. */
SMK_INLINE uint16_t smk_widen_float8(uint8_t byte, bool e5m2)
{
    const uint16_t sign = (uint16_t)((byte & 0x80) << 8), magnitude = byte & 0x7f;
    const uint16_t subnormal = smk_narrow_f16((double)magnitude * 0x1p-9, SMK_ROUND_NEAREST, false);
    const uint16_t wide = (uint16_t)(magnitude << 7) + UINT16_C(0x2000); /* exponents differ by 8 */
    if (magnitude > (e5m2 ? 0x7c : 0x7e)) {
        return SMK_NAN_BITS_F16;
    }
    return (uint16_t)(e5m2 ? byte << 8 : sign | (magnitude < 8 ? subnormal : wide));
}

/* Floats of 6 and 4 bits (e2m3, e3m2, e2m1), which have neither infinities nor NaN: `digits` behind the point, and two
 * or three bits of exponent. Numbers beyond the largest become it; a NaN becomes the largest positive one. */
SMK_INLINE uint32_t smk_narrow_small(double x, unsigned digits, int bias, bool relu)
{
    const uint32_t most = digits == 1 ? 0x7 : 0x1f, sign = smk_bits_f64(x) >> 63 != 0 ? most + 1 : 0;
    const uint64_t rounded = smk_round_bits(x, digits, bias, SMK_ROUND_NEAREST);
    return x != x ? most : relu && sign != 0 ? 0 : (rounded > most ? most : (uint32_t)rounded) | sign;
}

/* Such a float as f16, which holds each of them; bits above it are ignored. */
SMK_INLINE uint16_t smk_widen_small(uint32_t bits, unsigned digits, int bias)
{
    const uint32_t most = digits == 1 ? 0x7 : 0x1f, field = (bits & most) >> digits;
    const uint32_t fraction = bits & ((1U << digits) - 1), sign = (bits & (most + 1)) != 0 ? 0x8000 : 0;
    const double scale = smk_float_f64((uint64_t)((int)(field != 0 ? field : 1) - bias - (int)digits + 1023) << 52);
    const uint32_t significand = fraction | (field != 0 ? 1U << digits : 0);
    return (uint16_t)(smk_narrow_f16((double)significand * scale, SMK_ROUND_NEAREST, false) | sign);
}

/* A scale: the exponent alone of the magnitude of a single float, toward zero or up. */
SMK_INLINE uint32_t smk_narrow_scale(uint32_t single, bool up, bool satfinite)
{
    const uint32_t magnitude = single & UINT32_C(0x7fffffff), infinity = UINT32_C(0x7f800000);
    const bool more = up && (magnitude & UINT32_C(0x7fffff)) != 0 && magnitude > UINT32_C(0x400000);
    const uint32_t exponent = (magnitude >> 23) + (more && magnitude < infinity ? 1 : 0);
    return satfinite && exponent == 0xff && magnitude <= infinity ? 0xfe : exponent;
}

/* A scale as bf16: 2^-127 is a subnormal number. */
SMK_INLINE uint32_t smk_widen_scale(uint32_t scale)
{
    return scale == 0xff ? 0x7fff : scale == 0 ? 0x0040 : scale << 7;
}

/* A double as a float, rounded to odd: the last bit is set where the float is not exact. */
SMK_INLINE float smk_odd_f32(double x)
{
    const float single = (float)x;
    const double back = (double)single;
    const uint32_t bits = smk_bits_f32(single);
    const bool inexact = (back > x) | (back < x);
    const bool larger = (x > back) == (x > 0.0); /* the exact magnitude is larger */
    const uint32_t even = inexact ? ~bits & 1 : 0;
    return smk_float_f32(larger ? bits + even : bits - even);
}

/* To nearest, from a float: the same as smk_narrow_f16 and smk_narrow_bf16, in 32-bit words throughout. */
SMK_INLINE uint16_t smk_nearest_f16(float x)
{
    const uint32_t bits = smk_bits_f32(x);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & UINT32_C(0x7fffffff);
    /* 1/2 has its last bit where a subnormal half has it */
    const uint32_t small = smk_bits_f32(smk_float_f32(magnitude) + 0.5f) - UINT32_C(0x3f000000);
    const uint32_t normal = ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - (UINT32_C(112) << 10);
    const uint32_t rounded = magnitude < UINT32_C(0x38800000) ? small : normal;
    const uint32_t bounded = magnitude >= UINT32_C(0x47800000) ? 0x7c00u : rounded;
    return (uint16_t)(magnitude > UINT32_C(0x7f800000) ? SMK_NAN_BITS_F16 : bounded | sign);
}

SMK_INLINE uint16_t smk_nearest_bf16(float x)
{
    const uint32_t bits = smk_bits_f32(x);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000) ? SMK_NAN_BITS_BF16 : rounded);
}

/* tf32 lives in the upper 19 bits of a 32-bit word. */
SMK_INLINE uint32_t smk_narrow_tf32(double x, smk_rounding rounding, bool satfinite)
{
    const uint32_t sign = (uint32_t)(smk_bits_f64(x) >> 32) & UINT32_C(0x80000000);
    return x == x ? smk_narrow_bits(x, 10, 127, rounding, satfinite) << 13 | sign : SMK_NAN_BITS_TF32;
}

/* cvt.rna.tf32.f32 does not test for NaN: infinities and NaNs are truncated, not rounded, and .satfinite subtracts one
 * unit (observed on sm_90; the PTX ISA specifies a canonical NaN here). */
SMK_INLINE uint32_t smk_away_tf32(uint32_t bits, bool satfinite)
{
    const uint32_t infinity = UINT32_C(0x7f800000), step = UINT32_C(0x2000);
    const bool finite = (bits & infinity) != infinity;
    const uint32_t cut = (bits + (finite ? step / 2 : 0)) & ~(step - 1);
    return cut - (satfinite && (cut & infinity) == infinity ? step : 0);
}

SMK_INLINE float smk_narrow_f32(double x, smk_rounding rounding)
{
    const uint32_t sign = (uint32_t)(smk_bits_f64(x) >> 32) & UINT32_C(0x80000000);
    const uint32_t bits = smk_narrow_bits(x, 23, 127, rounding, false) | sign;
    return smk_float_f32(x == x ? bits : SMK_NAN_BITS_F32);
}

/* a + b rounded to odd: the last bit is set where the sum is not exact, so that a second rounding, to a format with at
 * least two digits less, gives the result of a single rounding. */
SMK_INLINE double smk_odd_add(double a, double b)
{
    const double sum = a + b;
    const double part = sum - a;
    const double error = (a - (sum - part)) + (b - part);
    const uint64_t bits = smk_bits_f64(sum);
    const bool inexact = (error > 0.0) | (error < 0.0);
    const bool larger = (error > 0.0) == (sum > 0.0); /* the exact magnitude is larger */
    const uint64_t even = inexact ? ~bits & 1 : 0;
    return smk_float_f64(larger ? bits + even : bits - even);
}

/* The same in single precision. Products of two f16 are exact there. */
SMK_INLINE float smk_odd_add_f32(float a, float b)
{
    const float sum = a + b;
    const float part = sum - a;
    const float error = (a - (sum - part)) + (b - part);
    const uint32_t bits = smk_bits_f32(sum);
    const bool inexact = (error > 0.0f) | (error < 0.0f);
    const bool larger = (error > 0.0f) == (sum > 0.0f); /* the exact magnitude is larger */
    const uint32_t even = inexact ? ~bits & 1 : 0;
    return smk_float_f32(larger ? bits + even : bits - even);
}

/* a * b + c rounded to odd, for factors of at most 24 digits, whose product is exact in a double. */
SMK_INLINE double smk_odd_fma(double a, double b, double c)
{
    return smk_odd_add(a * b, c);
}

/* An integer as a double, rounded to odd where it has more than 53 digits: at least 43 are kept, enough for every
 * narrower format. */
SMK_INLINE double smk_odd_u64(uint64_t x)
{
    const uint64_t high = x >> 11;
    const uint64_t low = x & 0x7ff;
    const uint64_t kept = x >> 53 == 0 ? x : (high | (low != 0)) << 11;
    return (double)kept;
}

SMK_INLINE double smk_odd_s64(int64_t x)
{
    const uint64_t magnitude = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    const double value = smk_odd_u64(magnitude);
    return x < 0 ? -value : value;
}

#endif
