/* Handlers of textures and surfaces.
 *
 * u.detail->rows: the object, up to SMK_TEXTURE_COORDINATES coordinates, then `count` values; d2 is the width of the
 * values' rows in bits. element: smk_texture_shape. slot: the channel of a gather, smk_surface_bound of a surface. */
#ifndef SMK_SIM_EXEC_TEXTURE_ACCESS_H
#define SMK_SIM_EXEC_TEXTURE_ACCESS_H

#include "sim/code/operation.h"

enum { SMK_TEXTURE_COORDINATES = 4, SMK_TEXTURE_VALUES = 4 };

/* Flags of `element` beside the number of axes. */
enum { SMK_TEXTURE_AXES = 3, SMK_TEXTURE_LAYERED = 4, SMK_TEXTURE_CUBE = 8, SMK_TEXTURE_WHOLE = 16 };

/* What happens outside a surface. */
typedef enum smk_surface_bound { SMK_SURFACE_TRAP, SMK_SURFACE_CLAMP, SMK_SURFACE_ZERO } smk_surface_bound;

const smk_operation *smk_texture_access_read(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_texture_access_gather(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_texture_access_load(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_texture_access_store(smk_warp *warp, const smk_operation *op);

#endif
