#include "sim/exec/sample.h"

#include "sim/exec/convert.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const double FRACTIONS_END = 16777216.0; /* 2^24: floats from there on are whole */

/* What the CUDA programming guide says of texture units, and, where it says nothing, what an H100 and an H200 were seen
 * to do (tests/sim/exec/textures_h200.json has some of it):
 * - A normalised coordinate is cut to 21 bits behind the point, 22 where the size is over 8192, before it is multiplied
 *   by the size. Mirrored, it is counted down from the other end; of a size that is a power of two it then belongs to
 *   the texel before where it lies between two. (One weight in 50 of mirrored coordinates is off by one 256th.)
 * - A filter knows the distance to a texel in 256ths, rounded to nearest, upwards from the middle. Weights of two and
 *   three axes are products, rounded to 256ths one after the other, so that all of them add up to one.
 * - Floats are added as integers: cut to 4 bits below the last place of the largest one that has a weight; the sum is
 *   rounded to nearest, away from zero from the middle. Halves give a half; integers of 8 and 16 bits one of 16 bits
 *   (of signed 8 bits, one result in 25 is off by one 32767th; of three axes, one in a hundred by the last bit).
 * - A filter of one axis mixes half of the border in where the mode of y is the border: y is 0. */

enum {
    PARTS = 256,
    TAPS_MAX = 8,
    LEVELS = 2,
    GUARD_BITS = 4,
    COORDINATE_BITS = 21,
    FEW_TEXELS = 8192,
    SUBTEXEL_BITS = 8
};

/* One texel that a filter mixes. */
typedef struct tap {
    const unsigned char *texel; /* NULL: the border */
    uint32_t weight;            /* in 256ths */
} tap;

static bool reads_numbers(const smk_texture_shape *shape)
{
    return shape->kind == SMK_TEXEL_FLOAT || (shape->reads_floats != 0 && shape->bits < 32);
}

/* The largest number of a channel of integers that are read as floats. */
static int32_t top_of(const smk_texture_shape *shape)
{
    return (INT32_C(1) << (shape->bits - (shape->kind == SMK_TEXEL_SIGNED ? 1 : 0))) - 1;
}

/* Texels --------------------------------------------------------------------------------------------------------- */

/* A channel as it lies in memory, extended to 32 bits. */
static uint32_t load_channel(const smk_texture_shape *shape, const unsigned char *texel, unsigned channel)
{
    const unsigned bytes = shape->bits / 8U;
    uint32_t raw = 0;
    memcpy(&raw, texel + (size_t)channel * bytes, bytes);
    if (shape->kind == SMK_TEXEL_SIGNED && shape->bits < 32) {
        return (uint32_t)(shape->bits == 8 ? (int32_t)(int8_t)raw : (int32_t)(int16_t)raw);
    }
    return raw;
}

/* The border, as a channel of the texture would hold it. */
static uint32_t load_border(const smk_texture_shape *shape, unsigned channel)
{
    const float border = shape->border[channel];
    if (shape->kind == SMK_TEXEL_FLOAT) {
        return shape->bits == 16 ? smk_nearest_f16(border) : smk_bits_f32(border);
    }
    if (reads_numbers(shape)) {
        const float least = shape->kind == SMK_TEXEL_SIGNED ? -1.0F : 0.0F;
        const float inside = !(border > least) ? least : border > 1.0F ? 1.0F : border;
        return (uint32_t)(int32_t)lrintf(inside * (float)top_of(shape));
    }
    const uint32_t low = smk_bits_f32(border) & (shape->bits == 32 ? UINT32_MAX : (UINT32_C(1) << shape->bits) - 1);
    const bool negative = shape->kind == SMK_TEXEL_SIGNED && (low >> (shape->bits - 1) & 1) != 0;
    return negative && shape->bits < 32 ? low | UINT32_MAX << shape->bits : low;
}

/* As a register has it. */
static uint32_t finish_channel(const smk_texture_shape *shape, uint32_t loaded)
{
    if (shape->kind == SMK_TEXEL_FLOAT) {
        return shape->bits == 16 ? smk_bits_f32(smk_widen_f16((uint16_t)loaded)) : loaded;
    }
    if (!reads_numbers(shape)) {
        return loaded;
    }
    const float value = (float)(int32_t)loaded / (float)top_of(shape);
    return smk_bits_f32(value < -1.0F ? -1.0F : value);
}

