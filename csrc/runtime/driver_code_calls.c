/* The driver's modules and launches. A module is a library of the runtime. */
#include "base/heap.h"
#include "runtime/binaries.h"
#include "runtime/driver.h"
#include "runtime/driver_link.h"
#include "runtime/launch_kernel.h"
#include "runtime/outcome.h"

extern smk_cuda cudaLibraryLoadData(void **library, const void *code, const int *options, void **values, unsigned count,
                                    const int *more, void **more_values, unsigned more_count);
extern smk_cuda cudaLibraryLoadFromFile(void **library, const char *path, const int *options, void **values,
                                        unsigned count, const int *more, void **more_values, unsigned more_count);
extern smk_cuda cudaFuncGetAttributes(smk_cuda_function_facts *facts, const void *function);
extern smk_cuda cudaDeviceGetAttribute(int *value, int number, int device);
extern smk_cuda cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
                                                                       size_t shared, unsigned flags);
extern smk_cuda cudaFuncSetAttribute(const void *function, int attribute, int value);
extern smk_cuda cudaLaunchKernel(const void *function, smk_dim3 grid, smk_dim3 block, void **parameters,
                                 size_t shared_bytes, smk_cuda_stream_handle stream);
extern smk_cuda cudaLaunchCooperativeKernel(const void *function, smk_dim3 grid, smk_dim3 block, void **parameters,
                                            size_t shared_bytes, smk_cuda_stream_handle stream);
extern smk_cuda cudaLaunchKernelExC(const smk_cuda_launch_config *config, const void *function, void **parameters);

/* Modules ------------------------------------------------------------------------------------------------- */

SMK_EXPORT smk_cuda cuLibraryLoadData(void **library, const void *code, const int *options, void **values,
                                      unsigned count, const int *more, void **more_values, unsigned more_count)
{
    smk_cuda_link_empty_logs(count, options, values);
    const smk_cuda status = cudaLibraryLoadData(library, code, NULL, NULL, 0, more, more_values, more_count);
    if (status == SMK_CUDA_ErrorNoKernelImageForDevice) {
        smk_outcome_say("a module of machine code alone: the simulator needs the PTX that it was made of");
    }
    return smk_driver_code(status);
}

SMK_EXPORT smk_cuda cuLibraryLoadFromFile(void **library, const char *path, const int *options, void **values,
                                          unsigned count, const int *more, void **more_values, unsigned more_count)
{
    smk_cuda_link_empty_logs(count, options, values);
    return smk_driver_code(cudaLibraryLoadFromFile(library, path, NULL, NULL, 0, more, more_values, more_count));
}

SMK_EXPORT smk_cuda cuModuleLoadDataEx(void **module, const void *code, unsigned count, const int *options,
                                       void **values)
{
    return cuLibraryLoadData(module, code, options, values, count, NULL, NULL, 0);
}

SMK_EXPORT smk_cuda cuModuleLoadData(void **module, const void *code)
{
    return cuLibraryLoadData(module, code, NULL, NULL, 0, NULL, NULL, 0);
}
SMK_EXPORT_AS(cuModuleLoadFatBinary, cuModuleLoadData);

SMK_EXPORT smk_cuda cuModuleLoad(void **module, const char *path)
{
    return cuLibraryLoadFromFile(module, path, NULL, NULL, 0, NULL, NULL, 0);
}

SMK_EXPORT smk_cuda cuModuleGetLoadingMode(int *mode)
{
    *mode = 2; /* kernels are loaded when they are first used */
    return SMK_CUDA_Success;
}

