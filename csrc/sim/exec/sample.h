/* What texture units make of coordinates: pure functions of a texture and its texels. */
#ifndef SMK_SIM_EXEC_SAMPLE_H
#define SMK_SIM_EXEC_SAMPLE_H

#include "sim/code/texture_object.h"

enum { SMK_SAMPLE_CHANNELS = 4 };

/* Where coordinates point: one for each axis of the texture, and the number of a layer that is there. */
typedef struct smk_sample_point {
    float at[3]; /* of a cube: a direction */
    uint32_t layer;
    int32_t offset[3]; /* added to the numbers of texels */
} smk_sample_point;

/* A texture of one level, and where the host finds its first texel. */
typedef struct smk_sample_level {
    const smk_texture *texture;
    const unsigned char *texels;
} smk_sample_level;

/* Floats as their bits, integers extended to 32 bits; 0 for channels that the texture does not have. */
void smk_sample_read(const smk_sample_level *level, const smk_sample_point *point, bool cube,
                     uint32_t value[SMK_SAMPLE_CHANNELS]);

/* A mix of two levels, of which the second has `fraction` 256ths, of a texture that can be mixed: one of floats, or of
 * integers that are read as floats. */
void smk_sample_mix(const smk_sample_level levels[2], const smk_sample_point *point, bool cube, uint32_t fraction,
                    uint32_t value[SMK_SAMPLE_CHANNELS]);
bool smk_sample_can_mix(const smk_texture *texture);

/* The texel at whole numbers; where there is none 0 or, where a level is named, what the mode of the axis says. */
void smk_sample_fetch(const smk_sample_level *level, const int32_t at[3], uint32_t layer, bool named,
                      uint32_t value[SMK_SAMPLE_CHANNELS]);

/* One channel of the four texels of two axes that a filter would mix: first those of the row behind, from left to right,
 * then those of the row in front, from right to left. */
void smk_sample_gather(const smk_sample_level *level, const smk_sample_point *point, bool cube, unsigned channel,
                       uint32_t value[4]);

#endif
