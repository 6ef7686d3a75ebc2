/* Helpers of the arithmetic handlers that depend on the instruction set they are compiled for: predicate masks, fused
 * products, rounding modes; and functions of one lane that the expressions of alu.def call on floats and halves.
 * Included by alu_body.h only. */
#ifndef SMK_SIM_EXEC_ALU_LANE_H
#define SMK_SIM_EXEC_ALU_LANE_H

#include "sim/code/bits.h"
#include "sim/code/operation.h"
#include "sim/exec/alu_math.h"
#include "sim/exec/convert.h"

#include <fenv.h>
#include <math.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

#if defined(__GNUC__)
#define ROW_ATTRIBUTES __attribute__((may_alias))
#define NOINLINE __attribute__((noinline))
#define ALIGNED(pointer) __builtin_assume_aligned(pointer, 64)
#define FENCE(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")
#else
#define ROW_ATTRIBUTES
#define NOINLINE
#define ALIGNED(pointer) (pointer)
#define FENCE(pointer) ((void)(pointer))
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define EACH_LANE _Pragma("GCC ivdep") for (unsigned i = 0; i < SMK_WARP_SIZE; i++)
#else
#define EACH_LANE for (unsigned i = 0; i < SMK_WARP_SIZE; i++)
#endif

typedef uint16_t ROW_ATTRIBUTES row_u16;
typedef int16_t ROW_ATTRIBUTES row_s16;
typedef uint32_t ROW_ATTRIBUTES row_u32;
typedef int32_t ROW_ATTRIBUTES row_s32;
typedef uint64_t ROW_ATTRIBUTES row_u64;
typedef int64_t ROW_ATTRIBUTES row_s64;
typedef float ROW_ATTRIBUTES row_f32;
typedef double ROW_ATTRIBUTES row_f64;

/* masks ------------------------------------------------------------------------------------------- */

/* Bit i of a mask picks lane i. */
#define BITS_8(type, n)                                                                                                \
    (type)1 << (n), (type)1 << ((n) + 1), (type)1 << ((n) + 2), (type)1 << ((n) + 3), (type)1 << ((n) + 4),            \
        (type)1 << ((n) + 5), (type)1 << ((n) + 6), (type)1 << ((n) + 7)

static _Alignas(64) const uint64_t lane_bit_64[SMK_WARP_SIZE] = {BITS_8(uint64_t, 0), BITS_8(uint64_t, 8),
                                                                 BITS_8(uint64_t, 16), BITS_8(uint64_t, 24)};

static NOINLINE void blend_16(row_u16 *row, const row_u16 *result, uint32_t mask)
{
    row_u16 *const d = ALIGNED(row);
    for (unsigned half = 0; half < SMK_WARP_SIZE; half += 16) {
        const uint16_t part = (uint16_t)(mask >> half);
        for (unsigned i = 0; i < 16; i++)
            d[half + i] = (row_u16)(part & (uint16_t)smk_bits_lane[i] ? result[half + i] : d[half + i]);
    }
}

static NOINLINE void blend_32(row_u32 *row, const row_u32 *result, uint32_t mask)
{
    row_u32 *const d = ALIGNED(row);
    const row_u32 *const s = ALIGNED(result);
    EACH_LANE d[i] = mask & smk_bits_lane[i] ? s[i] : d[i];
}

static NOINLINE void blend_64(row_u64 *row, const row_u64 *result, uint32_t mask)
{
    row_u64 *const d = ALIGNED(row);
    const row_u64 *const s = ALIGNED(result);
    const uint64_t wide = mask;
    EACH_LANE d[i] = wide & lane_bit_64[i] ? s[i] : d[i];
}

/* Bit i is the top bit of lane i. */
SMK_INLINE uint32_t collect_32(const row_u32 *lanes)
{
    uint32_t mask = 0;
#if defined(__AVX512DQ__) && defined(__AVX512VL__)
    for (unsigned i = 0; i < SMK_WARP_SIZE; i += 8)
        mask |= (uint32_t)_mm256_movepi32_mask(_mm256_load_si256((const __m256i *)(const void *)(lanes + i))) << i;
#elif defined(__AVX2__)
    for (unsigned i = 0; i < SMK_WARP_SIZE; i += 8)
        mask |= (uint32_t)_mm256_movemask_ps(_mm256_load_ps((const float *)(const void *)(lanes + i))) << i;
#elif defined(__SSE2__)
    for (unsigned i = 0; i < SMK_WARP_SIZE; i += 4)
        mask |= (uint32_t)_mm_movemask_ps(_mm_load_ps((const float *)(const void *)(lanes + i))) << i;
#else
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++)
        mask |= (lanes[i] >> 31) << i;
