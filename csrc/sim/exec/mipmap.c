#include "sim/exec/mipmap.h"

#include <math.h>

enum { PARTS = 256 };

/* About the length of a step in texels, without a root: the longest component and 11/32 of the others. */
static double measure(const smk_texture *texture, const float step[3])
{
    double longest = 0, sum = 0;
    for (unsigned axis = 0; axis < texture->shape.axes; axis++) {
        const double size = texture->shape.normalized != 0 ? texture->shape.size[axis] : 1;
        const double product = fabs(size * step[axis]), part = isnan(product) ? 0 : product;
        sum += part;
        longest = part > longest ? part : longest;
    }
    return isinf(longest) ? longest : longest + (sum - longest) * 11 / 32;
}

float smk_mipmap_choose_level(const smk_texture *texture, const float gradient[2][3])
{
    const double a = measure(texture, gradient[0]), b = measure(texture, gradient[1]), longest = a > b ? a : b;
    return longest > 0 ? (float)(floor(log2(longest) * PARTS + 0.7) / PARTS) : SMK_MIPMAP_LARGEST;
}

/* In 256ths, cut toward zero; of no more than texture units keep. */
static int32_t cut(float number)
{
    const float most = 32;
    return isnan(number) ? 0 : (int32_t)((number > most ? most : number < -most ? -most : number) * PARTS);
}

/* The level in 256ths, inside the limits of the texture. */
static unsigned limit(const smk_texture *texture, float level)
{
    const int32_t top = (texture->levels - 1) * PARTS, least = cut(texture->least), most = cut(texture->most);
    const int32_t moved = (int32_t)floorf(isnan(level) ? 0 : fmaxf(fminf(level, 32), -32) * PARTS) + cut(texture->bias);
    const int32_t below = moved > most ? most : moved, inside = below < least ? least : below;
    return (unsigned)(inside < 0 ? 0 : inside > top ? top : inside);
}

void smk_mipmap_read(const smk_texture *texture, const unsigned char *texels, const smk_sample_point *point, bool cube,
                     float level, uint32_t value[SMK_SAMPLE_CHANNELS])
{
    smk_texture taken[2];
    smk_sample_level levels[2] = {{texture, texels}};
    if (texture->levels < 2) {
        smk_sample_read(levels, point, cube, value);
        return;
    }
    const unsigned at = limit(texture, level);
    const bool mixes = texture->filters_levels != 0 && at % PARTS != 0 && smk_sample_can_mix(texture);
    const unsigned first = mixes ? at / PARTS : (at + PARTS / 2) / PARTS;
    for (unsigned i = 0; i < (mixes ? 2U : 1U); i++) {
        smk_texture_object_take_level(texture, first + i, &taken[i]);
        levels[i] = (smk_sample_level){&taken[i], texels + texture->level[first + i].offset};
    }
    if (mixes) {
        smk_sample_mix(levels, point, cube, at % PARTS, value);
    } else {
        smk_sample_read(levels, point, cube, value);
    }
}

void smk_mipmap_fetch(const smk_texture *texture, const unsigned char *texels, const int32_t at[3], uint32_t layer,
                      bool named, uint32_t level, uint32_t value[SMK_SAMPLE_CHANNELS])
{
    smk_texture taken;
    smk_sample_level own = {texture, texels};
    if (level > 0 && level >= texture->levels) {
        for (unsigned i = 0; i < SMK_SAMPLE_CHANNELS; i++) {
            value[i] = 0;
        }
        return;
    }
    if (texture->levels > 0) {
        smk_texture_object_take_level(texture, level, &taken);
        own = (smk_sample_level){&taken, texels + texture->level[level].offset};
    }
    smk_sample_fetch(&own, at, layer, named, value);
}
