/* Turns mma.def into handlers for one instruction set. Included once by each of mma_baseline.c, mma_avx2.c and
 * mma_avx512.c, which set the compiler's target and define SMK_MMA_CLONE, the name of their array of handlers.
 *
 * During a product, columns of b, c and d are in the order 0 2 4 6 1 3 5 7, so that 4 consecutive columns are in
 * neighbouring lanes of one register. */
#include "sim/code/image.h"
#include "sim/exec/mma.h"
#include "sim/exec/mma_math.h"

#include "sim/code/bits.h"

#include <fenv.h>

enum { GROUP = 4, COLUMNS = SMK_MMA_COLUMNS };

#if defined(__GNUC__)
#define SMK_MMA_APART __attribute__((noinline))
#else
#define SMK_MMA_APART
#endif

static const smk_mma_format format_F16 = {5, 10, 0};
static const smk_mma_format format_BF16 = {8, 7, 0};
static const smk_mma_format format_TF32 = {8, 10, 13};
static const smk_mma_format format_single = {8, 23, 0};

/* The index of a column in that order. */
SMK_INLINE unsigned position_of(unsigned column)
{
    return column / 2 + GROUP * (column % 2);
}

/* The numbers in 4 neighbouring lanes of a register: consecutive, as the rows of lanes are little endian. */
SMK_INLINE void unpack(const uint32_t *words, unsigned elements, uint32_t *numbers)
{
    uint16_t halves[2 * GROUP];
    if (elements == 1) {
        memcpy(numbers, words, GROUP * sizeof *words);
        return;
    }
    memcpy(halves, words, sizeof halves);
    for (unsigned i = 0; i < 2 * GROUP; i++) {
        numbers[i] = halves[i];
    }
}

SMK_INLINE void gather_a(const smk_warp *warp, const uint32_t *registers, unsigned elements, unsigned rows,
                         unsigned depth, uint32_t *a)
{
    const unsigned high = rows / 8, block = GROUP * elements;
    for (unsigned r = 0; r < high * (depth / block); r++) {
        const uint32_t *words = SMK_ROW(const uint32_t, warp, registers[r]);
        for (unsigned group = 0; group < 8; group++) {
            unpack(words + GROUP * group, elements, a + (group + 8 * (r % high)) * depth + block * (r / high));
        }
    }
}

SMK_INLINE void gather_b(const smk_warp *warp, const uint32_t *registers, unsigned elements, unsigned depth,
                         uint32_t *b)
{
    const unsigned block = GROUP * elements;
    for (unsigned r = 0; r < depth / block; r++) {
        const uint32_t *words = SMK_ROW(const uint32_t, warp, registers[r]);
        for (unsigned column = 0; column < COLUMNS; column++) {
            uint32_t numbers[2 * GROUP];
            unpack(words + GROUP * column, elements, numbers);
            for (unsigned k = 0; k < block; k++) {
                b[(block * r + k) * COLUMNS + position_of(column)] = numbers[k];
            }
        }
    }
}

/* Read c from its registers, and write d to them: 4 lanes of a register are half a row. */
SMK_INLINE void gather_c(const smk_warp *warp, const uint32_t *registers, unsigned rows, uint32_t *c)
{
    for (unsigned row = 0; row < rows; row++) {
        for (unsigned half = 0; half < 2; half++) {
            const uint32_t *words = SMK_ROW(const uint32_t, warp, registers[row / 8 * 2 + half]);
            memcpy(c + row * COLUMNS + half * GROUP, words + row % 8 * GROUP, GROUP * sizeof *c);
        }
    }
}

SMK_INLINE void scatter_d(const smk_warp *warp, const uint32_t *registers, unsigned rows, const uint32_t *d)
{
    for (unsigned row = 0; row < rows; row++) {
        for (unsigned half = 0; half < 2; half++) {
            uint32_t *words = SMK_ROW(uint32_t, warp, registers[row / 8 * 2 + half]);
            memcpy(words + row % 8 * GROUP, d + row * COLUMNS + half * GROUP, GROUP * sizeof *d);
        }
    }
}