/* The texel at an index; NULL at an index of -1, which is the border. */
static const unsigned char *find_texel(const smk_texture *t, const unsigned char *texels, const int64_t index[3],
                                       uint32_t slice)
{
    if (index[0] < 0 || index[1] < 0 || index[2] < 0) {
        return NULL;
    }
    return texels + ((uint64_t)index[2] + slice) * t->slice_bytes + (uint64_t)index[1] * t->row_bytes +
           (uint64_t)index[0] * smk_texture_texel_bytes(&t->shape);
}

static uint32_t load_texel(const smk_texture *t, const unsigned char *texel, unsigned channel)
{
    return texel != NULL ? load_channel(&t->shape, texel, channel) : t->linear ? 0 : load_border(&t->shape, channel);
}

/* Coordinates ---------------------------------------------------------------------------------------------------- */

static smk_texture_mode mode_of(const smk_texture_shape *shape, unsigned axis)
{
    const smk_texture_mode mode = (smk_texture_mode)shape->mode[axis];
    const bool repeats = mode == SMK_TEXTURE_WRAP || mode == SMK_TEXTURE_MIRROR;
    return repeats && shape->normalized == 0 ? SMK_TEXTURE_CLAMP : mode;
}

/* An index inside the axis, or -1 for the border. */
static int64_t settle(int64_t index, uint32_t size, smk_texture_mode mode)
{
    const int64_t n = size;
    if (index >= 0 && index < n) {
        return index;
    }
    int64_t turned = index % (2 * n);
    turned += turned < 0 ? 2 * n : 0;
    switch (mode) {
    case SMK_TEXTURE_WRAP:
        return turned % n;
    case SMK_TEXTURE_MIRROR:
        return turned < n ? turned : 2 * n - 1 - turned;
    case SMK_TEXTURE_CLAMP:
        return index < 0 ? 0 : n - 1;
    case SMK_TEXTURE_BORDER:
        break;
    }
    return -1;
}

/* floor() of what fits, which is a call for common processors. */
static int64_t round_down(double x)
{
    const int64_t toward_zero = (int64_t)x;
    return toward_zero - ((double)toward_zero > x ? 1 : 0);
}

/* A normalised coordinate as the texture unit keeps it, in units of 1 / 2^bits, wrapped or mirrored into 0 to 1. */
static int64_t normalise(float coordinate, uint32_t size, smk_texture_mode mode, bool filters, unsigned bits)
{
    const double x = coordinate, scale = (double)(INT64_C(1) << bits);
    if (mode == SMK_TEXTURE_CLAMP || mode == SMK_TEXTURE_BORDER) {
        const double inside = isnan(x) ? 0 : x < -2 ? -2 : x > 3 ? 3 : x;
        return round_down(inside * scale);
    }
    if (!isfinite(x)) {
        return 0;
    }
    const double whole = fabs(x) < FRACTIONS_END ? (double)round_down(x) : x;
    const int64_t part = round_down((x - whole) * scale), last = (INT64_C(1) << bits) - 1;
    const int64_t kept = part < last ? part : last;
    if (mode == SMK_TEXTURE_WRAP || fmod(whole, 2) == 0) {
        return kept;
    }
    const bool finer = (uint64_t)size << SUBTEXEL_BITS < UINT64_C(1) << bits;
    const bool before = (size & (size - 1)) == 0 && (finer || !filters);
    return last + 1 - kept - (before ? 1 : 0);
}

/* The position along an axis, in 256ths of a texel; of a filter, from the middle of the first texel on. */
static int64_t locate(const smk_texture_shape *shape, float coordinate, unsigned axis, bool filters)
{
    const int64_t size = shape->size[axis];
    if (shape->normalized != 0) {
        const unsigned bits = COORDINATE_BITS + (size > FEW_TEXELS ? 1 : 0);
        const int64_t part = normalise(coordinate, shape->size[axis], mode_of(shape, axis), filters, bits);
        const int64_t twice = part * size * (2 * PARTS);
        return (filters ? twice - (PARTS - 1) * (INT64_C(1) << bits) : twice) >> (bits + 1);
    }
    const double x = isnan(coordinate) ? 0 : coordinate;
    const double inside = x < -4 ? -4 : x > (double)(size + 4) ? (double)(size + 4) : x;
    return filters ? round_down(inside * PARTS - (PARTS - 1) / 2.0) : round_down(inside) * PARTS;
}

