#include "gpu/driver.h"

#include <cuda.h>
#include <pthread.h>

typedef CUresult (*launch_function)(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                    CUstream stream, void **parameters, void **extra);

static launch_function launch_kernel; /* NULL where the driver has none */

/* The runtime gives the address, so that the extension loads where there is no driver. */
static void find_function(void)
{
    union {
        void *address;
        launch_function function;
    } found = {NULL};
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t code =
        cudaGetDriverEntryPointByVersion("cuLaunchKernel", &found.address, 12000, cudaEnableDefault, &result);
#else
    const cudaError_t code = cudaGetDriverEntryPoint("cuLaunchKernel", &found.address, cudaEnableDefault, &result);
#endif
    if (code != cudaSuccess) {
        (void)cudaGetLastError();
    } else if (result == cudaDriverEntryPointSuccess) {
        launch_kernel = found.function;
    }
}

bool smk_driver_launch(void *kernel, const smk_launch *launch, cudaStream_t stream)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_function);
    size_t bytes = launch->packed_bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)launch->packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &bytes, CU_LAUNCH_PARAM_END};
    const bool is_packed = launch->packed != NULL;
    /* from version 12.0 on the driver takes a kernel where it takes a function, and finds the one of the context */
    return launch_kernel != NULL &&
           launch_kernel((CUfunction)kernel, launch->grid.x, launch->grid.y, launch->grid.z, launch->block.x,
                         launch->block.y, launch->block.z, (unsigned)launch->shared_bytes, stream,
                         is_packed ? NULL : launch->parameters, is_packed ? extra : NULL) == CUDA_SUCCESS;
}
