#include "gpu/driver.h"

#include "gpu/stream.h"

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

typedef CUresult (*launch_function)(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                    CUstream stream, void **parameters, void **extra);

/* NULL where the driver has none. */
static launch_function launch_kernel;
static CUresult (*launch_with)(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra);
static CUresult (*get_function)(CUfunction *function, CUkernel kernel);
static CUresult (*get_context)(CUcontext *context);

/* The runtime gives the address, so that the extension loads where there is no driver. */
static void *find_address(const char *name)
{
    void *found = NULL;
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t code = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
#else
    const cudaError_t code = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
    if (code != cudaSuccess) {
        (void)cudaGetLastError();
    }
    return code == cudaSuccess && result == cudaDriverEntryPointSuccess ? found : NULL;
}

/* C has no cast from an address to a function. */
static void find_functions(void)
{
    void *found[] = {find_address("cuLaunchKernel"), find_address("cuKernelGetFunction"),
                     find_address("cuCtxGetCurrent"), find_address("cuLaunchKernelEx")};
    memcpy(&launch_kernel, &found[0], sizeof launch_kernel);
    memcpy(&get_function, &found[1], sizeof get_function);
    memcpy(&get_context, &found[2], sizeof get_context);
    memcpy(&launch_with, &found[3], sizeof launch_with);
}

static atomic_uint generation;

void smk_driver_forget(void)
{
    atomic_fetch_add(&generation, 1);
}

/* The function of a kernel in the thread's context. From version 12.0 on the driver takes a kernel where it takes a
 * function, and finds this by itself, but takes longer than a look at the last one. */
static CUfunction find_function(void *kernel)
{
    static _Thread_local struct {
        void *kernel;
        CUcontext context;
        unsigned generation;
        CUfunction function;
    } last;
    const unsigned now = atomic_load_explicit(&generation, memory_order_relaxed);
    CUcontext context = NULL;
    if (get_function == NULL || get_context == NULL || get_context(&context) != CUDA_SUCCESS || context == NULL) {
        return (CUfunction)kernel;
    }
    if (last.kernel != kernel || last.context != context || last.generation != now) {
        last.kernel = NULL;
        if (get_function(&last.function, (CUkernel)kernel) != CUDA_SUCCESS) {
            return (CUfunction)kernel;
        }
        last.kernel = kernel;
        last.context = context;
        last.generation = now;
    }
    return last.function;
}

/* Lets the launch begin while the one before it in the stream is about to end. */
static CUresult launch_early(CUfunction function, const smk_launch *launch, CUstream stream, void **parameters,
                             void **extra)
{
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value = {.programmaticStreamSerializationAllowed = 1}};
    const CUlaunchConfig config = {.gridDimX = launch->grid.x,
                                   .gridDimY = launch->grid.y,
                                   .gridDimZ = launch->grid.z,
                                   .blockDimX = launch->block.x,
                                   .blockDimY = launch->block.y,
                                   .blockDimZ = launch->block.z,
                                   .sharedMemBytes = (unsigned)launch->shared_bytes,
                                   .hStream = stream,
                                   .attrs = &early,
                                   .numAttrs = 1};
    return launch_with(&config, function, parameters, extra);
}

bool smk_driver_launch(void *kernel, const smk_launch *launch, cudaStream_t stream)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_functions);
    size_t bytes = launch->packed_bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)launch->packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &bytes, CU_LAUNCH_PARAM_END};
    void **parameters = launch->packed != NULL ? NULL : launch->parameters;
    void **packed = launch->packed != NULL ? extra : NULL;
    /* a graph that captures is ordered by its edges, which others may read and copy: plain ones */
    if (launch->begins_early && launch_with != NULL && !smk_stream_is_captured(stream)) {
        return launch_early(find_function(kernel), launch, stream, parameters, packed) == CUDA_SUCCESS;
    }
    return launch_kernel != NULL &&
           launch_kernel(find_function(kernel), launch->grid.x, launch->grid.y, launch->grid.z, launch->block.x,
                         launch->block.y, launch->block.z, (unsigned)launch->shared_bytes, stream, parameters,
                         packed) == CUDA_SUCCESS;
}