/* Filters -------------------------------------------------------------------------------------------------------- */

/* A product of two weights; from the middle `far` texels round up, others down. */
static uint32_t round_weight(uint32_t product, bool far)
{
    return (product + (far ? PARTS / 2 : PARTS / 2 - 1)) / PARTS;
}

/* The weights of the texels of `axes` axes, of which the second ones have `part`; bit i of an index is axis i. A level
 * has `share` of the weight, as one of two texels along an axis has. */
static void weigh(const uint32_t part[3], unsigned axes, uint32_t share, uint32_t weights[TAPS_MAX])
{
    const uint32_t x[2] = {PARTS - part[0], part[0]}, z[2] = {PARTS - part[2], part[2]};
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < (axes == 3 ? 2U : 1U); k++) {
            const uint32_t flat = axes == 3 ? round_weight(x[i] * z[k], i == 1) : x[i];
            const uint32_t both = share < PARTS ? round_weight(flat * share, i == 1) : flat;
            const uint32_t far = axes == 1 ? 0 : round_weight(both * part[1], i == 1);
            weights[i + 4 * k] = both - far;
            weights[i + 2 + 4 * k] = far;
        }
    }
}

/* The taps of a filter; their number. `settles`: a point outside a clamped axis moves to the middle of its last texel,
 * which then has all the weight. A texture of one axis without layers has a second one, at whose border y is. */
static unsigned list_taps(const smk_texture *t, const unsigned char *texels, const smk_sample_point *point,
                          bool settles, uint32_t share, tap taps[TAPS_MAX])
{
    const smk_texture_shape *shape = &t->shape;
    const bool is_flat = shape->axes == 1 && shape->layers == 0 && shape->mode[1] == SMK_TEXTURE_BORDER;
    const unsigned axes = is_flat ? 2 : shape->axes;
    uint32_t part[3] = {0}, weights[TAPS_MAX];
    int64_t index[3][2] = {{0}};
    for (unsigned axis = 0; axis < axes; axis++) {
        const bool is_given = axis < shape->axes;
        const smk_texture_mode mode = is_given ? mode_of(shape, axis) : SMK_TEXTURE_BORDER;
        const int64_t begin = is_given ? locate(shape, point->at[axis], axis, true) : -PARTS / 2;
        const int64_t last = (shape->size[axis] - INT64_C(1)) * PARTS;
        int64_t at = begin + (int64_t)point->offset[axis] * PARTS;
        if (settles && mode == SMK_TEXTURE_CLAMP) {
            at = at < 0 ? 0 : at > last ? last : at;
        }
        part[axis] = (uint32_t)(at & (PARTS - 1));
        index[axis][0] = settle(at >> SUBTEXEL_BITS, shape->size[axis], mode);
        index[axis][1] = settle((at >> SUBTEXEL_BITS) + 1, shape->size[axis], mode);
    }
    weigh(part, axes, share, weights);
    for (unsigned i = 0; i < 1U << axes; i++) {
        const int64_t at[3] = {index[0][i & 1], index[1][i >> 1 & 1], index[2][i >> 2]};
        taps[i] = (tap){find_texel(t, texels, at, point->layer), weights[i]};
    }
    return 1U << axes;
}

/* The nearest texel. */
static tap find_nearest(const smk_texture *t, const unsigned char *texels, const smk_sample_point *point,
                        uint32_t share)
{
    int64_t index[3] = {0};
    for (unsigned axis = 0; axis < t->shape.axes; axis++) {
        const int64_t at = locate(&t->shape, point->at[axis], axis, false);
        index[axis] =
            settle((at >> SUBTEXEL_BITS) + point->offset[axis], t->shape.size[axis], mode_of(&t->shape, axis));
    }
    return (tap){find_texel(t, texels, index, point->layer), share};
}

/* |number| * 2^exponent, rounded away from zero from the middle, to `bits` bits and no finer than 2^least. */
static float round_away(int64_t number, int exponent, unsigned bits, int least)
{
    uint64_t left = (uint64_t)(number < 0 ? -number : number);
    unsigned drop = 0;
    while (left >> drop >> bits != 0) {
        drop++;
    }
    if (exponent + (int)drop < least) {
        drop = (unsigned)(least - exponent);
    }
    const uint64_t half = drop > 0 ? UINT64_C(1) << (drop - 1) : 0;
    const double value = ldexp((double)((left + half) >> drop), exponent + (int)drop);
    return (float)(number < 0 ? -value : value);
}

