#include "runtime_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ENTRIES = 1 << 14, STREAMS = 64, BLOCKS = 64 };

typedef struct entry {
    void *target;
    const void *source;
    size_t bytes;
    runtime_event *event; /* NULL: a copy */
} entry;

/* What tests set and look at. */
atomic_int runtime_streams;          /* made and not destroyed */
atomic_int runtime_pinned;           /* blocks of pinned memory that are not freed */
atomic_int runtime_pinned_left = -1; /* allocations of pinned memory until one fails; -1: none does */
atomic_int runtime_copies_left = -1; /* the same of copies that are queued */
atomic_int runtime_pageable;         /* queued copies of memory that is not pinned */
atomic_int runtime_copy_us;          /* the time of a copy */
atomic_int runtime_up, runtime_down; /* queued copies in each direction */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    entry entries[ENTRIES];
    unsigned first, end;
    bool is_started;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *streams[STREAMS];

static struct {
    char *start;
    size_t bytes;
} pinned[BLOCKS];

static bool must_fail(atomic_int *left)
{
    return *left >= 0 && (*left)-- == 0;
}

static void *run_bus(void *ignored)
{
    (void)ignored;
    (void)pthread_mutex_lock(&queue.lock);
    for (;;) {
        while (queue.first == queue.end) {
            (void)pthread_cond_wait(&queue.changed, &queue.lock);
        }
        const entry next = queue.entries[queue.first % ENTRIES];
        (void)pthread_mutex_unlock(&queue.lock);
        if (next.event == NULL) {
            const struct timespec pause = {0, 1000L * runtime_copy_us};
            if (runtime_copy_us > 0) {
                (void)nanosleep(&pause, NULL);
            }
            memcpy(next.target, next.source, next.bytes);
        } else {
            next.event->pending--;
        }
        (void)pthread_mutex_lock(&queue.lock);
        queue.first++;
        (void)pthread_cond_broadcast(&queue.changed);
    }
    return NULL;
}

static cudaError_t add(entry made)
{
    pthread_t thread;
    (void)pthread_mutex_lock(&queue.lock);
    if (!queue.is_started) {
        queue.is_started = pthread_create(&thread, NULL, run_bus, NULL) == 0 && pthread_detach(thread) == 0;
    }
    const bool has_room = queue.end - queue.first < ENTRIES;
    if (has_room) {
        queue.entries[queue.end++ % ENTRIES] = made;
        (void)pthread_cond_broadcast(&queue.changed);
    }
    (void)pthread_mutex_unlock(&queue.lock);
    return has_room ? cudaSuccess : cudaErrorUnknown;
}

bool runtime_queue_has(cudaStream_t stream)
{
    for (int i = 0; i < STREAMS; i++) {
        if (stream != NULL && streams[i] == (void *)stream) {
            return true;
        }
    }
    return false;
}

cudaError_t runtime_queue_copy(cudaStream_t stream, void *target, const void *source, size_t bytes, bool is_up)
{
    (void)stream;
    if (must_fail(&runtime_copies_left)) {
        return cudaErrorLaunchFailure;
    }
    runtime_pageable += runtime_queue_is_pinned(is_up ? source : target) ? 0 : 1;
    *(is_up ? &runtime_up : &runtime_down) += 1;
    return add((entry){target, source, bytes, NULL});
}

cudaError_t runtime_queue_record(runtime_event *event)
{
    event->at = 0.0;
    event->pending++;
    return add((entry){.event = event});
}

cudaError_t runtime_queue_wait(void)
{
    (void)pthread_mutex_lock(&queue.lock);
    while (queue.first != queue.end) {
        (void)pthread_cond_wait(&queue.changed, &queue.lock);
    }
    (void)pthread_mutex_unlock(&queue.lock);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    cudaError_t code = cudaErrorMemoryAllocation;
    (void)pthread_mutex_lock(&queue.lock);
    for (int i = 0; i < STREAMS && code != cudaSuccess; i++) {
        if (streams[i] == NULL) {
            streams[i] = malloc(1);
            *stream = (cudaStream_t)streams[i];
            runtime_streams++;
            code = cudaSuccess;
        }
    }
    (void)pthread_mutex_unlock(&queue.lock);
    return code;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    for (int i = 0; i < STREAMS; i++) {
        if (streams[i] == (void *)stream) {
            free(streams[i]);
            streams[i] = NULL;
            runtime_streams--;
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidResourceHandle;
}

cudaError_t cudaHostAlloc(void **start, size_t bytes, unsigned flags)
{
    (void)flags;
    cudaError_t code = cudaErrorMemoryAllocation;
    (void)pthread_mutex_lock(&queue.lock);
    for (int i = 0, fails = must_fail(&runtime_pinned_left); i < BLOCKS && !fails && code != cudaSuccess; i++) {
        if (pinned[i].start == NULL) {
            pinned[i].bytes = bytes;
            pinned[i].start = malloc(bytes);
            *start = pinned[i].start;
            runtime_pinned++;
            code = cudaSuccess;
        }
    }
    (void)pthread_mutex_unlock(&queue.lock);
    return code;
}

cudaError_t cudaFreeHost(void *start)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (start != NULL && pinned[i].start == start) {
            free(start);
            pinned[i].start = NULL;
            runtime_pinned--;
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidValue;
}

bool runtime_queue_is_pinned(const void *address)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (pinned[i].start != NULL && (const char *)address >= pinned[i].start &&
            (const char *)address < pinned[i].start + pinned[i].bytes) {
            return true;
        }
    }
    return false;
}
