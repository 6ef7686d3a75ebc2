/* Blocks, events, streams and pinned memory: made and freed here, and counted, so that tests can tell that a fault left
 * nothing behind. Private to csrc/gpu but for smk_held_now (gpu.h).
 */
#ifndef SMK_GPU_HELD_H
#define SMK_GPU_HELD_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

/* Each returns what the runtime's function of that purpose does. What could not be freed is counted as freed: the device
 * was lost, or the process ends. */
cudaError_t smk_held_create_event(cudaEvent_t *event, unsigned flags);
cudaError_t smk_held_destroy_event(cudaEvent_t event);
cudaError_t smk_held_create_stream(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t smk_held_destroy_stream(cudaStream_t stream);
cudaError_t smk_held_pin(void **memory, size_t bytes); /* for all devices */
cudaError_t smk_held_unpin(void *memory);

/* On the stream where it is from the device's pool, else at once. */
cudaError_t smk_held_allocate(void **block, size_t bytes, bool from_pool, cudaStream_t stream);
cudaError_t smk_held_allocate_managed(void **block, size_t bytes);
cudaError_t smk_held_free(void *block, bool from_pool, cudaStream_t stream);

#endif
