/* The occupancy calculator of the CUDA runtime, with which registry/occupancy.c is compared. */
#include "gpu/gpu.h"

#include "gpu/cuda_error.h"

#include <cuda_runtime_api.h>

/* Permits the kernel all shared memory of a block, as launches do. */
static cudaError_t opt_in(void *kernel)
{
    struct cudaFuncAttributes attributes;
    int device = 0, most = 0;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess) {
        code = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    }
    if (code == cudaSuccess) {
        code = cudaFuncGetAttributes(&attributes, kernel);
    }
    if (code == cudaSuccess) {
        code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    most - (int)attributes.sharedSizeBytes);
    }
    return code;
}

smk_status smk_device_occupancy_blocks(void *kernel, int threads, size_t shared_bytes, int *blocks, smk_error *error)
{
    int found = 0;
    cudaError_t code = opt_in(kernel);
    if (code == cudaSuccess) {
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&found, kernel, threads, shared_bytes);
    }
    smk_status status = smk_cuda_error_report(code, error, "asking for the occupancy of blocks of %d threads", threads);
    if (status == SMK_OK) {
        *blocks = found;
    }
    return status;
}

/* The runtime's search is a template of its C++ header. This is the same search: from the largest block down, in steps
 * of a warp; of equal results the first counts. */
smk_status smk_device_occupancy_suggest(void *kernel, size_t shared_bytes, int *grid, int *block, smk_error *error)
{
    struct cudaFuncAttributes attributes;
    int device = 0, multiprocessors = 0, warp_lanes = 0, best = 0, best_block = 0, best_blocks = 0;
    cudaError_t code = opt_in(kernel);
    if (code == cudaSuccess) {
        code = cudaFuncGetAttributes(&attributes, kernel);
    }
    if (code == cudaSuccess) {
        code = cudaGetDevice(&device);
    }
    if (code == cudaSuccess) {
        code = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    }
    if (code == cudaSuccess) {
        code = cudaDeviceGetAttribute(&warp_lanes, cudaDevAttrWarpSize, device);
    }
    int threads = code == cudaSuccess ? attributes.maxThreadsPerBlock : 0;
    while (code == cudaSuccess && threads > 0) {
        int blocks = 0;
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, threads, shared_bytes,
                                                                      cudaOccupancyDefault);
        if (code == cudaSuccess && blocks * threads > best) {
            best = blocks * threads;
            best_block = threads;
            best_blocks = blocks;
        }
        threads = (threads - 1) / warp_lanes * warp_lanes;
    }
    smk_status status = smk_cuda_error_report(code, error, "asking for the block size of the best occupancy");
    if (status == SMK_OK) {
        *grid = best_blocks * multiprocessors;
        *block = best_block;
    }
    return status;
}
