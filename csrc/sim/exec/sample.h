/* What texture units make of coordinates: pure functions of a texture and its texels. */
#ifndef SMK_SIM_EXEC_SAMPLE_H
#define SMK_SIM_EXEC_SAMPLE_H

#include "sim/code/texture_object.h"

enum { SMK_SAMPLE_CHANNELS = 4 };

/* Where coordinates point: one for each axis of the texture, and the number of a layer that is there. */
typedef struct smk_sample_point {
    float at[3]; /* of a cube: a direction */
    uint32_t layer;
} smk_sample_point;

/* Floats as their bits, integers extended to 32 bits; 0 for channels that the texture does not have. */
void smk_sample_read(const smk_texture *texture, const unsigned char *texels, const smk_sample_point *point, bool cube,
                     uint32_t value[SMK_SAMPLE_CHANNELS]);

/* The texel at whole numbers. */
void smk_sample_fetch(const smk_texture *texture, const unsigned char *texels, const int32_t at[3], uint32_t layer,
                      uint32_t value[SMK_SAMPLE_CHANNELS]);

/* One channel of the four texels of two axes that a filter would mix: first those of the row behind, from left to right,
 * then those of the row in front, from right to left. */
void smk_sample_gather(const smk_texture *texture, const unsigned char *texels, const smk_sample_point *point,
                       unsigned channel, uint32_t value[4]);

#endif