/* The same of sums in f16: 4 lanes of a register are a row, a column of each parity in a lane. */
SMK_INLINE void gather_c_half(const smk_warp *warp, const uint32_t *registers, unsigned rows, uint32_t *c)
{
    for (unsigned row = 0; row < rows; row++) {
        const uint32_t *words = SMK_ROW(const uint32_t, warp, registers[row / 8]) + row % 8 * GROUP;
        for (unsigned i = 0; i < GROUP; i++) {
            c[row * COLUMNS + i] = words[i] & UINT32_C(0xffff);
            c[row * COLUMNS + GROUP + i] = words[i] >> 16;
        }
    }
}

SMK_INLINE void scatter_d_half(const smk_warp *warp, const uint32_t *registers, unsigned rows, const uint32_t *d)
{
    for (unsigned row = 0; row < rows; row++) {
        uint32_t *words = SMK_ROW(uint32_t, warp, registers[row / 8]) + row % 8 * GROUP;
        for (unsigned i = 0; i < GROUP; i++) {
            words[i] = d[row * COLUMNS + i] | d[row * COLUMNS + GROUP + i] << 16;
        }
    }
}

/* Infinite or NaN, by the bits of a number. */
typedef struct kind {
    bool nan, infinite, zero, negative;
} kind;

SMK_INLINE kind kind_of(const smk_mma_format format, uint32_t number)
{
    const uint32_t bits = number >> format.skipped;
    const uint32_t most = (UINT32_C(1) << format.exponent_bits) - 1, implicit_bit = UINT32_C(1) << format.fraction_bits;
    const uint32_t field = bits >> format.fraction_bits & most, fraction = bits & (implicit_bit - 1);
    return (kind){.nan = field == most && fraction != 0,
                  .infinite = field == most && fraction == 0,
                  .zero = field == 0 && fraction == 0,
                  .negative = (bits >> (format.exponent_bits + format.fraction_bits) & 1) != 0};
}

/* Replaces results that are decided by infinities or NaN; `addends` is the format of c. */
static void settle_specials(const smk_mma_format format, const smk_mma_format addends, const smk_mma_format sums,
                            unsigned rows, unsigned depth, const uint32_t *a, const uint32_t *b, const uint32_t *c,
                            uint32_t *d)
{
    const uint32_t infinity = ((UINT32_C(1) << sums.exponent_bits) - 1) << sums.fraction_bits;
    const uint32_t sign = UINT32_C(1) << (sums.exponent_bits + sums.fraction_bits);
    for (unsigned at = 0; at < rows * COLUMNS; at++) {
        const kind addend = kind_of(addends, c[at]);
        bool nan = addend.nan, up = addend.infinite && !addend.negative, down = addend.infinite && addend.negative;
        for (unsigned k = 0; k < depth; k++) {
            const kind x = kind_of(format, a[at / COLUMNS * depth + k]);
            const kind y = kind_of(format, b[k * COLUMNS + at % COLUMNS]);
            const bool infinite = x.infinite || y.infinite;
            nan = nan || x.nan || y.nan || (infinite && (x.zero || y.zero));
            up = up || (infinite && x.negative == y.negative);
            down = down || (infinite && x.negative != y.negative);
        }
        if (nan || (up && down)) {
            d[at] = sign - 1;
        } else if (up || down) {
            d[at] = up ? infinity : infinity | sign;
        }
    }
}

/* Sums in f16 are in half as many registers. */
enum { SUM_F16 = 1, SUM_F32 = 2 };

