/* Timers: the time between two CUDA events. */
#include "gpu/gpu.h"

#include "base/heap.h"
#include "gpu/cuda_error.h"
#include "gpu/held.h"
#include "gpu/stream.h"

#include <cuda_runtime_api.h>

struct smk_timer {
    cudaEvent_t start, stop;
    bool running;
};

smk_status smk_timer_create(smk_timer **timer, smk_error *error)
{
    smk_timer *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no host memory for a timer");
    }
    cudaError_t code = smk_held_create_event(&made->start, cudaEventDefault);
    if (code == cudaSuccess) {
        code = smk_held_create_event(&made->stop, cudaEventDefault);
    }
    if (code != cudaSuccess) {
        smk_status status = smk_cuda_error_report(code, error, "creating a CUDA event");
        smk_timer_free(made);
        return status;
    }
    *timer = made;
    return SMK_OK;
}

void smk_timer_free(smk_timer *timer)
{
    if (timer == NULL) {
        return;
    }
    if (timer->start != NULL && smk_held_destroy_event(timer->start) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    if (timer->stop != NULL && smk_held_destroy_event(timer->stop) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    smk_heap_free(timer);
}

smk_status smk_timer_start(smk_timer *timer, smk_error *error)
{
    smk_status status =
        smk_cuda_error_report(cudaEventRecord(timer->start, smk_stream_now()), error, "starting a timer");
    if (status == SMK_OK) {
        timer->running = true;
    }
    return status;
}

smk_status smk_timer_passed(smk_timer *timer, bool *passed, smk_error *error)
{
    if (!timer->running) {
        return smk_status_fail(error, SMK_ARGUMENT, "asking a timer that was not started");
    }
    cudaError_t code = cudaEventQuery(timer->start);
    *passed = code == cudaSuccess;
    if (code == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return SMK_OK;
    }
    return smk_cuda_error_report(code, error, "asking a timer");
}

smk_status smk_timer_stop(smk_timer *timer, double *time_ms, smk_error *error)
{
    if (!timer->running) {
        return smk_status_fail(error, SMK_ARGUMENT, "stopping a timer that was not started");
    }
    cudaError_t code = cudaEventRecord(timer->stop, smk_stream_now());
    if (code == cudaSuccess) {
        smk_status status = smk_wait_event(timer->stop, "what is timed", error);
        if (status != SMK_OK) {
            timer->running = false;
            return status;
        }
    }
    float elapsed_ms = 0.0F;
    if (code == cudaSuccess) {
        code = cudaEventElapsedTime(&elapsed_ms, timer->start, timer->stop);
    }
    timer->running = false;
    if (code == cudaSuccess) {
        *time_ms = (double)elapsed_ms;
    }
    return smk_cuda_error_report(code, error, "stopping a timer");
}
