#include "runtime/mipmapped_array.h"

#include "base/heap.h"
#include "runtime/address_map.h"
#include "runtime/allocations.h"
#include "runtime/outcome.h"

#include <pthread.h>

enum { ALIGNMENT = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static smk_address_map arrays; /* under it: by handle, which is the array itself */

smk_cuda_mipmapped *smk_mipmapped_array_find(const smk_cuda_mipmapped *handle)
{
    (void)pthread_mutex_lock(&lock);
    smk_cuda_mipmapped *found = smk_address_map_get(&arrays, handle);
    (void)pthread_mutex_unlock(&lock);
    return found;
}

/* A size of half, and again, but not of layers and faces; 0 stays. */
static smk_cuda_extent shrink(const smk_cuda_extent *extent, unsigned flags, unsigned level)
{
    const size_t size[3] = {extent->width, extent->height, extent->depth};
    const bool stacked = (flags & (SMK_ARRAY_LAYERED | SMK_ARRAY_CUBE)) != 0;
    size_t made[3];
    for (unsigned i = 0; i < 3; i++) {
        const size_t part = size[i] >> level;
        made[i] = size[i] == 0 || (i == 2 && stacked) ? size[i] : part > 0 ? part : 1;
    }
    return (smk_cuda_extent){made[0], made[1], made[2]};
}

/* As many levels as there are until all sizes are 1. */
static unsigned count_levels(const smk_cuda_extent *extent, unsigned flags)
{
    const bool stacked = (flags & (SMK_ARRAY_LAYERED | SMK_ARRAY_CUBE)) != 0;
    size_t longest = extent->width > extent->height ? extent->width : extent->height;
    unsigned levels = 1;
    longest = !stacked && extent->depth > longest ? extent->depth : longest;
    while (longest > 1) {
        longest /= 2;
        levels++;
    }
    return levels;
}

static size_t align(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void free_levels(smk_cuda_mipmapped *array)
{
    for (unsigned i = 0; i < array->level_count; i++) {
        smk_texel_array_free_part(array->level[i]);
    }
    if (array->texels != NULL) {
        (void)smk_allocations_free(array->texels);
    }
}

static smk_cuda create(smk_cuda_mipmapped *made, const smk_cuda_channels *channels, const smk_cuda_extent *extent,
                       unsigned levels, unsigned flags)
{
    size_t at[SMK_MIPMAP_LEVELS_MAX] = {0};
    void *texels = NULL;
    smk_cuda code = SMK_CUDA_Success;
    for (unsigned i = 0; i < levels && code == SMK_CUDA_Success; i++) {
        const smk_cuda_extent own = shrink(extent, flags, i);
        size_t bytes = 0;
        at[i] = made->bytes;
        code = smk_texel_array_count(channels, &own, flags, &bytes);
        made->bytes += align(bytes);
    }
    if (code == SMK_CUDA_Success) {
        code = smk_allocations_create(made->bytes, &texels);
        made->texels = texels;
    }
    while (made->level_count < levels && code == SMK_CUDA_Success) {
        const unsigned i = made->level_count;
        const smk_cuda_extent own = shrink(extent, flags, i);
        code = smk_texel_array_create_part(&made->level[i], channels, &own, flags, made->texels + at[i]);
        made->level_count += code == SMK_CUDA_Success;
    }
    return code;
}

SMK_EXPORT smk_cuda cudaMallocMipmappedArray(smk_cuda_mipmapped **handle, const smk_cuda_channels *channels,
                                             smk_cuda_extent extent, unsigned levels, unsigned flags)
{
    smk_cuda code = smk_outcome_begin();
    if (handle == NULL || channels == NULL || levels == 0) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    const unsigned most = count_levels(&extent, flags);
    smk_cuda_mipmapped *made = code == SMK_CUDA_Success ? smk_heap_allocate(1, sizeof *made) : NULL;
    if (made == NULL) {
        return code != SMK_CUDA_Success ? code : smk_outcome_return(SMK_CUDA_ErrorMemoryAllocation);
    }
    levels = levels < most ? levels : most;
    code =
        levels <= SMK_MIPMAP_LEVELS_MAX ? create(made, channels, &extent, levels, flags) : SMK_CUDA_ErrorInvalidValue;
    (void)pthread_mutex_lock(&lock);
    if (code == SMK_CUDA_Success && !smk_address_map_set(&arrays, made, made)) {
        code = SMK_CUDA_ErrorMemoryAllocation;
    }
    (void)pthread_mutex_unlock(&lock);
    if (code != SMK_CUDA_Success) {
        free_levels(made);
        smk_heap_free(made);
        return smk_outcome_return(code);
    }
    *handle = made;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaGetMipmappedArrayLevel(smk_cuda_array **array, const smk_cuda_mipmapped *handle, unsigned level)
{
    const smk_cuda_mipmapped *found = smk_mipmapped_array_find(handle);
    if (found == NULL || array == NULL || level >= found->level_count) {
        return smk_outcome_return(found == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : SMK_CUDA_ErrorInvalidValue);
    }
    *array = found->level[level];
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaFreeMipmappedArray(smk_cuda_mipmapped *handle)
{
    if (handle == NULL) {
        return smk_outcome_begin();
    }
    (void)pthread_mutex_lock(&lock);
    smk_cuda_mipmapped *array = smk_address_map_remove(&arrays, handle);
    (void)pthread_mutex_unlock(&lock);
    if (array == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    free_levels(array);
    smk_heap_free(array);
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaMipmappedArrayGetMemoryRequirements(smk_cuda_array_needs *needs,
                                                            const smk_cuda_mipmapped *handle, int device)
{
    const smk_cuda_mipmapped *array = smk_mipmapped_array_find(handle);
    if (array == NULL || device != 0) {
        return smk_outcome_return(array == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : SMK_CUDA_ErrorInvalidDevice);
    }
    *needs = (smk_cuda_array_needs){.bytes = array->bytes, .alignment = ALIGNMENT};
    return smk_outcome_begin();
}
