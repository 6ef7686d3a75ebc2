/* Waits of the host for the device in steps, so that the caller can be polled in between. */
#include "gpu/gpu.h"

#include "base/poll.h"
#include "gpu/cuda_error.h"
#include "gpu/held.h"
#include "gpu/stream.h"

#include <cuda_runtime_api.h>
#include <time.h>

/* A wait spins at first, so that the end of a short kernel is seen at once. Then it sleeps for a fraction of the time
 * that has passed, which bounds the delay by that fraction. */
enum { SPIN_NS = 1000 * 1000, SLEEP_NS_MIN = 50 * 1000, SLEEP_NS_MAX = 2 * 1000 * 1000, SLEEP_PART = 32 };

static void sleep_part(int64_t waited)
{
    int64_t part = waited / SLEEP_PART;
    part = part < SLEEP_NS_MIN ? SLEEP_NS_MIN : part > SLEEP_NS_MAX ? SLEEP_NS_MAX : part;
    const struct timespec pause = {0, (long)part};
    (void)nanosleep(&pause, NULL); /* a signal may end it early */
}

/* Waits until the event is reached (NULL: until the entered stream is empty), at most `most` ns; then
 * cudaErrorNotReady. */
static cudaError_t poll_end(cudaEvent_t event, int64_t most, bool *stopped)
{
    const int64_t start = (int64_t)smk_poll_clock();
    cudaStream_t stream = smk_stream_now();
    for (;;) {
        const cudaError_t code = event != NULL ? cudaEventQuery(event) : cudaStreamQuery(stream);
        const int64_t waited = (int64_t)smk_poll_clock() - start;
        if (code != cudaErrorNotReady || waited > most) {
            return code;
        }
        if (smk_poll_stop_now()) {
            *stopped = true;
            return code;
        }
        if (waited > SPIN_NS) {
            sleep_part(waited);
        }
    }
}

static smk_status report(cudaError_t code, bool stopped, const char *name, smk_error *error)
{
    if (stopped) {
        return smk_status_fail(error, SMK_INTERRUPTED, "waiting for %.100s on the GPU: interrupted; the kernel runs on",
                               name);
    }
    smk_status status = smk_cuda_error_report(code, error, "waiting for %.100s on the GPU", name);
    if (status != SMK_OK) {
        smk_cuda_error_extend(error, name, NULL);
    }
    return status;
}

smk_status smk_wait_launched(const char *name, smk_error *error)
{
    cudaEvent_t event = NULL;
    bool stopped = false;
    if (!smk_poll_is_registered()) {
        return report(cudaStreamSynchronize(smk_stream_now()), false, name, error);
    }
    cudaError_t code = poll_end(NULL, SPIN_NS, &stopped);
    if (code != cudaErrorNotReady || stopped) {
        return report(code, stopped, name, error);
    }
    /* later launches of other threads are not waited for */
    code = smk_held_create_event(&event, cudaEventDisableTiming);
    if (code == cudaSuccess) {
        code = cudaEventRecord(event, smk_stream_now());
    }
    if (code == cudaSuccess) {
        code = poll_end(event, INT64_MAX, &stopped);
    }
    if (event != NULL && smk_held_destroy_event(event) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    return report(code, stopped, name, error);
}

smk_status smk_wait_event(void *event, const char *name, smk_error *error)
{
    bool stopped = false;
    cudaError_t code = smk_poll_is_registered() ? poll_end((cudaEvent_t)event, INT64_MAX, &stopped)
                                                : cudaEventSynchronize((cudaEvent_t)event);
    return report(code, stopped, name, error);
}
