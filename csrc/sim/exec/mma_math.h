/* How tensor cores add products of small floats: one row of 8 results. This file holds the whole model of the
 * hardware's numerics.
 *
 * Products are exact. They and the addend are aligned to the largest exponent among them, where a product's exponent
 * is the sum of its factors' (its significand lies in [1, 4) and is not normalised first), and each is cut toward zero
 * to SMK_MMA_FRACTION bits behind the point. The sum of what is left is exact, and is cut toward zero to single
 * precision, or rounded to the nearest f16; beyond its range it is infinite, and no zero is negative, not even what
 * is left of a negative sum that is too small. A subnormal number has the exponent of its format's smallest normal one.
 * An H200 has the same bits in every result that was compared (tests/sim/exec/mma_h200.json holds some of them). The
 * model follows Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", 2021.
 */
#ifndef SMK_SIM_EXEC_MMA_MATH_H
#define SMK_SIM_EXEC_MMA_MATH_H

#include "sim/exec/convert.h"
#include "sim/exec/mma.h"

#include <math.h>

enum {
    SMK_MMA_FRACTION = 25,
    SMK_MMA_EMPTY = -1000, /* the exponent of a zero: below that of any number */
    SMK_MMA_TOGETHER = 8,  /* number of products that are added in 32 bits before they are added to a double */
    SMK_MMA_SHIFT_MAX = 31
};

_Static_assert(4 * SMK_MMA_TOGETHER <= 1 << (31 - SMK_MMA_FRACTION), "aligned products overflow 32 bits");

/* A format of at most 32 bits; the `skipped` low bits of its register are ignored. */
typedef struct smk_mma_format {
    unsigned exponent_bits, fraction_bits, skipped;
} smk_mma_format;

/* Numbers taken apart: (-1)^sign * significand * 2^(exponent - fraction_bits); sign is 0 or -1. */
typedef struct smk_mma_parts {
    uint32_t significand[SMK_MMA_PARTS_MAX];
    int32_t exponent[SMK_MMA_PARTS_MAX];
    int32_t sign[SMK_MMA_PARTS_MAX];
} smk_mma_parts;

/* Splits numbers, with significands shifted left by `shift`. True where some are infinite or NaN. */
SMK_INLINE bool smk_mma_split(const smk_mma_format format, const uint32_t *numbers, unsigned count, unsigned shift,
                              smk_mma_parts *parts)
{
    const uint32_t most = (UINT32_C(1) << format.exponent_bits) - 1;
    const uint32_t implicit_bit = UINT32_C(1) << format.fraction_bits;
    const int32_t bias = (int32_t)(most / 2);
    uint32_t special = 0;
    for (unsigned i = 0; i < count; i++) {
        const uint32_t bits = numbers[i] >> format.skipped;
        const uint32_t field = bits >> format.fraction_bits & most;
        const uint32_t significand = (bits & (implicit_bit - 1)) | (field != 0 ? implicit_bit : 0);
        const int32_t exponent = (int32_t)(field != 0 ? field : 1) - bias;
        parts->significand[i] = significand << shift;
        parts->exponent[i] = significand != 0 ? exponent : SMK_MMA_EMPTY;
        parts->sign[i] = -(int32_t)(bits >> (format.exponent_bits + format.fraction_bits) & 1);
        special |= field == most ? UINT32_MAX : 0;
    }
    return special != 0;
}

/* Rounds to single precision toward zero; numbers beyond the largest become infinite, and -0 becomes 0. */
SMK_INLINE uint32_t smk_mma_narrow(double x)
{
    const float nearest = (float)x;
    const bool past = fabs((double)nearest) > fabs(x) && fabs(x) < 0x1p128;
    const uint32_t bits = smk_bits_f32(nearest) - (past ? 1 : 0);
    return bits == UINT32_C(0x80000000) ? 0 : bits;
}

/* Before a loop over columns, so that the compiler vectorises it and does not unroll it. */
#if defined(__GNUC__) && !defined(__clang__)
#define SMK_MMA_ONE_VECTOR _Pragma("GCC unroll 1")
#else
#define SMK_MMA_ONE_VECTOR
#endif

