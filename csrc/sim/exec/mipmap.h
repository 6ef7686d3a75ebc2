/* Textures of several levels, each half as large as the one before: which of them a read mixes. */
#ifndef SMK_SIM_EXEC_MIPMAP_H
#define SMK_SIM_EXEC_MIPMAP_H

#include "sim/exec/sample.h"

/* The level of reads that name none: the largest that the texture's limits allow. */
#define SMK_MIPMAP_LARGEST (-32.0F)

/* The level at which a texel is about as large as the larger of two steps of the coordinates. An H200 chooses the same
 * one, to a 256th, where one step is along an axis and the other one less than half as long; where both are long it
 * chooses a level up to 0.8 higher, which is not simulated, nor are reads of several texels along a long step
 * (anisotropy). */
float smk_mipmap_choose_level(const smk_texture *texture, const float gradient[2][3]);

/* As smk_sample_read, and as smk_sample_fetch, of a level; `named` by the instruction, or 0. */
void smk_mipmap_read(const smk_texture *texture, const unsigned char *texels, const smk_sample_point *point, bool cube,
                     float level, uint32_t value[SMK_SAMPLE_CHANNELS]);
void smk_mipmap_fetch(const smk_texture *texture, const unsigned char *texels, const int32_t at[3], uint32_t layer,
                      bool named, uint32_t level, uint32_t value[SMK_SAMPLE_CHANNELS]);

#endif
