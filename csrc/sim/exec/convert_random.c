/* A number is divided by the distance between two neighbours of the narrower format, a random number of [0, 1) is added,
 * and what lies behind the point is cut off: the result is one of the two neighbours, the nearer one more often. The
 * random number has 16 bits of the last operand, 13 for f16; two results of f16 or bf16 have bits of their own, of four
 * results two have the same ones. */
#include "sim/exec/convert_random.h"

#include "sim/code/image.h"
#include "sim/exec/convert.h"

#include <math.h>

enum { RELU = 1, SATFINITE = 2, TYPE_SHIFT = 8, NUMBERS_MAX = 4 };

typedef struct target {
    unsigned type, digits; /* behind the point */
    int bias;
    unsigned most;    /* the largest magnitude; the next one is infinity where the format has one */
    unsigned nan;     /* what a NaN becomes */
    unsigned sign;    /* bit of it */
    unsigned stride;  /* bits from one result to the next */
    unsigned numbers; /* results */
    unsigned random;  /* bits of a random number */
} target;

static const target targets[] = {
    {SMK_TYPE_F16X2, 10, 15, 0x7bff, 0x7fff, 15, 16, 2, 13}, {SMK_TYPE_BF16X2, 7, 127, 0x7f7f, 0x7fff, 15, 16, 2, 16},
    {SMK_TYPE_E4M3X4, 3, 7, 0x7e, 0x7f, 7, 8, 4, 16},        {SMK_TYPE_E5M2X4, 2, 15, 0x7b, 0x7f, 7, 8, 4, 16},
    {SMK_TYPE_E2M3X4, 3, 1, 0x1f, 0x1f, 5, 8, 4, 16},        {SMK_TYPE_E3M2X4, 2, 3, 0x1f, 0x1f, 5, 8, 4, 16},
    {SMK_TYPE_E2M1X4, 1, 1, 0x7, 0x7, 3, 4, 4, 16},
};

enum { TARGET_COUNT = sizeof targets / sizeof *targets };

uint32_t smk_convert_random_word(const smk_instruction *instruction)
{
    unsigned i = 0;
    while (i < TARGET_COUNT - 1 && targets[i].type != instruction->type) {
        i++;
    }
    return (smk_module_has(instruction, SMK_MODIFIER_RELU) ? RELU : 0) |
           (smk_module_has(instruction, SMK_MODIFIER_SATFINITE) ? SATFINITE : 0) | i << TYPE_SHIFT;
}

/* The random bits of result i, counted from the highest. */
static uint32_t random_of(const target *to, uint32_t word, unsigned i)
{
    const unsigned pair = to->numbers == 2 ? i : i / 2; /* of the upper or the lower results */
    if (to->type == SMK_TYPE_E2M1X4) {
        const uint32_t high = word >> 16, shift = pair == 0 ? 8 : 0;
        return (high >> shift & 0xff) << 8 | (word >> shift & 0xff);
    }
    return word >> (pair == 0 ? 16 : 0) & ((UINT32_C(1) << to->random) - 1);
}

/* The magnitude of a finite number in the format, or the next above its largest. */
static uint32_t round_randomly(const target *to, double x, uint32_t random)
{
    const uint64_t magnitude = smk_bits_f64(x) & (UINT64_MAX >> 1);
    const int64_t exponent = (int64_t)(magnitude >> 52) - 1023 + to->bias;
    const int64_t below = exponent < 1 ? 1 - exponent : 0;
    const int64_t shift = 52 - (int64_t)to->digits + below - (int64_t)to->random;
    const uint64_t significand = magnitude == 0 ? 0 : (magnitude & (UINT64_MAX >> 12)) | UINT64_C(1) << 52;
    const uint64_t kept =
        shift > 62 ? 0 : significand >> shift; /* with so many bits behind the point as `random` has */
    const uint64_t base = exponent < 1 ? 0 : (uint64_t)(exponent - 1) << to->digits;
    const uint64_t rounded = base + ((kept + random) >> to->random);
    return rounded > to->most ? to->most + 1 : (uint32_t)rounded;
}

static uint32_t convert(const target *to, uint32_t flags, float single, uint32_t random)
{
    const double x = (double)single;
    const bool negative = signbit(x) != 0;
    if (x != x) {
        return to->nan;
    }
    if (negative && (flags & RELU) != 0) {
        return 0;
    }
    uint32_t magnitude = isinf(x) ? to->most + 1 : round_randomly(to, x, random);
    magnitude = magnitude > to->most && (flags & SATFINITE) != 0 ? to->most : magnitude;
    return magnitude | (negative ? UINT32_C(1) << to->sign : 0);
}

const smk_operation *smk_convert_random(smk_warp *warp, const smk_operation *op)
{
    const uint32_t mask = smk_operation_mask(warp, op), *rows = op->u.detail->rows;
    const target *to = &targets[op->count >> TYPE_SHIFT];
    const uint32_t *bits = SMK_ROW(const uint32_t, warp, rows[to->numbers + 1]);
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        uint32_t result = 0;
        for (unsigned i = 0; i < to->numbers; i++) {
            const float x = SMK_ROW(const float, warp, rows[1 + i])[lane];
            result = result << to->stride | convert(to, op->count, x, random_of(to, bits[lane], i));
        }
        if ((mask >> lane & 1) == 0) {
            continue;
        }
        if (to->stride * to->numbers == 16) {
            SMK_ROW(uint16_t, warp, rows[0])[lane] = (uint16_t)result;
        } else {
            SMK_ROW(uint32_t, warp, rows[0])[lane] = result;
        }
    }
    return op + 1;
}
