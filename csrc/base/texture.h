/* What a texture or surface is, whatever the machine. */
#ifndef SMK_BASE_TEXTURE_H
#define SMK_BASE_TEXTURE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum smk_texel_kind { SMK_TEXEL_UNSIGNED, SMK_TEXEL_SIGNED, SMK_TEXEL_FLOAT } smk_texel_kind;

/* What a coordinate outside the texture reads; the numbers are CUDA's. */
typedef enum smk_texture_mode {
    SMK_TEXTURE_WRAP,   /* the texture again; without normalised coordinates the same as CLAMP */
    SMK_TEXTURE_CLAMP,  /* the nearest texel */
    SMK_TEXTURE_MIRROR, /* the texture turned over, and again; without normalised coordinates the same as CLAMP */
    SMK_TEXTURE_BORDER  /* a colour */
} smk_texture_mode;

/* Texels lie row by row, then slice by slice: along z, or layer by layer, each of the six faces of a cube a slice. */
typedef struct smk_texture_shape {
    uint32_t size[3];     /* texels along x, y and z; 1 along an axis that the texture does not have */
    uint32_t layers;      /* of a layered texture; 0: it is not layered */
    uint8_t axes;         /* 1 to 3; 2 of a cube */
    uint8_t cube;         /* six square slices, for each layer */
    uint8_t channels;     /* 1, 2 or 4 */
    uint8_t bits;         /* of a channel: 8, 16 or 32 */
    uint8_t kind;         /* smk_texel_kind */
    uint8_t mode[3];      /* smk_texture_mode */
    uint8_t filters;      /* mixes the texels around a coordinate; else the nearest one */
    uint8_t normalized;   /* coordinates go from 0 to 1 */
    uint8_t reads_floats; /* integers of 8 and 16 bits are read as numbers from 0, or -1, to 1 */
    uint8_t surface;      /* read and written by byte offset; not a texture */
    float border[4];
} smk_texture_shape;

/* How a texture is read, apart from it: a sampler of PTX in one word, which is none of an object's. */
typedef struct smk_sampler {
    uint8_t mode[3]; /* smk_texture_mode, or SMK_SAMPLER_CLAMP_OGL */
    uint8_t filters, unnormalized;
} smk_sampler;

enum { SMK_SAMPLER_CLAMP_OGL = SMK_TEXTURE_BORDER + 1 };

uint64_t smk_texture_pack_sampler(const smk_sampler *sampler);
bool smk_texture_unpack_sampler(uint64_t word, smk_sampler *sampler); /* false: it is no sampler */

/* Errors: ARGUMENT for what no machine has. */
smk_status smk_texture_check(const smk_texture_shape *shape, smk_error *error);

unsigned smk_texture_texel_bytes(const smk_texture_shape *shape);
uint64_t smk_texture_slices(const smk_texture_shape *shape);

#endif