SMK_INLINE const smk_operation *multiply(smk_warp *warp, const smk_operation *op, const smk_mma_format format,
                                         unsigned elements, unsigned sums, unsigned rows, unsigned depth)
{
    const bool half = sums == SUM_F16;
    const smk_mma_format format_sum = half ? format_F16 : format_single;
    const uint32_t mask = smk_operation_mask(warp, op);
    if (mask != UINT32_MAX) {
        return mask == 0 ? op + 1 : smk_mma_refuse(warp, op, mask);
    }
    const unsigned count_a = rows * depth / SMK_WARP_SIZE / elements,
                   count_b = COLUMNS * depth / SMK_WARP_SIZE / elements;
    const uint32_t *registers = op->u.detail->rows;
    const uint32_t *of_a = registers + rows / 8 * sums, *of_b = of_a + count_a, *of_c = of_b + count_b;
    uint32_t a[SMK_MMA_ROWS_MAX * SMK_MMA_DEPTH_MAX], b[COLUMNS * SMK_MMA_DEPTH_MAX];
    uint32_t c[SMK_MMA_ROWS_MAX * COLUMNS], d[SMK_MMA_ROWS_MAX * COLUMNS];
    smk_mma_parts parts_a, parts_b, parts_c;
    gather_a(warp, of_a, elements, rows, depth, a);
    gather_b(warp, of_b, elements, depth, b);
    if (half) {
        gather_c_half(warp, of_c, rows, c);
    } else {
        gather_c(warp, of_c, rows, c);
    }
    bool special = smk_mma_split(format, a, rows * depth, SMK_MMA_FRACTION - 2 * format.fraction_bits, &parts_a);
    special = smk_mma_split(format, b, COLUMNS * depth, 0, &parts_b) || special;
    special =
        smk_mma_split(format_sum, c, rows * COLUMNS, SMK_MMA_FRACTION - format_sum.fraction_bits, &parts_c) || special;
    for (unsigned row = 0; row < rows; row++) {
        smk_mma_sum(depth, half, &parts_a, row * depth, &parts_b, &parts_c, row * COLUMNS, d + row * COLUMNS);
    }
    if (special) {
        settle_specials(format, format_sum, format_sum, rows, depth, a, b, c, d);
    }
    if (half) {
        scatter_d_half(warp, registers, rows, d);
    } else {
        scatter_d(warp, registers, rows, d);
    }
    return op + 1;
}

/* m8n8k4 -------------------------------------------------------------------------------------------- */

enum { QUAD_LANES = 8, QUAD_DEPTH = 4 };

SMK_INLINE unsigned lane_of_quad(unsigned quad, unsigned i)
{
    return GROUP * quad + i % GROUP + SMK_WARP_SIZE / 2 * (i / GROUP);
}

/* The index in c or d, by rows, of element e of the lane i of a quad. */
SMK_INLINE unsigned index_in_quad(unsigned i, unsigned e, bool half)
{
    return half ? COLUMNS * i + e : COLUMNS * ((i & 1) + (e & 2) + (i & 4)) + (e & 4) + (i & 2) + (e & 1);
}

SMK_INLINE uint32_t half_at(const smk_warp *warp, const uint32_t *registers, unsigned e, unsigned lane)
{
    return SMK_ROW(const uint32_t, warp, registers[e / 2])[lane] >> 16 * (e % 2) & UINT32_C(0xffff);
}

/* One sum of four products, as ptxas makes it of single floats: sm_70 alone has the instruction. */
SMK_INLINE float sum_quad(const float *a, const float *b, float c, bool half)
{
    if (half) {
        const float low = fmaf(a[1], b[COLUMNS], a[0] * b[0]);
        return c + low + fmaf(a[3], b[3 * COLUMNS], a[2] * b[2 * COLUMNS]);
    }
    float sum = a[0] * b[0];
    for (unsigned k = 1; k < QUAD_DEPTH; k++) {
        sum = fmaf(a[k], b[k * COLUMNS], sum);
    }
    return c + sum;
}

