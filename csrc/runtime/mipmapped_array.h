/* Mipmapped CUDA arrays: levels, each an array of half the size, in one piece of device memory. */
#ifndef SMK_RUNTIME_MIPMAPPED_ARRAY_H
#define SMK_RUNTIME_MIPMAPPED_ARRAY_H

#include "runtime/texel_array.h"

enum { SMK_MIPMAP_LEVELS_MAX = 16 };

typedef struct smk_cuda_mipmapped {
    smk_cuda_array *level[SMK_MIPMAP_LEVELS_MAX]; /* the largest first */
    unsigned level_count;
    char *texels;
    size_t bytes;
} smk_cuda_mipmapped;

/* The array of a handle; NULL: it is none, or has been freed. */
smk_cuda_mipmapped *smk_mipmapped_array_find(const smk_cuda_mipmapped *handle);

smk_cuda cudaMallocMipmappedArray(smk_cuda_mipmapped **handle, const smk_cuda_channels *channels,
                                  smk_cuda_extent extent, unsigned levels, unsigned flags);
smk_cuda cudaGetMipmappedArrayLevel(smk_cuda_array **array, const smk_cuda_mipmapped *handle, unsigned level);
smk_cuda cudaFreeMipmappedArray(smk_cuda_mipmapped *handle);

#endif