#endif
    return mask;
}

SMK_INLINE uint32_t collect_64(const row_u64 *lanes)
{
    uint32_t mask = 0;
#if defined(__AVX512DQ__) && defined(__AVX512VL__)
    for (unsigned i = 0; i < SMK_WARP_SIZE; i += 4)
        mask |= (uint32_t)_mm256_movepi64_mask(_mm256_load_si256((const __m256i *)(const void *)(lanes + i))) << i;
#elif defined(__AVX2__)
    for (unsigned i = 0; i < SMK_WARP_SIZE; i += 4)
        mask |= (uint32_t)_mm256_movemask_pd(_mm256_load_pd((const double *)(const void *)(lanes + i))) << i;
#elif defined(__SSE2__)
    for (unsigned i = 0; i < SMK_WARP_SIZE; i += 2)
        mask |= (uint32_t)_mm_movemask_pd(_mm_load_pd((const double *)(const void *)(lanes + i))) << i;
#else
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++)
        mask |= (uint32_t)(lanes[i] >> 63) << i;
#endif
    return mask;
}

/* A predicate row is written where the mask says so. */
SMK_INLINE void write_predicate(smk_warp *warp, uint32_t offset, uint32_t value, uint32_t mask)
{
    row_u32 *const row = SMK_ROW(row_u32, warp, offset);
    *row = (*row & ~mask) | (value & mask);
}

SMK_INLINE uint32_t read_predicate(const smk_warp *warp, uint32_t offset, uint32_t flip)
{
    return *SMK_ROW(const row_u32, warp, offset) ^ flip;
}

/* fused products ------------------------------------------------------------------------------------ */

SMK_INLINE float fma_f32(bool directed, float a, float b, float c)
{
#if defined(__FMA__) || defined(__FP_FAST_FMAF)
    (void)directed;
    return __builtin_fmaf(a, b, c);
#else
    return directed ? fmaf(a, b, c) : (float)smk_odd_fma((double)a, (double)b, (double)c);
#endif
}

SMK_INLINE double fma_f64(double a, double b, double c)
{
    return fma(a, b, c);
}

/* halves: products are exact in single precision, f16, or in double precision, bf16; sums go to odd, and all are rounded
 * once ---------------------------------------------------------------------------------------------------------- */

#define WIDEN_f16(bits) smk_widen_f16(bits)
#define WIDEN_bf16(bits) ((double)smk_widen_bf16(bits))
#define NARROW_f16(x) smk_nearest_f16(x)
#define NARROW_bf16(x) smk_nearest_bf16(smk_odd_f32(x))
#define WIDE_f16 float
#define WIDE_bf16 double
#define INFINITY_f16 0x7c00u
#define INFINITY_bf16 0x7f80u

SMK_INLINE uint16_t sat_f16(uint16_t bits) /* negative numbers and NaN become zero */
{
    return (uint16_t)(bits > 0x7c00u ? 0 : bits > 0x3c00u ? 0x3c00u : bits);
}

SMK_INLINE uint16_t flush_bf16(uint16_t bits)
{
    return (uint16_t)((bits & 0x7f80u) == 0 ? bits & 0x8000u : bits);
}

SMK_INLINE uint16_t relu_half(uint16_t bits, uint32_t infinity) /* NaN stays */
{
    return (uint16_t)((bits & 0x8000u) != 0 && (bits & 0x7fffu) <= infinity ? 0 : bits);
}

SMK_INLINE uint16_t relu_f16(uint16_t bits)
{
    return relu_half(bits, INFINITY_f16);
}

SMK_INLINE uint16_t relu_bf16(uint16_t bits)
{
    return relu_half(bits, INFINITY_bf16);
}

/* Two halves as 8-bit floats, and back. */
SMK_INLINE uint16_t pack_half_float8(uint32_t halves, bool e5m2, bool relu)
{
    return smk_pack_float8((double)smk_widen_f16((uint16_t)(halves >> 16)), (double)smk_widen_f16((uint16_t)halves),
                           e5m2, relu);
}

/* Two numbers of 6 bits in bytes, or of 4 bits in one byte. */
SMK_INLINE uint16_t pack_small(double high, double low, unsigned digits, int bias, bool relu)
{
    return (uint16_t)(smk_narrow_small(high, digits, bias, relu) << (digits == 1 ? 4 : 8) |
                      smk_narrow_small(low, digits, bias, relu));
}