SMK_INLINE void multiply_quad(const smk_warp *warp, const smk_operation *op, unsigned quad, bool half)
{
    const bool half_c = half || (op->count & SMK_MMA_HALF_C) != 0;
    const bool columns = (op->count & SMK_MMA_COLUMNS_A) != 0, rows = (op->count & SMK_MMA_ROWS_B) != 0;
    const uint32_t *registers = op->u.detail->rows;
    const uint32_t *of_a = registers + (half ? 4 : 8), *of_b = of_a + 2, *of_c = of_b + 2;
    float a[QUAD_LANES * QUAD_DEPTH], b[QUAD_DEPTH * COLUMNS], c[QUAD_LANES * COLUMNS];
    for (unsigned i = 0; i < QUAD_LANES; i++) {
        const unsigned lane = lane_of_quad(quad, i), own = i % GROUP, from = i / GROUP * GROUP;
        for (unsigned e = 0; e < QUAD_DEPTH; e++) {
            a[columns ? (from + e) * QUAD_DEPTH + own : i * QUAD_DEPTH + e] =
                smk_widen_f16((uint16_t)half_at(warp, of_a, e, lane));
            b[rows ? own * COLUMNS + from + e : e * COLUMNS + i] =
                smk_widen_f16((uint16_t)half_at(warp, of_b, e, lane));
        }
        for (unsigned e = 0; e < COLUMNS; e++) {
            c[index_in_quad(i, e, half_c)] = half_c ? smk_widen_f16((uint16_t)half_at(warp, of_c, e, lane))
                                                    : SMK_ROW(const float, warp, of_c[e])[lane];
        }
    }
    for (unsigned i = 0; i < QUAD_LANES; i++) {
        for (unsigned e = 0; e < COLUMNS; e++) {
            const unsigned at = index_in_quad(i, e, half), row = at / COLUMNS, column = at % COLUMNS;
            const float sum = sum_quad(a + row * QUAD_DEPTH, b + column, c[at], half);
            uint32_t *d = &SMK_ROW(uint32_t, warp, registers[half ? e / 2 : e])[lane_of_quad(quad, i)];
            const uint32_t narrow = half ? smk_narrow_f16((double)sum, SMK_ROUND_NEAREST, false) : 0;
            *d = !half ? smk_bits_f32(smk_nan_f32(sum)) : e % 2 == 0 ? narrow : *d | narrow << 16;
        }
    }
}

SMK_INLINE const smk_operation *multiply_quads(smk_warp *warp, const smk_operation *op, unsigned sums)
{
    const uint32_t mask = smk_operation_mask(warp, op);
    if (mask != UINT32_MAX) {
        return mask == 0 ? op + 1 : smk_mma_refuse(warp, op, mask);
    }
    for (unsigned quad = 0; quad < SMK_WARP_SIZE / QUAD_LANES; quad++) {
        multiply_quad(warp, op, quad, sums == SUM_F16);
    }
    return op + 1;
}

/* Double precision: fused products, k ascending. Not inlined, so that they are rounded as multiply_rounded says. */
static SMK_MMA_APART const smk_operation *multiply_double(smk_warp *warp, const smk_operation *op, unsigned rows,
                                                          unsigned depth)
{
    const uint32_t mask = smk_operation_mask(warp, op);
    if (mask != UINT32_MAX) {
        return mask == 0 ? op + 1 : smk_mma_refuse(warp, op, mask);
    }
    const uint32_t *registers = op->u.detail->rows;
    const uint32_t *of_a = registers + rows / 4, *of_b = of_a + rows * depth / SMK_WARP_SIZE,
                   *of_c = of_b + depth / GROUP;
    double b[SMK_MMA_DEPTH_MAX * COLUMNS], d[SMK_MMA_ROWS_MAX * COLUMNS];
    for (unsigned k = 0; k < depth; k++) {
        for (unsigned j = 0; j < COLUMNS; j++) {
            b[k * COLUMNS + position_of(j)] = SMK_ROW(const double, warp, of_b[k / GROUP])[j * GROUP + k % GROUP];
        }
    }
    for (unsigned row = 0; row < rows; row++) {
        double *sum = d + row * COLUMNS;
        for (unsigned j = 0; j < COLUMNS; j++) {
            sum[j] = SMK_ROW(const double, warp, of_c[row / 8 * 2 + j / GROUP])[row % 8 * GROUP + j % GROUP];
        }
        for (unsigned k = 0; k < depth; k++) {
            const uint32_t of = of_a[k / GROUP * (rows / 8) + row / 8];
            const double x = SMK_ROW(const double, warp, of)[row % 8 * GROUP + k % GROUP];
            for (unsigned j = 0; j < COLUMNS; j++) {
                sum[j] = fma(x, b[k * COLUMNS + j], sum[j]);
            }
        }
    }
    for (unsigned row = 0; row < rows; row++) {
        for (unsigned j = 0; j < COLUMNS; j++) {
            double *lanes = SMK_ROW(double, warp, registers[row / 8 * 2 + j / GROUP]);
            lanes[row % 8 * GROUP + j % GROUP] = smk_nan_f64(d[row * COLUMNS + j]);
        }
    }
    return op + 1;
}

