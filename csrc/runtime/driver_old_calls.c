/* Launches as the driver had them before CUDA 4, and still has: a function keeps the block, the shared memory and the
 * parameters that the next launch of it takes. */
#include "base/heap.h"
#include "runtime/address_map.h"
#include "runtime/driver.h"

#include <pthread.h>
#include <string.h>

enum { PARAMETER_BYTES = 4096, BUFFER = 1, BUFFER_BYTES = 2 /* of `extra` */ };

typedef struct kept_launch {
    unsigned block[3], shared_bytes;
    size_t bytes;
    unsigned char parameter[PARAMETER_BYTES];
} kept_launch;

extern smk_cuda cuLaunchKernel(const void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                               smk_cuda_stream_handle stream, void **parameters, void **extra);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static smk_address_map launches; /* under it: by function */

/* NULL: no memory. */
static kept_launch *get_launch(const void *function)
{
    (void)pthread_mutex_lock(&lock);
    kept_launch *kept = smk_address_map_get(&launches, function);
    if (kept == NULL && (kept = smk_heap_allocate(1, sizeof *kept)) != NULL) {
        kept->block[0] = kept->block[1] = kept->block[2] = 1;
        if (!smk_address_map_set(&launches, function, kept)) {
            smk_heap_free(kept);
            kept = NULL;
        }
    }
    (void)pthread_mutex_unlock(&lock);
    return kept;
}

SMK_EXPORT smk_cuda cuFuncSetBlockShape(const void *function, int x, int y, int z)
{
    kept_launch *kept = get_launch(function);
    if (kept == NULL || x <= 0 || y <= 0 || z <= 0) {
        return kept == NULL ? SMK_CUDA_ErrorMemoryAllocation : SMK_CUDA_ErrorInvalidValue;
    }
    kept->block[0] = (unsigned)x;
    kept->block[1] = (unsigned)y;
    kept->block[2] = (unsigned)z;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuFuncSetSharedSize(const void *function, unsigned bytes)
{
    kept_launch *kept = get_launch(function);
    if (kept == NULL) {
        return SMK_CUDA_ErrorMemoryAllocation;
    }
    kept->shared_bytes = bytes;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuParamSetSize(const void *function, unsigned bytes)
{
    kept_launch *kept = get_launch(function);
    if (kept == NULL || bytes > PARAMETER_BYTES) {
        return kept == NULL ? SMK_CUDA_ErrorMemoryAllocation : SMK_CUDA_ErrorInvalidValue;
    }
    kept->bytes = bytes;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuParamSetv(const void *function, int offset, const void *value, unsigned bytes)
{
    kept_launch *kept = get_launch(function);
    if (kept == NULL || offset < 0 || (size_t)offset > PARAMETER_BYTES || bytes > PARAMETER_BYTES - (size_t)offset) {
        return kept == NULL ? SMK_CUDA_ErrorMemoryAllocation : SMK_CUDA_ErrorInvalidValue;
    }
    memcpy(kept->parameter + offset, value, bytes);
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuParamSeti(const void *function, int offset, unsigned value)
{
    return cuParamSetv(function, offset, &value, sizeof value);
}

SMK_EXPORT smk_cuda cuParamSetf(const void *function, int offset, float value)
{
    return cuParamSetv(function, offset, &value, sizeof value);
}

SMK_EXPORT smk_cuda cuLaunchGridAsync(const void *function, int width, int height, smk_cuda_stream_handle stream)
{
    kept_launch *kept = get_launch(function);
    if (kept == NULL || width <= 0 || height <= 0) {
        return kept == NULL ? SMK_CUDA_ErrorMemoryAllocation : SMK_CUDA_ErrorInvalidValue;
    }
    void *words[] = {NULL, kept->parameter, NULL, &kept->bytes, NULL};
    const uintptr_t first = BUFFER, second = BUFFER_BYTES;
    memcpy(&words[0], &first, sizeof first);
    memcpy(&words[2], &second, sizeof second);
    return cuLaunchKernel(function, (unsigned)width, (unsigned)height, 1, kept->block[0], kept->block[1],
                          kept->block[2], kept->shared_bytes, stream, NULL, words);
}

SMK_EXPORT smk_cuda cuLaunchGrid(const void *function, int width, int height)
{
    return cuLaunchGridAsync(function, width, height, NULL);
}

SMK_EXPORT smk_cuda cuLaunch(const void *function)
{
    return cuLaunchGrid(function, 1, 1);
}
