/* CUDA arrays: texels in device memory of their own, which kernels reach through texture and surface objects alone. */
#ifndef SMK_RUNTIME_TEXEL_ARRAY_H
#define SMK_RUNTIME_TEXEL_ARRAY_H

#include "base/texture.h"
#include "runtime/abi.h"
#include "runtime/copy.h"

#include <stdbool.h>
#include <stddef.h>

enum { SMK_ARRAY_LAYERED = 1, SMK_ARRAY_SURFACE = 2, SMK_ARRAY_CUBE = 4, SMK_ARRAY_GATHER = 8 };

typedef struct smk_cuda_array {
    smk_cuda_channels channels;
    smk_cuda_extent extent; /* as the program gave it: 0 along an axis that it does not have */
    unsigned flags;
    smk_texture_shape shape;       /* of the texels; how they are read is not the array's */
    char *texels;                  /* device memory, without gaps */
    size_t row_bytes, slice_bytes; /* of a row along x, and of the rows of one z, layer or face */
    bool is_part;                  /* its texels are another's to free */
} smk_cuda_array;

/* The array of a handle; NULL: it is none, or has been freed. */
smk_cuda_array *smk_texel_array_find(const smk_cuda_array *handle);

/* Fills in what a shape says of its texels: channels, bits, kind, and whether they are read as floats by themselves. */
smk_cuda smk_texel_array_read_channels(const smk_cuda_channels *channels, smk_texture_shape *shape);

/* A box of bytes inside an array: `x` and `width` in bytes. Fails where it leaves the array. */
smk_cuda smk_texel_array_locate(const smk_cuda_array *array, const smk_cuda_position *at, const smk_cuda_extent *box,
                                char **address);

/* An array over texels that are allocated already: a level of a mipmapped array. `extent` as programs give it. */
smk_cuda smk_texel_array_create_part(smk_cuda_array **handle, const smk_cuda_channels *channels,
                                     const smk_cuda_extent *extent, unsigned flags, char *texels);
/* Bytes of the texels of such an array. Fails where there is none of that kind. */
smk_cuda smk_texel_array_count(const smk_cuda_channels *channels, const smk_cuda_extent *extent, unsigned flags,
                               size_t *bytes);
void smk_texel_array_free_part(smk_cuda_array *handle);

/* The copy that a program describes, between pitched memory and arrays. */
smk_cuda smk_texel_array_make_copy(const smk_cuda_copy3d *wanted, smk_copy *copy);

#endif