SMK_INLINE int32_t smk_mma_larger(int32_t x, int32_t y)
{
    return x > y ? x : y;
}

/* A significand cut to where `top` is the largest exponent, with its sign. */
SMK_INLINE int32_t smk_mma_cut(uint32_t significand, int32_t exponent, int32_t sign, int32_t top)
{
    const int32_t apart = top - exponent;
    const int32_t cut = (int32_t)(significand >> (apart < SMK_MMA_SHIFT_MAX ? apart : SMK_MMA_SHIFT_MAX));
    return (cut ^ sign) - sign;
}

/* The product of a's number x and b's y, cut. */
SMK_INLINE int32_t smk_mma_product(const smk_mma_parts *a, unsigned x, const smk_mma_parts *b, unsigned y, int32_t top)
{
    return smk_mma_cut(a->significand[x] * b->significand[y], a->exponent[x] + b->exponent[y], a->sign[x] ^ b->sign[y],
                       top);
}

/* d[j] = c[z + j] + sum of a[x + k] * b[8k + j] over `depth` k, a multiple of 4. A product of two significands, of
 * which smk_mma_split has moved a's left, has SMK_MMA_FRACTION bits behind the point, and so has c's. half: d in f16. */
SMK_INLINE void smk_mma_sum(unsigned depth, bool half, const smk_mma_parts *a, unsigned x, const smk_mma_parts *b,
                            const smk_mma_parts *c, unsigned z, uint32_t *d)
{
    enum { N = SMK_MMA_COLUMNS };
    int32_t top[N], sum[N];
    double total[N];
    SMK_MMA_ONE_VECTOR
    for (unsigned j = 0; j < N; j++) {
        top[j] = c->exponent[z + j];
    }
    for (unsigned k = 0; k < depth; k += 4) {
        const int32_t *with = a->exponent + x + k, *exponent = b->exponent + N * k;
        SMK_MMA_ONE_VECTOR
        for (unsigned j = 0; j < N; j++) {
            const int32_t low = smk_mma_larger(with[0] + exponent[j], with[1] + exponent[N + j]);
            const int32_t high = smk_mma_larger(with[2] + exponent[2 * N + j], with[3] + exponent[3 * N + j]);
            top[j] = smk_mma_larger(top[j], smk_mma_larger(low, high));
        }
    }
    SMK_MMA_ONE_VECTOR
    for (unsigned j = 0; j < N; j++) {
        total[j] = smk_mma_cut(c->significand[z + j], c->exponent[z + j], c->sign[z + j], top[j]);
    }
    for (unsigned block = 0; block < depth; block += SMK_MMA_TOGETHER) {
        const unsigned end = block + SMK_MMA_TOGETHER < depth ? block + SMK_MMA_TOGETHER : depth;
        SMK_MMA_ONE_VECTOR
        for (unsigned j = 0; j < N; j++) {
            sum[j] = 0;
        }
        for (unsigned k = block; k < end; k += 4) {
            SMK_MMA_ONE_VECTOR
            for (unsigned j = 0; j < N; j++) {
                sum[j] += smk_mma_product(a, x + k, b, N * k + j, top[j]) +
                          smk_mma_product(a, x + k + 1, b, N * k + N + j, top[j]) +
                          smk_mma_product(a, x + k + 2, b, N * k + 2 * N + j, top[j]) +
                          smk_mma_product(a, x + k + 3, b, N * k + 3 * N + j, top[j]);
            }
        }
        SMK_MMA_ONE_VECTOR
        for (unsigned j = 0; j < N; j++) {
            total[j] += sum[j]; /* integers of less than 53 bits: exact */
        }
    }
    SMK_MMA_ONE_VECTOR
    for (unsigned j = 0; j < N; j++) {
        const int32_t scale = smk_mma_larger(top[j], SMK_MMA_EMPTY / 2) - SMK_MMA_FRACTION;
        const double exact = total[j] * smk_float_f64((uint64_t)(scale + 1023) << 52);
        const uint32_t nearest = half ? smk_narrow_f16(exact, SMK_ROUND_NEAREST, false) : 0;
        d[j] = !half ? smk_mma_narrow(exact) : nearest == UINT32_C(0x8000) ? 0 : nearest;
    }
}

#endif