/* The same in the rounding of the instruction. */
static const smk_operation *multiply_rounded(smk_warp *warp, const smk_operation *op, unsigned rows, unsigned depth)
{
    const int mode = (op->count & SMK_MMA_TO_ZERO) != 0 ? FE_TOWARDZERO
                     : (op->count & SMK_MMA_DOWN) != 0  ? FE_DOWNWARD
                     : (op->count & SMK_MMA_UP) != 0    ? FE_UPWARD
                                                        : FE_TONEAREST;
    if (mode == FE_TONEAREST) {
        return multiply_double(warp, op, rows, depth);
    }
    const int before = fegetround();
    (void)fesetround(mode);
    const smk_operation *next = multiply_double(warp, op, rows, depth);
    (void)fesetround(before);
    return next;
}

/* The elements of 8 or 4 bits of one register, of each group's 4 lanes, as numbers: numbers[group * stride + k]. */
SMK_INLINE void unpack_integers(const uint32_t *words, unsigned bits, bool is_signed, unsigned stride, int16_t *numbers)
{
    const unsigned held = 32 / bits, mask = (1U << bits) - 1, sign = is_signed ? 1U << (bits - 1) : 0;
    for (unsigned group = 0; group < 8; group++) {
        for (unsigned k = 0; k < GROUP * held; k++) {
            const unsigned field = words[GROUP * group + k / held] >> k % held * bits & mask;
            numbers[group * stride + k] = (int16_t)((int)(field ^ sign) - (int)sign);
        }
    }
}

/* A sum as 32 bits: their low ones, or the nearest number that 32 bits hold. */
SMK_INLINE uint32_t narrow_integer(int64_t sum, bool saturates)
{
    const int64_t held = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
    return (uint32_t)(saturates ? held : sum);
}

/* Integers of 8 or 4 bits: the products of one element of d fit in 32 bits; c may carry their sum beyond. */
SMK_INLINE const smk_operation *multiply_integer(smk_warp *warp, const smk_operation *op, unsigned bits, unsigned rows,
                                                 unsigned depth)
{
    const uint32_t mask = smk_operation_mask(warp, op);
    if (mask != UINT32_MAX) {
        return mask == 0 ? op + 1 : smk_mma_refuse(warp, op, mask);
    }
    enum { DEPTH_MAX = SMK_MMA_INTEGER_DEPTH_MAX };
    const unsigned block = GROUP * 32 / bits, blocks = depth / block, high = rows / 8;
    const uint32_t *registers = op->u.detail->rows;
    const uint32_t *of_a = registers + rows / 4, *of_b = of_a + high * blocks, *of_c = of_b + blocks;
    int16_t a[SMK_MMA_ROWS_MAX * DEPTH_MAX], columns[COLUMNS * DEPTH_MAX];
    int32_t b[DEPTH_MAX * COLUMNS];
    uint32_t c[SMK_MMA_ROWS_MAX * COLUMNS], d[SMK_MMA_ROWS_MAX * COLUMNS];
    for (unsigned r = 0; r < high * blocks; r++) {
        unpack_integers(SMK_ROW(const uint32_t, warp, of_a[r]), bits, op->count & SMK_MMA_SIGNED_A, depth,
                        a + r % high * 8 * depth + r / high * block);
    }
    for (unsigned r = 0; r < blocks; r++) {
        unpack_integers(SMK_ROW(const uint32_t, warp, of_b[r]), bits, op->count & SMK_MMA_SIGNED_B, depth,
                        columns + r * block);
    }
    for (unsigned k = 0; k < depth; k++) {
        for (unsigned column = 0; column < COLUMNS; column++) {
            b[k * COLUMNS + position_of(column)] = columns[column * depth + k];
        }
    }
    gather_c(warp, of_c, rows, c);
    for (unsigned row = 0; row < rows; row++) {
        int32_t sum[COLUMNS] = {0};
        for (unsigned k = 0; k < depth; k++) {
            for (unsigned j = 0; j < COLUMNS; j++) {
                sum[j] += a[row * depth + k] * b[k * COLUMNS + j];
            }
        }
        for (unsigned j = 0; j < COLUMNS; j++) {
            d[row * COLUMNS + j] =
                narrow_integer((int64_t)sum[j] + (int32_t)c[row * COLUMNS + j], op->count & SMK_MMA_SATURATES);
        }
    }
    scatter_d(warp, registers, rows, d);
    return op + 1;
}

