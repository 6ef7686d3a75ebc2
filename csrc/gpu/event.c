/* Events: places in the work of a stream. */
#include "gpu/cuda_error.h"
#include "gpu/gpu.h"
#include "gpu/held.h"

#include <cuda_runtime_api.h>

smk_status smk_event_create(bool timing, void **event, smk_error *error)
{
    cudaEvent_t made = NULL;
    const cudaError_t code = smk_held_create_event(&made, timing ? cudaEventDefault : cudaEventDisableTiming);
    if (code == cudaSuccess) {
        *event = made;
    }
    return smk_cuda_error_report(code, error, "creating a CUDA event");
}

void smk_event_free(void *event)
{
    if (event != NULL && smk_held_destroy_event((cudaEvent_t)event) != cudaSuccess) {
        (void)cudaGetLastError();
    }
}

smk_status smk_event_record(void *event, uint64_t stream, smk_error *error)
{
    return smk_cuda_error_report(cudaEventRecord((cudaEvent_t)event, (cudaStream_t)(uintptr_t)stream), error,
                                 "recording an event in stream 0x%llx", (unsigned long long)stream);
}

smk_status smk_event_await(uint64_t stream, void *event, smk_error *error)
{
    return smk_cuda_error_report(cudaStreamWaitEvent((cudaStream_t)(uintptr_t)stream, (cudaEvent_t)event, 0), error,
                                 "making stream 0x%llx wait for an event", (unsigned long long)stream);
}

smk_status smk_event_query(void *event, bool *done, smk_error *error)
{
    const cudaError_t code = cudaEventQuery((cudaEvent_t)event);
    if (code != cudaSuccess && code != cudaErrorNotReady) {
        return smk_cuda_error_report(code, error, "asking whether an event is reached");
    }
    *done = code == cudaSuccess;
    return SMK_OK;
}

smk_status smk_event_elapsed(void *start, void *end, double *time_ms, smk_error *error)
{
    float elapsed_ms = 0.0F;
    const cudaError_t code = cudaEventElapsedTime(&elapsed_ms, (cudaEvent_t)start, (cudaEvent_t)end);
    if (code == cudaSuccess) {
        *time_ms = (double)elapsed_ms;
    }
    return smk_cuda_error_report(code, error, "measuring the time between two events");
}
