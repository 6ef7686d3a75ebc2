/* Products of floats of 8, 6 and 4 bits that mma_body.h has no f16 form for: sparse ones, those of .kind::f8f6f4, and
 * those with a scale for each block of k. Part of mma_body.h.
 *
 * Every element is taken as f16, which holds each of them. A scale in ue4m3 is multiplied into the elements of its
 * block, exactly; one in ue8m0 is added to their exponents. Without a kind the products are those of sm_90, where ptxas
 * makes two sparse products in f16 of one: of the even groups of four along k, then of the odd ones, and c is added
 * last. An H200 has the same bits. With a kind all products and c are one sum, by the rules of mma_math.h; that has not
 * been compared with a GPU.
 */
enum { SMALL_DEPTH_MAX = 128, SMALL_HELD_MAX = 64, SMALL_BLOCKS_MAX = 4, SMALL_ONE = 0x3c00, SMALL_NAN = 0x7fff };

SMK_INLINE uint32_t widen_element(unsigned format, uint32_t bits)
{
    if (format == SMK_MMA_E4M3 || format == SMK_MMA_E5M2) {
        return smk_widen_float8((uint8_t)bits, format == SMK_MMA_E5M2);
    }
    const bool three = format == SMK_MMA_E2M3;
    return smk_widen_small(bits, three ? 3 : format == SMK_MMA_E3M2 ? 2 : 1, format == SMK_MMA_E3M2 ? 3 : 1);
}

/* The elements of one register, of each group's 4 lanes: numbers[group * stride + k]. In a byte, 6 bits are the low ones
 * and 4 bits the middle ones. */
static void unpack_small(const uint32_t *words, unsigned bits, unsigned format, unsigned stride, uint32_t *numbers)
{
    const unsigned held = 32 / bits, middle = bits == 8 && format == SMK_MMA_E2M1 ? 2 : 0;
    for (unsigned group = 0; group < 8; group++) {
        for (unsigned k = 0; k < GROUP * held; k++) {
            const uint32_t field = words[GROUP * group + k / held] >> k % held * bits & ((1U << bits) - 1);
            numbers[group * stride + k] = widen_element(format, field >> middle);
        }
    }
}

/* The scales of rows of a or of columns of b: a power of two to add to exponents, and a factor in f16. */
typedef struct small_scales {
    int32_t exponent[SMK_MMA_ROWS_MAX][SMALL_BLOCKS_MAX];
    uint32_t factor[SMK_MMA_ROWS_MAX][SMALL_BLOCKS_MAX];
} small_scales;

/* registers: of the scales, of the byte that the first one stands in, and of the lanes of a group that hold them. */
static void gather_scales(const smk_warp *warp, const uint32_t *registers, unsigned lines, uint32_t flags,
                          small_scales *scales)
{
    const unsigned blocks = flags >> SMK_MMA_BLOCKS_SHIFT & SMK_MMA_BLOCKS_MASK;
    const unsigned first = blocks == 0 ? 0 : *SMK_ROW(const uint16_t, warp, registers[1]);
    const unsigned thread = blocks == 0 ? 0 : *SMK_ROW(const uint16_t, warp, registers[2]);
    for (unsigned line = 0; line < lines; line++) {
        const unsigned own = lines == COLUMNS ? thread % GROUP : 2 * (thread % 2) + line / COLUMNS;
        for (unsigned block = 0; block < SMALL_BLOCKS_MAX; block++) {
            scales->exponent[line][block] = 0;
            scales->factor[line][block] = SMALL_ONE;
            if (block >= blocks) {
                continue;
            }
            const uint32_t word = SMK_ROW(const uint32_t, warp, registers[0])[GROUP * (line % COLUMNS) + own];
            const uint32_t scale = word >> 8 * ((first + block) % 4) & 0xff;
            if ((flags & SMK_MMA_SCALES_E4M3) != 0) {
                scales->factor[line][block] = smk_widen_float8(scale & 0x7f, false);
            } else if (scale == 0xff) {
                scales->factor[line][block] = SMALL_NAN;
            } else {
                scales->exponent[line][block] = (int32_t)scale - 127;
            }
        }
    }
}

SMK_INLINE uint32_t scale_element(uint32_t number, uint32_t factor)
{
    return factor == SMALL_ONE ? number
           : factor == SMALL_NAN
               ? SMALL_NAN
               : smk_narrow_f16((double)smk_widen_f16((uint16_t)number) * (double)smk_widen_f16((uint16_t)factor),
                                SMK_ROUND_NEAREST, false);
}

typedef struct small_product {
    uint32_t a[SMK_MMA_ROWS_MAX * SMALL_HELD_MAX], columns[COLUMNS * SMALL_DEPTH_MAX]; /* in f16 */
    small_scales scales_a, scales_b;
    unsigned held, depth, block; /* elements of a row of a, of a column of b, and of a block that has a scale */
} small_product;