/* Sparse a ------------------------------------------------------------------------------------------ */

enum { SPARSE_DEPTH_MAX = 32, SPARSE_INTEGER_DEPTH_MAX = 128 };

/* The metadata of a row, of so many bits. The selector says which lanes of a group hold it where not all do. */
SMK_INLINE uint64_t metadata_of(const uint32_t *words, unsigned row, unsigned bits, unsigned selector, bool integer)
{
    const uint32_t *group = words + GROUP * (row % 8);
    const unsigned high = row / 8, first = 2 * (selector % 2);
    if (bits == 16) {
        return group[selector % GROUP] >> 16 * high & UINT32_C(0xffff);
    }
    if (bits == 64) {
        return group[high] | (uint64_t)group[high + 2] << 32;
    }
    return integer ? group[first + high]
                   : (group[first] >> 16 * high & UINT32_C(0xffff)) | group[first + 1] >> 16 * high << 16;
}

/* The k of element i of a row of a; `together` neighbours share an index. */
SMK_INLINE unsigned sparse_index(uint64_t metadata, unsigned i, unsigned together)
{
    const unsigned four = i / (2 * together);
    const unsigned index = (unsigned)(metadata >> (4 * four + 2 * (i / together % 2))) & 3;
    return (4 * four + index) * together + i % together;
}

/* The same of tf32: 4 bits for an element, of which the highest one says which of two it is. */
SMK_INLINE unsigned sparse_index_single(uint64_t metadata, unsigned i)
{
    return 2 * i + ((unsigned)(metadata >> (4 * i + 3)) & 1);
}

/* The rows of b that belong to the elements of a row of a: their numbers, and the numbers taken apart. */
SMK_INLINE void select_rows(const uint32_t *b, const smk_mma_parts *parts, unsigned count, const unsigned *index,
                            uint32_t *chosen, smk_mma_parts *parts_chosen)
{
    for (unsigned k = 0; k < count; k++) {
        const size_t to = (size_t)k * COLUMNS, from = (size_t)index[k] * COLUMNS;
        memcpy(chosen + to, b + from, COLUMNS * sizeof *b);
        memcpy(parts_chosen->significand + to, parts->significand + from, COLUMNS * sizeof *parts->significand);
        memcpy(parts_chosen->exponent + to, parts->exponent + from, COLUMNS * sizeof *parts->exponent);
        memcpy(parts_chosen->sign + to, parts->sign + from, COLUMNS * sizeof *parts->sign);
    }
}

SMK_INLINE const smk_operation *multiply_sparse(smk_warp *warp, const smk_operation *op, const smk_mma_format format,
                                                unsigned elements, unsigned sums, unsigned depth)
{
    enum { ROWS = SMK_MMA_ROWS_MAX };
    const bool half = sums == SUM_F16;
    const smk_mma_format format_sum = half ? format_F16 : format_single;
    const uint32_t mask = smk_operation_mask(warp, op);
    if (mask != UINT32_MAX) {
        return mask == 0 ? op + 1 : smk_mma_refuse(warp, op, mask);
    }
    const unsigned held = depth / 2, factors = ROWS * held / SMK_WARP_SIZE / elements;
    const uint32_t *registers = op->u.detail->rows, *of_a = registers + ROWS / 8 * sums, *of_b = of_a + factors;
    const uint32_t *of_c = of_b + factors;
    const uint32_t *metadata = SMK_ROW(const uint32_t, warp, of_c[ROWS / 8 * sums]);
    uint32_t a[ROWS * SPARSE_DEPTH_MAX / 2], b[COLUMNS * SPARSE_DEPTH_MAX], chosen[COLUMNS * SPARSE_DEPTH_MAX / 2];
    uint32_t c[ROWS * COLUMNS], d[ROWS * COLUMNS];
    smk_mma_parts parts_a, parts_b, parts_c, parts_chosen;
    gather_a(warp, of_a, elements, ROWS, held, a);
    gather_b(warp, of_b, elements, depth, b);
    if (half) {
        gather_c_half(warp, of_c, ROWS, c);
    } else {
        gather_c(warp, of_c, ROWS, c);
    }
    bool special = smk_mma_split(format, a, ROWS * held, SMK_MMA_FRACTION - 2 * format.fraction_bits, &parts_a);
    special = smk_mma_split(format, b, COLUMNS * depth, 0, &parts_b) || special;
    special =
        smk_mma_split(format_sum, c, ROWS * COLUMNS, SMK_MMA_FRACTION - format_sum.fraction_bits, &parts_c) || special;
    for (unsigned row = 0; row < ROWS; row++) {
        unsigned index[SPARSE_DEPTH_MAX / 2];
        const uint64_t bits =
            metadata_of(metadata, row, elements == 1 ? 2 * depth : depth, op->count >> SMK_MMA_SELECTOR_SHIFT, false);
        for (unsigned k = 0; k < held; k++) {
            index[k] = elements == 1 ? sparse_index_single(bits, k) : sparse_index(bits, k, 1);
        }
        select_rows(b, &parts_b, held, index, chosen, &parts_chosen);
        smk_mma_sum(held, half, &parts_a, row * held, &parts_chosen, &parts_c, row * COLUMNS, d + row * COLUMNS);
        if (special) {
            settle_specials(format, format_sum, format_sum, 1, held, a + row * held, chosen, c + row * COLUMNS,
                            d + row * COLUMNS);
        }
    }
    if (half) {
        scatter_d_half(warp, registers, ROWS, d);
    } else {
        scatter_d(warp, registers, ROWS, d);
    }
    return op + 1;
}