/* A library is its module, and a kernel its function. */
SMK_EXPORT smk_cuda cuLibraryGetModule(void **module, void *library)
{
    *module = library;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuKernelGetFunction(void **function, void *kernel)
{
    *function = kernel;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuFuncLoad(const void *function)
{
    (void)function;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuFuncIsLoaded(int *state, const void *function)
{
    (void)function;
    *state = 1;
    return SMK_CUDA_Success;
}

/* Attributes ---------------------------------------------------------------------------------------------- */

SMK_EXPORT smk_cuda cuFuncGetAttribute(int *value, int attribute, const void *function)
{
    smk_cuda_function_facts facts;
    const smk_cuda code = cudaFuncGetAttributes(&facts, function);
    if (code != SMK_CUDA_Success) {
        return smk_driver_code(code);
    }
    const int values[] = {facts.max_threads,
                          (int)facts.shared_bytes,
                          (int)facts.const_bytes,
                          (int)facts.local_bytes,
                          facts.registers,
                          facts.ptx_version,
                          facts.binary_version,
                          facts.cache_mode,
                          facts.max_dynamic_shared,
                          facts.carveout,
                          0,
                          0,
                          0,
                          0,
                          0,
                          0};
    if (attribute < 0 || (size_t)attribute >= sizeof values / sizeof *values) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    *value = values[attribute];
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuKernelGetAttribute(int *value, int attribute, const void *kernel, int device)
{
    return device == 0 ? cuFuncGetAttribute(value, attribute, kernel) : SMK_CUDA_ErrorInvalidDevice;
}

SMK_EXPORT smk_cuda cuKernelSetAttribute(int attribute, int value, const void *kernel, int device)
{
    return device == 0 ? smk_driver_code(cudaFuncSetAttribute(kernel, attribute, value)) : SMK_CUDA_ErrorInvalidDevice;
}

/* The block of which the most threads are resident, the largest of several, and the grid that fills the device. */
SMK_EXPORT smk_cuda cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, const void *function,
                                                              size_t (*shared_bytes)(int threads), size_t bytes,
                                                              int limit, unsigned flags)
{
    enum { MULTIPROCESSORS = 16, WARP = 32 }; /* MULTIPROCESSORS: number of an attribute of devices */
    smk_cuda_function_facts facts;
    int count = 0, most = 0;
    smk_cuda code = cudaFuncGetAttributes(&facts, function);
    code = code == SMK_CUDA_Success ? cudaDeviceGetAttribute(&count, MULTIPROCESSORS, 0) : code;
    if (code != SMK_CUDA_Success || grid == NULL || block == NULL) {
        return code != SMK_CUDA_Success ? smk_driver_code(code) : SMK_CUDA_ErrorInvalidValue;
    }
    limit = limit <= 0 || limit > facts.max_threads ? facts.max_threads : limit;
    for (int rounded = (limit + WARP - 1) / WARP * WARP; rounded > 0; rounded -= WARP) {
        const int threads = rounded < limit ? rounded : limit;
        int blocks = 0;
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &blocks, function, threads, shared_bytes != NULL ? shared_bytes(threads) : bytes, flags);
        if (code != SMK_CUDA_Success) {
            return smk_driver_code(code);
        }
        if (blocks * threads > most) {
            most = blocks * threads;
            *block = threads;
            *grid = blocks * count;
        }
    }
    return most > 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue;
}

SMK_EXPORT smk_cuda cuOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *function,
                                                     size_t (*shared_bytes)(int threads), size_t bytes, int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_bytes, bytes, limit, 0);
}

/* Launches ------------------------------------------------------------------------------------------------ */

static smk_cuda launch(const smk_cuda_launch_config *config, const void *function, void **parameters, void **extra)
{
    smk_cuda code = SMK_CUDA_Success;
    void **unpacked = NULL;
    if (parameters == NULL && extra != NULL) {
        const smk_kernel *kernel = smk_binaries_find_kernel(function, &code);
        unpacked = code == SMK_CUDA_Success ? smk_launch_kernel_unpack(kernel, extra, &code) : NULL;
    }
    if (code == SMK_CUDA_Success) {
        code = cudaLaunchKernelExC(config, function, unpacked != NULL ? unpacked : parameters);
    }
    smk_heap_free((void *)unpacked);
    return smk_driver_code(code);
}

SMK_EXPORT smk_cuda cuLaunchKernel(const void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   smk_cuda_stream_handle stream, void **parameters, void **extra)
{
    const smk_cuda_launch_config config = {.grid = {grid_x, grid_y, grid_z},
                                           .block = {block_x, block_y, block_z},
                                           .shared_bytes = shared_bytes,
                                           .stream = stream};
    return launch(&config, function, parameters, extra);
}
SMK_EXPORT_AS(cuLaunchKernel_ptsz, cuLaunchKernel);

SMK_EXPORT smk_cuda cuLaunchCooperativeKernel(const void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                              unsigned block_x, unsigned block_y, unsigned block_z,
                                              unsigned shared_bytes, smk_cuda_stream_handle stream, void **parameters)
{
    const smk_dim3 grid = {grid_x, grid_y, grid_z}, block = {block_x, block_y, block_z};
    return smk_driver_code(cudaLaunchCooperativeKernel(function, grid, block, parameters, shared_bytes, stream));
}
SMK_EXPORT_AS(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);

SMK_EXPORT smk_cuda cuLaunchKernelEx(const smk_driver_launch *wanted, const void *function, void **parameters,
                                     void **extra)
{
    const smk_cuda_launch_config config = {.grid = wanted->grid,
                                           .block = wanted->block,
                                           .shared_bytes = wanted->shared_bytes,
                                           .stream = wanted->stream,
                                           .attributes = wanted->attributes,
                                           .attribute_count = wanted->attribute_count};
    return launch(&config, function, parameters, extra);
}
SMK_EXPORT_AS(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);