SMK_INLINE uint16_t pack_half_small(uint32_t halves, unsigned digits, int bias, bool relu)
{
    return pack_small((double)smk_widen_f16((uint16_t)(halves >> 16)), (double)smk_widen_f16((uint16_t)halves), digits,
                      bias, relu);
}

SMK_INLINE uint32_t unpack_small(uint16_t packed, unsigned digits, int bias, bool relu)
{
    const uint16_t high = smk_widen_small((uint32_t)packed >> (digits == 1 ? 4 : 8), digits, bias);
    const uint16_t low = smk_widen_small(packed, digits, bias);
    return relu ? (uint32_t)relu_f16(high) << 16 | relu_f16(low) : (uint32_t)high << 16 | low;
}

SMK_INLINE uint16_t pack_scales(uint32_t high, uint32_t low, bool up, bool satfinite)
{
    return (uint16_t)(smk_narrow_scale(high, up, satfinite) << 8 | smk_narrow_scale(low, up, satfinite));
}

SMK_INLINE uint32_t unpack_float8(uint16_t bytes, bool e5m2, bool relu)
{
    const uint16_t high = smk_widen_float8((uint8_t)(bytes >> 8), e5m2), low = smk_widen_float8((uint8_t)bytes, e5m2);
    return relu ? (uint32_t)relu_f16(high) << 16 | relu_f16(low) : (uint32_t)high << 16 | low;
}

SMK_INLINE uint16_t flush_sat_f16(uint16_t bits)
{
    return sat_f16(smk_flush_f16(bits));
}

SMK_INLINE uint16_t flush_relu_f16(uint16_t bits)
{
    return relu_f16(smk_flush_f16(bits));
}

/* Orders halves as signed integers; a negative zero is below a positive one, as in hardware. */
SMK_INLINE int32_t order_half(uint32_t bits)
{
    return (bits & 0x8000u) != 0 ? -(int32_t)(bits & 0x7fffu) - 1 : (int32_t)bits;
}

SMK_INLINE uint16_t extreme_half(uint32_t a, uint32_t b, uint32_t infinity, bool is_max, bool nan, bool xorsign)
{
    const uint32_t sign = xorsign ? (a ^ b) & 0x8000u : 0;
    const uint32_t x = xorsign ? a & 0x7fffu : a;
    const uint32_t y = xorsign ? b & 0x7fffu : b;
    const bool nan_a = (a & 0x7fffu) > infinity;
    const bool nan_b = (b & 0x7fffu) > infinity;
    const bool first = is_max ? order_half(x) > order_half(y) : order_half(x) < order_half(y);
    const uint32_t number = (nan_b || (!nan_a && first) ? x : y) | sign;
    return (uint16_t)((nan_a && nan_b) || (nan && (nan_a || nan_b)) ? 0x7fffu : number);
}

/* results of single precision ----------------------------------------------------------------------- */

SMK_INLINE float flush_nan_f32(float x)
{
    return smk_nan_f32(smk_flush_f32(x));
}

SMK_INLINE float flush_sat_f32(float x)
{
    return smk_sat_f32(smk_flush_f32(x));
}

SMK_INLINE float abs_f32(float x)
{
    return smk_float_f32(smk_bits_f32(x) & INT32_MAX);
}

SMK_INLINE float flush_abs_f32(float x)
{
    return abs_f32(smk_flush_f32(x));
}

/* min and max ---------------------------------------------------------------------------------------- */

SMK_INLINE float extreme_f32(float a, float b, bool is_max, bool nan, bool xorsign)
{
    const uint32_t x = xorsign ? smk_bits_f32(a) & INT32_MAX : smk_bits_f32(a);
    const uint32_t y = xorsign ? smk_bits_f32(b) & INT32_MAX : smk_bits_f32(b);
    const uint32_t sign = xorsign ? (smk_bits_f32(a) ^ smk_bits_f32(b)) & UINT32_C(0x80000000) : 0;
    /* As integers, negative numbers are in falling order; -0 comes below +0. */
    const int32_t order_x = (int32_t)(x ^ (uint32_t)((int32_t)x >> 31 & INT32_MAX));
    const int32_t order_y = (int32_t)(y ^ (uint32_t)((int32_t)y >> 31 & INT32_MAX));
    const bool first = is_max ? order_x > order_y : order_x < order_y;
    const uint32_t pick = first ? x : y;
    const uint32_t with_b = a == a ? pick : y;
    const uint32_t number = (b == b ? with_b : x) | sign;
    const bool bad = nan ? !((a == a) & (b == b)) : !((a == a) | (b == b));
    return smk_float_f32(bad ? SMK_NAN_BITS_F32 : number);
}

