/* Texture and surface objects of the simulator.
 *
 * An object is the address of its description, an allocation that kernels cannot write. The texels lie in an
 * allocation of their own, or in one that the program also uses as plain memory.
 */
#ifndef SMK_SIM_CODE_TEXTURE_OBJECT_H
#define SMK_SIM_CODE_TEXTURE_OBJECT_H

#include "base/texture.h"
#include "sim/code/memory.h"
#include "sim/code/memory_view.h"

#include <stdbool.h>
#include <stdint.h>

enum { SMK_TEXTURE_LEVELS_MAX = 16 };

/* A level of a texture that has several: the texels of half the size along each axis that is none of layers. */
typedef struct smk_texture_level {
    uint64_t offset; /* of its first texel, from that of the texture's */
    uint64_t row_bytes, slice_bytes;
} smk_texture_level;

typedef struct smk_texture {
    uint64_t mark;    /* smk_texture_object_create fills it */
    uint64_t address; /* of the first texel, in device memory */
    uint64_t row_bytes, slice_bytes;
    bool linear;             /* plain memory along x: what lies outside is 0 */
    uint8_t levels;          /* of a texture that has several; else 0 */
    uint8_t filters_levels;  /* mixes two of them; else the nearest one */
    float bias, least, most; /* of the number of the level */
    smk_texture_level level[SMK_TEXTURE_LEVELS_MAX];
    smk_texture_shape shape;
} smk_texture;

/* One level as a texture of its own. */
void smk_texture_object_take_level(const smk_texture *texture, unsigned level, smk_texture *taken);

/* Errors: ARGUMENT for a shape that no machine has, MEMORY. */
smk_status smk_texture_object_create(smk_memory *memory, const smk_texture *texture, uint64_t *object,
                                     smk_error *error);

/* Errors: ARGUMENT where it is no object. The texels stay. */
smk_status smk_texture_object_free(smk_memory *memory, uint64_t object, smk_error *error);

/* What an object was made of. Errors: ARGUMENT where it is no object. */
smk_status smk_texture_object_describe(smk_memory *memory, uint64_t object, smk_texture *texture, smk_error *error);

/* NULL where it is no object. */
const smk_texture *smk_texture_object_find(const smk_memory_view *view, uint64_t object);

/* Where the host finds the first texel; NULL where the memory of the texels is not there, or not all of it. */
unsigned char *smk_texture_object_texels(const smk_memory_view *view, const smk_texture *texture);

#endif