/* sum += the products of some elements of a row of a: a's number i has index[i] in k. */
SMK_INLINE void add_products(const small_product *p, unsigned row, unsigned count, const unsigned *element,
                             const unsigned *index, bool half, uint32_t *sum)
{
    const smk_mma_format format_sum = half ? format_F16 : format_single;
    uint32_t a[SMALL_HELD_MAX], b[COLUMNS * SMALL_HELD_MAX], before[COLUMNS];
    smk_mma_parts parts_a, parts_b, parts_c;
    memcpy(before, sum, sizeof before);
    for (unsigned i = 0; i < count; i++) {
        const unsigned block = index[i] / p->block;
        a[i] = scale_element(p->a[row * p->held + element[i]], p->scales_a.factor[row][block]);
        for (unsigned j = 0; j < COLUMNS; j++) {
            b[i * COLUMNS + position_of(j)] =
                scale_element(p->columns[j * p->depth + index[i]], p->scales_b.factor[j][block]);
        }
    }
    bool special = smk_mma_split(format_F16, a, count, SMK_MMA_FRACTION - 2 * format_F16.fraction_bits, &parts_a);
    special = smk_mma_split(format_F16, b, COLUMNS * count, 0, &parts_b) || special;
    special =
        smk_mma_split(format_sum, before, COLUMNS, SMK_MMA_FRACTION - format_sum.fraction_bits, &parts_c) || special;
    for (unsigned i = 0; i < count; i++) {
        const unsigned block = index[i] / p->block;
        parts_a.exponent[i] += p->scales_a.exponent[row][block];
        for (unsigned j = 0; j < COLUMNS; j++) {
            parts_b.exponent[i * COLUMNS + position_of(j)] += p->scales_b.exponent[j][block];
        }
    }
    smk_mma_sum(count, half, &parts_a, 0, &parts_b, &parts_c, 0, sum);
    if (special) {
        settle_specials(format_F16, format_sum, format_sum, 1, count, a, b, before, sum);
    }
}

/* c + sum, in the format of both */
SMK_INLINE uint32_t add_addend(uint32_t c, uint32_t sum, bool half)
{
    if (half) {
        return smk_narrow_f16((double)smk_widen_f16((uint16_t)c) + (double)smk_widen_f16((uint16_t)sum),
                              SMK_ROUND_NEAREST, false);
    }
    return smk_bits_f32(smk_nan_f32(smk_float_f32(c) + smk_float_f32(sum)));
}

/* bits: of an element in a register; apart: in two products, as on sm_90. */
static SMK_MMA_APART const smk_operation *multiply_small(smk_warp *warp, const smk_operation *op, unsigned bits,
                                                         unsigned sums, unsigned depth, bool sparse, bool apart)
{
    enum { ROWS = SMK_MMA_ROWS_MAX };
    const bool half = sums == SUM_F16;
    const uint32_t mask = smk_operation_mask(warp, op), flags = op->count;
    if (mask != UINT32_MAX) {
        return mask == 0 ? op + 1 : smk_mma_refuse(warp, op, mask);
    }
    const unsigned held = sparse ? depth / 2 : depth, width = GROUP * 32 / bits, blocks_b = depth / width;
    const unsigned registers_a = 2 * held / width, passes = apart ? 2 : 1, together = 8 / bits;
    const unsigned blocks = flags >> SMK_MMA_BLOCKS_SHIFT & SMK_MMA_BLOCKS_MASK;
    const uint32_t *registers = op->u.detail->rows;
    const uint32_t *of_a = registers + ROWS / 8 * sums, *of_b = of_a + registers_a, *of_c = of_b + blocks_b;
    const uint32_t *behind = of_c + ROWS / 8 * sums, *of_scales = behind + (sparse ? 1 : 0);
    uint32_t c[ROWS * COLUMNS], d[ROWS * COLUMNS];
    small_product p = {.held = held, .depth = depth, .block = blocks == 0 ? depth : depth / blocks};
    for (unsigned r = 0; r < registers_a; r++) {
        unpack_small(SMK_ROW(const uint32_t, warp, of_a[r]), bits, flags & SMK_MMA_FORMAT_MASK, held,
                     p.a + r % 2 * 8 * held + r / 2 * width);
    }
    for (unsigned r = 0; r < blocks_b; r++) {
        unpack_small(SMK_ROW(const uint32_t, warp, of_b[r]), bits,
                     flags >> SMK_MMA_FORMAT_B_SHIFT & SMK_MMA_FORMAT_MASK, depth, p.columns + r * width);
    }
    gather_scales(warp, of_scales, ROWS, flags, &p.scales_a);
    gather_scales(warp, of_scales + 3, COLUMNS, flags, &p.scales_b);
    if (half) {
        gather_c_half(warp, of_c, ROWS, c);
    } else {
        gather_c(warp, of_c, ROWS, c);
    }
    for (unsigned row = 0; row < ROWS; row++) {
        uint32_t *sum = d + row * COLUMNS;
        const uint64_t chosen =
            sparse ? metadata_of(SMK_ROW(const uint32_t, warp, *behind), row, depth / together, 0, true) : 0;
        memset(sum, 0, COLUMNS * sizeof *sum);
        if (!apart) {
            memcpy(sum, c + row * COLUMNS, COLUMNS * sizeof *sum);
        }
        for (unsigned pass = 0; pass < passes; pass++) {
            unsigned element[SMALL_HELD_MAX], index[SMALL_HELD_MAX];
            for (unsigned i = 0; i < held / passes; i++) {
                element[i] = apart ? 4 * (i / 2) + 2 * pass + i % 2 : i;
                index[i] = sparse ? sparse_index(chosen, element[i], together) : i;
            }
            add_products(&p, row, held / passes, element, index, half, sum);
        }
        for (unsigned j = 0; apart && j < COLUMNS; j++) {
            sum[j] = add_addend(c[row * COLUMNS + j], sum[j], half);
        }
    }
    if (half) {
        scatter_d_half(warp, registers, ROWS, d);
    } else {
        scatter_d(warp, registers, ROWS, d);
    }
    return op + 1;
}
