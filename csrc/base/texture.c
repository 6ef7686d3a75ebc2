#include "base/texture.h"

#include <stddef.h>

enum { CHANNELS_MAX = 4, FACES = 6 };

unsigned smk_texture_texel_bytes(const smk_texture_shape *shape)
{
    return shape->channels * shape->bits / 8U;
}

uint64_t smk_texture_slices(const smk_texture_shape *shape)
{
    const uint64_t layers = shape->layers > 0 ? shape->layers : 1;
    return shape->cube != 0 ? FACES * layers : shape->layers > 0 ? layers : shape->size[2];
}

#define SAMPLER_MARK (UINT64_C(1) << 62)

uint64_t smk_texture_pack_sampler(const smk_sampler *sampler)
{
    uint64_t word = SAMPLER_MARK;
    for (unsigned i = 0; i < 3; i++) {
        word |= (uint64_t)sampler->mode[i] << (8 * i);
    }
    return word | (uint64_t)(sampler->filters != 0) << 24 | (uint64_t)(sampler->unnormalized != 0) << 25;
}

bool smk_texture_unpack_sampler(uint64_t word, smk_sampler *sampler)
{
    for (unsigned i = 0; i < 3; i++) {
        sampler->mode[i] = (uint8_t)(word >> (8 * i));
    }
    sampler->filters = (word >> 24 & 1) != 0;
    sampler->unnormalized = (word >> 25 & 1) != 0;
    return (word & SAMPLER_MARK) != 0;
}

static bool has_good_format(const smk_texture_shape *s)
{
    const bool channels = s->channels == 1 || s->channels == 2 || s->channels == CHANNELS_MAX;
    const bool bits = s->bits == 16 || s->bits == 32 || (s->bits == 8 && s->kind != SMK_TEXEL_FLOAT);
    return channels && bits && s->kind <= SMK_TEXEL_FLOAT;
}

static const char *find_fault(const smk_texture_shape *s)
{
    const bool numbers = s->kind == SMK_TEXEL_FLOAT || (s->reads_floats != 0 && s->bits < 32);
    if (!has_good_format(s)) {
        return "a texel has 1, 2 or 4 channels, integers of 8, 16 or 32 bits or floats of 16 or 32 bits";
    }
    if (s->axes < 1 || s->axes > 3 || s->size[0] == 0 || s->size[1] == 0 || s->size[2] == 0) {
        return "a texture has 1 to 3 axes and at least one texel along each";
    }
    if (s->axes == 3 && s->layers > 0) {
        return "a texture of 3 axes has no layers";
    }
    if (s->cube != 0 && (s->axes != 2 || s->size[0] != s->size[1])) {
        return "the faces of a cube are squares";
    }
    if (s->filters != 0 && !numbers) {
        return "only what is read as floats can be filtered: floats, or integers of 8 and 16 bits that are read as "
               "floats";
    }
    for (unsigned i = 0; i < s->axes; i++) {
        if (s->mode[i] > SMK_TEXTURE_BORDER) {
            return "a coordinate outside the texture is wrapped, clamped, mirrored, or reads the border";
        }
    }
    return NULL;
}

smk_status smk_texture_check(const smk_texture_shape *shape, smk_error *error)
{
    const char *fault = find_fault(shape);
    return fault == NULL ? SMK_OK : smk_status_fail(error, SMK_ARGUMENT, "%s", fault);
}
