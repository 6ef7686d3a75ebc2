/* The approximate functions (ex2, lg2, sin, cos, tanh), computed in double precision without fused products, so that
 * every instruction set gives the same bits. Errors stay below one unit of the single-precision result, which is
 * within what the PTX ISA documents for each. */
#ifndef SMK_SIM_EXEC_ALU_APPROX_H
#define SMK_SIM_EXEC_ALU_APPROX_H

#include "sim/exec/convert.h"

#include <math.h>

#define SMK_LN2 0.693147180559945309417
#define SMK_TWO_OVER_LN2 2.885390081777926814720
#define SMK_TURN 6.283185307179586476925     /* 2 pi */
#define SMK_INTEGER_SHIFT 6755399441055744.0 /* 1.5 * 2^52: adding it rounds to an integer in the low bits */

/* 2^f - 1 for |f| <= 1/2: the exponential series in f ln 2. */
SMK_INLINE double smk_exp2_part(double f)
{
    const double t = f * SMK_LN2;
    double sum = 1.0 / 3628800.0;
    sum = sum * t + 1.0 / 362880.0;
    sum = sum * t + 1.0 / 40320.0;
    sum = sum * t + 1.0 / 5040.0;
    sum = sum * t + 1.0 / 720.0;
    sum = sum * t + 1.0 / 120.0;
    sum = sum * t + 1.0 / 24.0;
    sum = sum * t + 1.0 / 6.0;
    sum = sum * t + 0.5;
    return t + t * t * sum;
}

SMK_INLINE double smk_ex2(double x)
{
    const double above = x < -400.0 ? -400.0 : x; /* far outside the range of single precision; NaN is kept */
    const double bounded = above > 400.0 ? 400.0 : above;
    const double shifted = bounded + SMK_INTEGER_SHIFT;
    const double f = bounded - (shifted - SMK_INTEGER_SHIFT);
    const double scale = smk_float_f64((smk_bits_f64(shifted) - smk_bits_f64(SMK_INTEGER_SHIFT) + 1023) << 52);
    return scale + scale * smk_exp2_part(f);
}

SMK_INLINE double smk_lg2(double x)
{
    const uint64_t bits = smk_bits_f64(x);
    /* The exponent is counted from sqrt(1/2), so that the fraction lies in [sqrt(1/2), sqrt(2)). */
    const uint64_t root = UINT64_C(0x3fe6a09e667f3bcd);
    const int64_t steps = (int64_t)((bits - root) >> 52) - (bits < root ? 4096 : 0);
    const double m = smk_float_f64(bits - ((uint64_t)steps << 52));
    const double s = (m - 1.0) / (m + 1.0);
    const double s2 = s * s;
    double sum = 1.0 / 15.0;
    sum = sum * s2 + 1.0 / 13.0;
    sum = sum * s2 + 1.0 / 11.0;
    sum = sum * s2 + 1.0 / 9.0;
    sum = sum * s2 + 1.0 / 7.0;
    sum = sum * s2 + 1.0 / 5.0;
    sum = sum * s2 + 1.0 / 3.0;
    const double finite = (double)(int32_t)steps + SMK_TWO_OVER_LN2 * (s + s * s2 * sum);
    const double positive = x > 1e300 ? (double)INFINITY : finite;
    const double not_negative = x == 0.0 ? -(double)INFINITY : positive;
    return x >= 0.0 ? not_negative : (double)NAN;
}

/* Sine of a number of turns in [-1/2, 1/2]. */
SMK_INLINE double smk_sine_turn(double turns)
{
    const double half = turns > 0.25 ? 0.5 - turns : turns;
    const double quarter = half < -0.25 ? -0.5 - half : half;
    const double t = quarter * SMK_TURN;
    const double t2 = t * t;
    double sum = -1.0 / 1307674368000.0;
    sum = sum * t2 + 1.0 / 6227020800.0;
    sum = sum * t2 - 1.0 / 39916800.0;
    sum = sum * t2 + 1.0 / 362880.0;
    sum = sum * t2 - 1.0 / 5040.0;
    sum = sum * t2 + 1.0 / 120.0;
    sum = sum * t2 - 1.0 / 6.0;
    return t * (1.0 + t2 * sum); /* keeps the sign of zero */
}

/* The part of x between -1/2 and 1/2 behind the nearest integer; a number too large to have one gives 0. */
SMK_INLINE double smk_turn_part(double turns)
{
    const double whole = (turns + SMK_INTEGER_SHIFT) - SMK_INTEGER_SHIFT;
    const double magnitude = turns < 0.0 ? -turns : turns;
    return magnitude > 0x1p51 ? turns - turns : turns - whole; /* infinity gives NaN */
}

SMK_INLINE double smk_sin(double x)
{
    return smk_sine_turn(smk_turn_part(x * (1.0 / SMK_TURN)));
}

SMK_INLINE double smk_cos(double x)
{
    return smk_sine_turn(smk_turn_part(smk_turn_part(x * (1.0 / SMK_TURN)) + 0.25));
}

SMK_INLINE double smk_tanh(double x)
{
    const double above = x < -40.0 ? -40.0 : x;
    const double bounded = above > 40.0 ? 40.0 : above;
    const double y = bounded * (2.0 / SMK_LN2); /* e^2x = 2^y */
    const double shifted = y + SMK_INTEGER_SHIFT;
    const double f = y - (shifted - SMK_INTEGER_SHIFT);
    const double scale = smk_float_f64((smk_bits_f64(shifted) - smk_bits_f64(SMK_INTEGER_SHIFT) + 1023) << 52);
    const double minus_1 = (scale - 1.0) + scale * smk_exp2_part(f); /* e^2x - 1, exact in sign and near 0 */
    const double tiny = x < 0.0 ? -x : x;
    return tiny < 0x1p-100 ? x : minus_1 / (minus_1 + 2.0);
}

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and write the upper word only. */
SMK_INLINE double smk_upper_f64(double x)
{
    const uint64_t bits = smk_bits_f64(x);
    const uint64_t upper = bits >> 32 << 32;
    const double cut = smk_float_f64(upper);
    return smk_flush_f64(cut); /* a NaN without a digit in the upper word is an infinity (observed on sm_90) */
}

SMK_INLINE double smk_gross_f64(double x)
{
    const uint64_t bits = smk_bits_f64(x);
    const uint64_t upper = (bits + UINT64_C(0x80000000)) >> 32 << 32;
    const bool finite = (bits >> 52 & 0x7ff) != 0x7ff;
    const uint64_t number = smk_bits_f64(smk_flush_f64(smk_float_f64(finite ? upper : bits)));
    return smk_float_f64(x == x ? number : UINT64_C(0x7fffffff00000000));
}

/* div.approx: a times the reciprocal of b, which is flushed where |b| > 2^126. */
SMK_INLINE float smk_div_approx(float a, float b)
{
    const float magnitude = b < 0.0f ? -b : b;
    const float quotient = a / b;
    const float zero = a * smk_float_f32(smk_bits_f32(b) & UINT32_C(0x80000000));
    return magnitude > 0x1p126f && magnitude < (float)INFINITY ? zero : quotient;
}

#endif