typedef struct float_format {
    unsigned fraction_bits;
    int bias;
} float_format;

/* The mix of floats of a format, as bits in memory. */
static uint32_t mix_floats(const uint32_t *loaded, const tap *taps, unsigned count, float_format format)
{
    const uint32_t leading = UINT32_C(1) << format.fraction_bits;
    const int top = 2 * format.bias + 1;
    int exponents[LEVELS * TAPS_MAX], largest = 1;
    float special = 0;
    bool is_special = false;
    for (unsigned i = 0; i < count; i++) {
        exponents[i] = (int)(loaded[i] >> format.fraction_bits) & top;
        if (taps[i].weight > 0) {
            const float value = format.bias == 15 ? smk_widen_f16((uint16_t)loaded[i]) : smk_float_f32(loaded[i]);
            is_special = is_special || exponents[i] == top;
            special += value * (float)taps[i].weight;
            largest = exponents[i] > largest ? exponents[i] : largest;
        }
    }
    if (is_special) {
        return smk_bits_f32(special);
    }
    int64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        const int exponent = exponents[i] > 0 ? exponents[i] : 1, down = largest - exponent;
        const int64_t digits = (loaded[i] & (leading - 1)) | (exponents[i] > 0 ? leading : 0);
        const int64_t cut = down < 63 ? digits << GUARD_BITS >> down : 0;
        const bool negative = (loaded[i] >> format.fraction_bits & (uint32_t)(top + 1)) != 0;
        sum += (negative ? -cut : cut) * taps[i].weight;
    }
    const int finest = 1 - format.bias - (int)format.fraction_bits;
    return smk_bits_f32(
        round_away(sum, largest - 1 + finest - GUARD_BITS - SUBTEXEL_BITS, format.fraction_bits + 1, finest));
}

/* The mix of integers that are read as floats: a number of 16 bits. */
static uint32_t mix_integers(const smk_texture_shape *shape, const uint32_t *loaded, const tap *taps, unsigned count)
{
    const bool is_signed = shape->kind == SMK_TEXEL_SIGNED;
    const int64_t top = is_signed ? INT16_MAX : UINT16_MAX, own = top_of(shape);
    int64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        sum += (int64_t)(int32_t)loaded[i] * taps[i].weight;
    }
    const double exact = (double)(sum * top) / (double)(own * PARTS);
    const int64_t rounded = (int64_t)floor(exact + 0.5), inside = rounded < -top ? -top : rounded;
    return smk_bits_f32((float)inside / (float)top);
}

static uint32_t mix(const smk_texture *t, const tap *taps, unsigned count, unsigned channel)
{
    const float_format half = {10, 15}, single = {23, 127};
    uint32_t loaded[LEVELS * TAPS_MAX];
    for (unsigned i = 0; i < count; i++) {
        loaded[i] = load_texel(t, taps[i].texel, channel);
    }
    return t->shape.kind == SMK_TEXEL_FLOAT ? mix_floats(loaded, taps, count, t->shape.bits == 16 ? half : single)
                                            : mix_integers(&t->shape, loaded, taps, count);
}

/* Cubes ---------------------------------------------------------------------------------------------------------- */

/* The face that a direction meets, and where in it, from 0 to 1. The largest axis decides; of equal ones z, then y. */
static unsigned find_face(const float at[3], float face[2])
{
    const float size[3] = {fabsf(at[0]), fabsf(at[1]), fabsf(at[2])};
    const unsigned axis = size[2] >= size[0] && size[2] >= size[1] ? 2 : size[1] >= size[0] ? 1 : 0;
    const bool back = at[axis] < 0;
    const float s = axis == 0 ? (back ? at[2] : -at[2]) : axis == 1 ? at[0] : back ? -at[0] : at[0];
    const float t = axis == 1 ? (back ? -at[2] : at[2]) : -at[1];
    face[0] = size[axis] > 0 ? (s / size[axis] + 1) / 2 : 0.5F;
    face[1] = size[axis] > 0 ? (t / size[axis] + 1) / 2 : 0.5F;
    return 2 * axis + (back ? 1 : 0);
}

