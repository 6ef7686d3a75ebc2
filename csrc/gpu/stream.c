/* Streams: the one on which a thread works, the order of work on two of them, and streams of our own. */
#include "gpu/stream.h"

#include "base/heap.h"
#include "gpu/cuda_error.h"
#include "gpu/gpu.h"
#include "gpu/held.h"

#include <pthread.h>
#include <stdatomic.h>

static cudaStream_t get_stream(uint64_t stream)
{
    return (cudaStream_t)(uintptr_t)stream;
}

/* The streams that the thread has entered, by device. */
static _Thread_local struct {
    int count;      /* of those that are not the default stream */
    bool suspended; /* the default stream all the same */
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
    return device < 0 || device >= SMK_DEVICES_MAX || entered.suspended ? 0 : entered.stream[device];
}

bool smk_stream_suspend(bool suspended)
{
    const bool before = entered.suspended;
    entered.suspended = suspended;
    return before;
}

cudaStream_t smk_stream_now(void)
{
    int device = 0;
    if (entered.count == 0 || cudaGetDevice(&device) != cudaSuccess) {
        return NULL;
    }
    return get_stream(smk_stream_present(device));
}

bool smk_stream_is_captured(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (stream == NULL || stream == cudaStreamLegacy) {
        return false;
    }
    if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return status != cudaStreamCaptureStatusNone;
}

bool smk_stream_captured(uint64_t stream)
{
    return smk_stream_is_captured(get_stream(stream));
}

/* Order ------------------------------------------------------------------------------------------- */

smk_status smk_stream_follow(uint64_t waiting, uint64_t awaited, smk_error *error)
{
    cudaEvent_t reached = NULL;
    if (waiting == awaited) {
        return SMK_OK;
    }
    cudaError_t code = smk_held_create_event(&reached, cudaEventDisableTiming);
    if (code == cudaSuccess) {
        code = cudaEventRecord(reached, get_stream(awaited));
    }
    if (code == cudaSuccess) {
        code = cudaStreamWaitEvent(get_stream(waiting), reached, 0);
    }
    if (reached != NULL && smk_held_destroy_event(reached) != cudaSuccess) { /* the wait stays in the stream */
        (void)cudaGetLastError();
    }
    return smk_cuda_error_report(code, error, "making stream 0x%llx wait for stream 0x%llx",
                                 (unsigned long long)waiting, (unsigned long long)awaited);
}

smk_status smk_stream_order(uint64_t waiting, uint64_t awaited, smk_error *error)
{
    if (waiting == awaited || smk_stream_captured(waiting) != smk_stream_captured(awaited)) {
        return SMK_OK;
    }
    return smk_stream_follow(waiting, awaited, error);
}

/* Whose turn it is, by device: the last one was on the default stream, or `event` tells its end. */
static struct {
    bool named;
    cudaEvent_t event;
} last_users[SMK_DEVICES_MAX];

smk_status smk_stream_take_turn(smk_error *error)
{
    cudaStream_t now = smk_stream_now();
    int device = 0;
    cudaError_t code = cudaGetDevice(&device);
    if (code != cudaSuccess || device >= SMK_DEVICES_MAX) {
        return smk_cuda_error_report(code, error, "asking for the present device");
    }
    if (last_users[device].named) {
        code = cudaStreamWaitEvent(now, last_users[device].event, 0);
        return smk_cuda_error_report(code, error, "waiting for the last user of a variable");
    }
    return smk_stream_follow((uint64_t)(uintptr_t)now, 0, error);
}

smk_status smk_stream_end_turn(smk_error *error)
{
    cudaStream_t now = smk_stream_now();
    int device = 0;
    cudaError_t code = cudaGetDevice(&device);
    if (code != cudaSuccess || device >= SMK_DEVICES_MAX) {
        return smk_cuda_error_report(code, error, "asking for the present device");
    }
    if (now != NULL && last_users[device].event == NULL) {
        code = smk_held_create_event(&last_users[device].event, cudaEventDisableTiming);
    }
    if (code == cudaSuccess && now != NULL) {
        code = cudaEventRecord(last_users[device].event, now);
    }
    last_users[device].named = now != NULL && code == cudaSuccess;
    return smk_cuda_error_report(code, error, "noting the last user of a variable");
}

