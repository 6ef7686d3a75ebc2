/* The order of work on two streams. */
#include "gpu/gpu.h"

#include "gpu/cuda_error.h"

#include <cuda_runtime_api.h>

smk_status smk_stream_follow(uint64_t waiting, uint64_t awaited, smk_error *error)
{
    cudaEvent_t reached = NULL;
    if (waiting == awaited) {
        return SMK_OK;
    }
    cudaError_t code = cudaEventCreateWithFlags(&reached, cudaEventDisableTiming);
    if (code == cudaSuccess) {
        code = cudaEventRecord(reached, (cudaStream_t)(uintptr_t)awaited);
    }
    if (code == cudaSuccess) {
        code = cudaStreamWaitEvent((cudaStream_t)(uintptr_t)waiting, reached, 0);
    }
    if (reached != NULL && cudaEventDestroy(reached) != cudaSuccess) { /* the wait stays in the stream */
        (void)cudaGetLastError();
    }
    return smk_cuda_error_report(code, error, "making stream 0x%llx wait for stream 0x%llx",
                                 (unsigned long long)waiting, (unsigned long long)awaited);
}