/* The texture of one face, and the point in it. */
static smk_sample_point enter_face(const smk_texture *texture, const smk_sample_point *point, smk_texture *face)
{
    enum { FACES = 6 };
    smk_sample_point inside = {.at = {0}};
    *face = *texture;
    face->shape.normalized = 1;
    face->shape.mode[0] = face->shape.mode[1] = SMK_TEXTURE_CLAMP;
    inside.layer = FACES * point->layer + find_face(point->at, inside.at);
    return inside;
}

/* Reads ---------------------------------------------------------------------------------------------------------- */

/* The taps of a read; their number. */
static unsigned list_read(const smk_sample_level *level, const smk_sample_point *point, bool cube, uint32_t share,
                          tap taps[TAPS_MAX])
{
    const smk_texture *t = level->texture;
    smk_sample_point inside = *point;
    smk_texture face;
    if (cube) {
        inside = enter_face(t, point, &face);
        t = &face;
    }
    if (t->shape.filters != 0) {
        return list_taps(t, level->texels, &inside, true, share, taps);
    }
    taps[0] = find_nearest(t, level->texels, &inside, share);
    return 1;
}

void smk_sample_read(const smk_sample_level *level, const smk_sample_point *point, bool cube,
                     uint32_t value[SMK_SAMPLE_CHANNELS])
{
    const smk_texture_shape *shape = &level->texture->shape;
    tap taps[TAPS_MAX];
    const unsigned count = list_read(level, point, cube, PARTS, taps);
    for (unsigned c = 0; c < SMK_SAMPLE_CHANNELS; c++) {
        value[c] = c >= shape->channels  ? 0
                   : shape->filters != 0 ? mix(level->texture, taps, count, c)
                                         : finish_channel(shape, load_texel(level->texture, taps[0].texel, c));
    }
}

void smk_sample_mix(const smk_sample_level levels[2], const smk_sample_point *point, bool cube, uint32_t fraction,
                    uint32_t value[SMK_SAMPLE_CHANNELS])
{
    tap taps[LEVELS * TAPS_MAX];
    unsigned count = list_read(&levels[0], point, cube, PARTS - fraction, taps);
    count += list_read(&levels[1], point, cube, fraction, taps + count);
    for (unsigned c = 0; c < SMK_SAMPLE_CHANNELS; c++) {
        value[c] = c < levels->texture->shape.channels ? mix(levels->texture, taps, count, c) : 0;
    }
}

bool smk_sample_can_mix(const smk_texture *texture)
{
    return reads_numbers(&texture->shape);
}

void smk_sample_fetch(const smk_sample_level *level, const int32_t at[3], uint32_t layer, bool named,
                      uint32_t value[SMK_SAMPLE_CHANNELS])
{
    const smk_texture_shape *shape = &level->texture->shape;
    int64_t index[3] = {0};
    bool is_there = true;
    for (unsigned axis = 0; axis < shape->axes; axis++) {
        const bool inside = at[axis] >= 0 && (uint32_t)at[axis] < shape->size[axis];
        is_there = is_there && (inside || (named && !level->texture->linear));
        index[axis] = settle(at[axis], shape->size[axis], mode_of(shape, axis));
    }
    const unsigned char *texel = is_there ? find_texel(level->texture, level->texels, index, layer) : NULL;
    for (unsigned c = 0; c < SMK_SAMPLE_CHANNELS; c++) {
        value[c] = c < shape->channels && is_there ? finish_channel(shape, load_texel(level->texture, texel, c)) : 0;
    }
}

void smk_sample_gather(const smk_sample_level *level, const smk_sample_point *point, bool cube, unsigned channel,
                       uint32_t value[4])
{
    static const unsigned order[4] = {2, 3, 1, 0};
    const smk_texture *texture = level->texture;
    smk_sample_point inside = *point;
    smk_texture face;
    tap taps[TAPS_MAX];
    if (cube) {
        inside = enter_face(texture, point, &face);
        texture = &face;
    }
    (void)list_taps(texture, level->texels, &inside, false, PARTS, taps);
    for (unsigned i = 0; i < 4; i++) {
        const bool is_there = channel < texture->shape.channels;
        value[i] = is_there ? finish_channel(&texture->shape, load_texel(texture, taps[order[i]].texel, channel)) : 0;
    }
}