SMK_INLINE const smk_operation *multiply_sparse_integer(smk_warp *warp, const smk_operation *op, unsigned bits,
                                                        unsigned depth)
{
    enum { ROWS = SMK_MMA_ROWS_MAX };
    const uint32_t mask = smk_operation_mask(warp, op);
    if (mask != UINT32_MAX) {
        return mask == 0 ? op + 1 : smk_mma_refuse(warp, op, mask);
    }
    const unsigned block = GROUP * 32 / bits, factors = depth / block, held = depth / 2, together = 8 / bits;
    const uint32_t *registers = op->u.detail->rows;
    const uint32_t *of_a = registers + ROWS / 4, *of_b = of_a + factors, *of_c = of_b + factors;
    const uint32_t *metadata = SMK_ROW(const uint32_t, warp, of_c[ROWS / 4]);
    int16_t a[ROWS * SPARSE_INTEGER_DEPTH_MAX / 2], columns[COLUMNS * SPARSE_INTEGER_DEPTH_MAX];
    uint32_t c[ROWS * COLUMNS], d[ROWS * COLUMNS];
    for (unsigned r = 0; r < factors; r++) {
        unpack_integers(SMK_ROW(const uint32_t, warp, of_a[r]), bits, op->count & SMK_MMA_SIGNED_A, held,
                        a + r % 2 * 8 * held + r / 2 * block);
        unpack_integers(SMK_ROW(const uint32_t, warp, of_b[r]), bits, op->count & SMK_MMA_SIGNED_B, depth,
                        columns + r * block);
    }
    gather_c(warp, of_c, ROWS, c);
    for (unsigned row = 0; row < ROWS; row++) {
        const uint64_t chosen = metadata_of(metadata, row, depth / together, op->count >> SMK_MMA_SELECTOR_SHIFT, true);
        int32_t sum[COLUMNS] = {0};
        for (unsigned k = 0; k < held; k++) {
            const unsigned index = sparse_index(chosen, k, together);
            for (unsigned j = 0; j < COLUMNS; j++) {
                sum[position_of(j)] += a[row * held + k] * columns[j * depth + index];
            }
        }
        for (unsigned j = 0; j < COLUMNS; j++) {
            d[row * COLUMNS + j] =
                narrow_integer((int64_t)sum[j] + (int32_t)c[row * COLUMNS + j], op->count & SMK_MMA_SATURATES);
        }
    }
    scatter_d(warp, registers, ROWS, d);
    return op + 1;
}

#include "sim/exec/mma_small.h"