/* Streams of our own ------------------------------------------------------------------------------ */

typedef struct own_stream {
    struct own_stream *next;
    cudaStream_t stream;
    _Atomic(uint64_t) zeros;
} own_stream;

static own_stream *own_streams;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;

_Atomic(uint64_t) *smk_stream_zeros(cudaStream_t stream)
{
    (void)pthread_mutex_lock(&own_lock);
    own_stream *found = own_streams;
    while (found != NULL && found->stream != stream) {
        found = found->next;
    }
    (void)pthread_mutex_unlock(&own_lock);
    return found == NULL ? NULL : &found->zeros;
}

smk_status smk_stream_create(bool non_blocking, int priority, uint64_t *stream, smk_error *error)
{
    own_stream *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no host memory for a stream");
    }
    const unsigned flags = non_blocking ? cudaStreamNonBlocking : cudaStreamDefault;
    const cudaError_t code = smk_held_create_stream(&made->stream, flags, priority);
    if (code != cudaSuccess) {
        smk_heap_free(made);
        return smk_cuda_error_report(code, error, "creating a stream");
    }
    (void)pthread_mutex_lock(&own_lock);
    made->next = own_streams;
    own_streams = made;
    (void)pthread_mutex_unlock(&own_lock);
    *stream = (uint64_t)(uintptr_t)made->stream;
    return SMK_OK;
}

void smk_stream_destroy(uint64_t stream)
{
    (void)pthread_mutex_lock(&own_lock);
    own_stream **link = &own_streams;
    while (*link != NULL && (*link)->stream != get_stream(stream)) {
        link = &(*link)->next;
    }
    own_stream *found = *link;
    if (found != NULL) {
        *link = found->next;
    }
    (void)pthread_mutex_unlock(&own_lock);
    if (found == NULL) {
        return;
    }
    int device = 0;
    if (cudaGetDevice(&device) == cudaSuccess) {
        const uint64_t before = smk_stream_enter(device, stream);
        (void)smk_buffer_free(atomic_load(&found->zeros), NULL); /* behind the launches that use it */
        (void)smk_stream_enter(device, before);
    }
    if (smk_held_destroy_stream(found->stream) != cudaSuccess) { /* work that it has goes on to its end */
        (void)cudaGetLastError();
    }
    smk_heap_free(found);
}

smk_status smk_stream_common(int device, uint64_t *stream, smk_error *error)
{
    static _Atomic(uint64_t) made[SMK_DEVICES_MAX];
    uint64_t found = device < 0 || device >= SMK_DEVICES_MAX ? 0 : atomic_load(&made[device]), expected = 0;
    int before = 0;
    if (found != 0) {
        *stream = found;
        return SMK_OK;
    }
    smk_status status = smk_context_enter(device, &before, error);
    if (status == SMK_OK) {
        status = smk_stream_create(true, 0, &found, error);
        smk_context_leave(device, before);
    }
    if (status != SMK_OK) {
        return status;
    }
    if (device < SMK_DEVICES_MAX && !atomic_compare_exchange_strong(&made[device], &expected, found)) {
        smk_stream_destroy(found); /* another thread has made one */
        found = expected;
    }
    *stream = found;
    return SMK_OK;
}

smk_status smk_stream_device(uint64_t stream, int *device, smk_error *error)
{
    if (smk_stream_captured(stream)) { /* whose device may not be asked for, but must be the present one for launches */
        return smk_cuda_error_report(cudaGetDevice(device), error, "asking for the present device");
    }
    return smk_cuda_error_report(cudaStreamGetDevice(get_stream(stream), device), error,
                                 "asking for the device of stream 0x%llx", (unsigned long long)stream);
}

smk_status smk_stream_query(uint64_t stream, bool *done, smk_error *error)
{
    const cudaError_t code = cudaStreamQuery(get_stream(stream));
    if (code != cudaSuccess && code != cudaErrorNotReady) {
        return smk_cuda_error_report(code, error, "asking whether stream 0x%llx is done", (unsigned long long)stream);
    }
    *done = code == cudaSuccess;
    return SMK_OK;
}
