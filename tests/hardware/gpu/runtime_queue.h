/* Streams that were created: their copies are made later, by a thread that stands for the bus. */
#ifndef RUNTIME_QUEUE_H
#define RUNTIME_QUEUE_H

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct runtime_event {
    double at;
    atomic_int pending; /* records that are still in the queue */
} runtime_event;

bool runtime_queue_has(cudaStream_t stream);
cudaError_t runtime_queue_copy(cudaStream_t stream, void *target, const void *source, size_t bytes, bool is_up);
cudaError_t runtime_queue_record(runtime_event *event);
cudaError_t runtime_queue_wait(void);

bool runtime_queue_is_pinned(const void *address);

#endif