/* Bits: d counts those that are set in both, or in one of both. */
SMK_INLINE const smk_operation *multiply_bits(smk_warp *warp, const smk_operation *op, unsigned rows, unsigned depth)
{
    const uint32_t mask = smk_operation_mask(warp, op);
    if (mask != UINT32_MAX) {
        return mask == 0 ? op + 1 : smk_mma_refuse(warp, op, mask);
    }
    const unsigned blocks = depth / (GROUP * 32), high = rows / 8;
    const uint32_t *registers = op->u.detail->rows;
    const uint32_t *of_a = registers + rows / 4, *of_b = of_a + high * blocks, *of_c = of_b + blocks;
    uint32_t d[SMK_MMA_ROWS_MAX * COLUMNS];
    gather_c(warp, of_c, rows, d);
    for (unsigned row = 0; row < rows; row++) {
        for (unsigned column = 0; column < COLUMNS; column++) {
            uint32_t *sum = &d[row * COLUMNS + position_of(column)];
            for (unsigned k = 0; k < blocks * GROUP; k++) {
                const uint32_t a =
                    SMK_ROW(const uint32_t, warp, of_a[k / GROUP * high + row / 8])[row % 8 * GROUP + k % GROUP];
                const uint32_t b = SMK_ROW(const uint32_t, warp, of_b[k / GROUP])[column * GROUP + k % GROUP];
                *sum += smk_bits_count((op->count & SMK_MMA_AND) != 0 ? a & b : a ^ b);
            }
        }
    }
    scatter_d(warp, registers, rows, d);
    return op + 1;
}

/* One function for each row of the table, so that the compiler knows the shape. */
#define MULTIPLY_F16(sum, rows, depth)                                                                                 \
    ((depth) == QUAD_DEPTH ? multiply_quads(warp, op, SUM_##sum)                                                       \
                           : multiply(warp, op, format_F16, 2, SUM_##sum, rows, depth))
#define MULTIPLY_BF16(sum, rows, depth) multiply(warp, op, format_BF16, 2, SUM_##sum, rows, depth)
#define MULTIPLY_TF32(sum, rows, depth) multiply(warp, op, format_TF32, 1, SUM_##sum, rows, depth)
#define MULTIPLY_S8(sum, rows, depth) multiply_integer(warp, op, 8, rows, depth)
#define MULTIPLY_S4(sum, rows, depth) multiply_integer(warp, op, 4, rows, depth)
#define MULTIPLY_B1(sum, rows, depth) multiply_bits(warp, op, rows, depth)
#define MULTIPLY_F64(sum, rows, depth) multiply_rounded(warp, op, rows, depth)

#define SPARSE_F16(sum, depth) multiply_sparse(warp, op, format_F16, 2, SUM_##sum, depth)
#define SPARSE_BF16(sum, depth) multiply_sparse(warp, op, format_BF16, 2, SUM_##sum, depth)
#define SPARSE_TF32(sum, depth) multiply_sparse(warp, op, format_TF32, 1, SUM_##sum, depth)
#define SPARSE_S8(sum, depth) multiply_sparse_integer(warp, op, 8, depth)
#define SPARSE_S4(sum, depth) multiply_sparse_integer(warp, op, 4, depth)

#define SMK_MMA(id, shape, type, sum, rows, depth)                                                                     \
    static const smk_operation *multiply_##id(smk_warp *warp, const smk_operation *op)                                 \
    {                                                                                                                  \
        return MULTIPLY_##type(sum, rows, depth);                                                                      \
    }
#define SMK_MMA_SPARSE(id, shape, type, sum, depth)                                                                    \
    static const smk_operation *multiply_##id(smk_warp *warp, const smk_operation *op)                                 \
    {                                                                                                                  \
        return SPARSE_##type(sum, depth);                                                                              \
    }
#define SMK_MMA_SMALL(id, shape, word, sum, depth, bits, sparse)                                                       \
    static const smk_operation *multiply_##id(smk_warp *warp, const smk_operation *op)                                 \
    {                                                                                                                  \
        return multiply_small(warp, op, bits, SUM_##sum, depth, sparse, SMK_MODIFIER_##word == SMK_MODIFIER_ALIGNED);  \
    }
#include "sim/exec/mma.def"

const smk_handler SMK_MMA_CLONE[SMK_MMA_COUNT] = {
#define SMK_MMA(id, shape, type, sum, rows, depth) multiply_##id,
#define SMK_MMA_SPARSE(id, shape, type, sum, depth) multiply_##id,
#define SMK_MMA_SMALL(id, shape, word, sum, depth, bits, sparse) multiply_##id,
#include "sim/exec/mma.def"
};
