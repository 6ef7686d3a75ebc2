/* Handlers of textures and surfaces.
 *
 * u.detail->rows: by smk_texture_row; d2 is the width of the values' rows in bits, count their number. element: flags of
 * smk_texture_flag. slot: the channel of a gather, smk_surface_bound of a surface, smk_modifier of a question. */
#ifndef SMK_SIM_EXEC_TEXTURE_ACCESS_H
#define SMK_SIM_EXEC_TEXTURE_ACCESS_H

#include "sim/code/operation.h"
#include "sim/code/texture_object.h"

typedef enum smk_texture_row {
    SMK_TEXTURE_OBJECT,
    SMK_TEXTURE_SAMPLER,
    SMK_TEXTURE_COORDINATE, /* up to four */
    SMK_TEXTURE_LEVEL = SMK_TEXTURE_COORDINATE + 4,
    SMK_TEXTURE_GRADIENT,                          /* twice four */
    SMK_TEXTURE_OFFSET = SMK_TEXTURE_GRADIENT + 8, /* up to four */
    SMK_TEXTURE_VALUE = SMK_TEXTURE_OFFSET + 4,    /* up to four */
    SMK_TEXTURE_ROWS = SMK_TEXTURE_VALUE + 4
} smk_texture_row;

/* Flags beside the number of axes. */
typedef enum smk_texture_flag {
    SMK_TEXTURE_AXES = 3,
    SMK_TEXTURE_LAYERED = 4,
    SMK_TEXTURE_CUBE = 8,
    SMK_TEXTURE_WHOLE = 16, /* coordinates are numbers of texels */
    SMK_TEXTURE_SAMPLED = 32,
    SMK_TEXTURE_LEVELED = 64,
    SMK_TEXTURE_GRADED = 128,
    SMK_TEXTURE_MOVED = 256,    /* by an offset */
    SMK_TEXTURE_FORMATTED = 512 /* sust.p, sured.p: coordinates count texels, values are converted */
} smk_texture_flag;

/* What happens outside a surface. */
typedef enum smk_surface_bound { SMK_SURFACE_TRAP, SMK_SURFACE_CLAMP, SMK_SURFACE_ZERO } smk_surface_bound;

const smk_operation *smk_texture_access_read(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_texture_access_gather(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_texture_access_ask(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_texture_access_is_kind(smk_warp *warp, const smk_operation *op);

/* The texture or surface of one lane. Most launches have the same one in all lanes, so it is looked up again only where
 * the object is another one. */
typedef struct smk_found_object {
    uint64_t object, sampler;
    const smk_texture *texture; /* NULL before the first */
    unsigned char *texels;
    smk_texture sampled; /* the texture as a sampler reads it */
} smk_found_object;

/* False after a failure. */
bool smk_texture_access_find(smk_warp *warp, const smk_operation *op, unsigned lane, bool surface,
                             smk_found_object *found);
void smk_texture_access_write(const smk_warp *warp, const smk_operation *op, unsigned value, unsigned lane,
                              uint64_t bits);
uint64_t smk_texture_access_value(const smk_warp *warp, const smk_operation *op, unsigned value, unsigned lane);
uint32_t smk_texture_access_word(const smk_warp *warp, const smk_operation *op, unsigned row, unsigned lane);

/* surface_access.c */
const smk_operation *smk_surface_access_load(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_surface_access_store(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_surface_access_reduce(smk_warp *warp, const smk_operation *op);

#endif
