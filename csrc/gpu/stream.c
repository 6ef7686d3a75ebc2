/* Streams: the one on which a thread works, and the order of work on two of them. */
#include "gpu/stream.h"

#include "gpu/cuda_error.h"
#include "gpu/gpu.h"

/* The streams that the thread has entered, by device. */
static _Thread_local struct {
    int count; /* of those that are not the default stream */
    uint64_t stream[SMK_DEVICES_MAX];
} entered;

uint64_t smk_stream_enter(int device, uint64_t stream)
{
    if (device < 0 || device >= SMK_DEVICES_MAX) {
        return 0;
    }
    const uint64_t before = entered.stream[device];
    entered.stream[device] = stream;
    entered.count += (stream != 0) - (before != 0);
    return before;
}

uint64_t smk_stream_present(int device)
{
    return device < 0 || device >= SMK_DEVICES_MAX ? 0 : entered.stream[device];
}

cudaStream_t smk_stream_now(void)
{
    int device = 0;
    if (entered.count == 0 || cudaGetDevice(&device) != cudaSuccess) {
        return NULL;
    }
    return (cudaStream_t)(uintptr_t)smk_stream_present(device);
}

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