SMK_INLINE double extreme_f64(double a, double b, bool is_max)
{
    const uint64_t x = smk_bits_f64(a);
    const uint64_t y = smk_bits_f64(b);
    const bool negative_zero = a == b && (is_max ? y >> 63 != 0 : x >> 63 != 0); /* then a for max, a for min */
    const bool first = (is_max ? a > b : a < b) || negative_zero;
    const uint64_t pick = first ? x : y;
    const uint64_t with_b = a == a ? pick : y;
    const uint64_t without_b = a == a ? x : y | SMK_QUIET_F64;
    return smk_float_f64(b == b ? with_b : without_b);
}

/* float to integer: towards zero, into the range, NaN as PTX has it for the pair of types ------------------ */

SMK_INLINE int32_t to_s32_f32(float x)
{
    const float inside = x >= -0x1p31f && x < 0x1p31f ? x : 0.0f;
    return x >= 0x1p31f ? INT32_MAX : x < -0x1p31f ? INT32_MIN : (int32_t)inside;
}

SMK_INLINE uint32_t to_u32_f32(float x)
{
    const float positive = x > 0.0f ? x : 0.0f;
    const bool big = positive >= 0x1p31f;
    const float part = big ? positive - 0x1p31f : positive;
    const uint32_t low = (uint32_t)(int32_t)(part < 0x1p31f ? part : 0.0f);
    return positive >= 0x1p32f ? UINT32_MAX : big ? low + UINT32_C(0x80000000) : low;
}

SMK_INLINE int32_t to_s32_f64(double x)
{
    const double inside = x > -0x1p31 - 1.0 && x < 0x1p31 ? x : 0.0;
    return x >= 0x1p31 ? INT32_MAX : x > -0x1p31 - 1.0 ? (int32_t)inside : INT32_MIN; /* NaN: INT32_MIN */
}

SMK_INLINE uint32_t to_u32_f64(double x)
{
    const double positive = x > 0.0 ? x : 0.0;
    const bool big = positive >= 0x1p31;
    const double part = big ? positive - 0x1p31 : positive;
    const uint32_t low = (uint32_t)(int32_t)(part < 0x1p31 ? part : 0.0);
    const uint32_t value = positive >= 0x1p32 ? UINT32_MAX : big ? low + UINT32_C(0x80000000) : low;
    return x == x ? value : UINT32_C(0x80000000);
}

SMK_INLINE int64_t to_s64_f64(double x)
{
    const double inside = x >= -0x1p63 && x < 0x1p63 ? x : 0.0;
    return x >= 0x1p63 ? INT64_MAX : x >= -0x1p63 ? (int64_t)inside : INT64_MIN;
}

SMK_INLINE uint64_t to_u64_f64(double x)
{
    const double positive = x > 0.0 ? x : 0.0;
    const bool big = positive >= 0x1p63;
    const double part = big ? positive - 0x1p63 : positive;
    const uint64_t low = (uint64_t)(int64_t)(part < 0x1p63 ? part : 0.0);
    const uint64_t value = positive >= 0x1p64 ? UINT64_MAX : big ? low + (UINT64_C(1) << 63) : low;
    return x == x ? value : UINT64_C(1) << 63;
}

/* rounding: .rz .rm .rp set the mode of this thread around the loop and put it back ------------------------- */

enum { DIRECTED_RN = 0, DIRECTED_RZ = 1, DIRECTED_RM = 1, DIRECTED_RP = 1 };
#define MODE_RN FE_TONEAREST
#define MODE_RZ FE_TOWARDZERO
#define MODE_RM FE_DOWNWARD
#define MODE_RP FE_UPWARD

SMK_INLINE int enter_rounding(bool directed, int mode)
{
    const int before = directed ? fegetround() : FE_TONEAREST;
    if (directed)
        (void)fesetround(mode);
    return before;
}

SMK_INLINE void leave_rounding(bool directed, int before, const void *result)
{
    if (directed) {
        FENCE(result); /* all stores of the loop are done */
        (void)fesetround(before);
    }
}

#endif
