#include "gpu/held.h"

#include "gpu/gpu.h"

#include <stdatomic.h>

static _Atomic(int64_t) blocks, events, streams, pinned;

static cudaError_t count_made(cudaError_t code, _Atomic(int64_t) *count)
{
    if (code == cudaSuccess) {
        atomic_fetch_add(count, 1);
    }
    return code;
}

static cudaError_t count_freed(cudaError_t code, _Atomic(int64_t) *count)
{
    atomic_fetch_sub(count, 1);
    return code;
}

cudaError_t smk_held_create_event(cudaEvent_t *event, unsigned flags)
{
    return count_made(cudaEventCreateWithFlags(event, flags), &events);
}

cudaError_t smk_held_destroy_event(cudaEvent_t event)
{
    return count_freed(cudaEventDestroy(event), &events);
}

cudaError_t smk_held_create_stream(cudaStream_t *stream, unsigned flags, int priority)
{
    return count_made(cudaStreamCreateWithPriority(stream, flags, priority), &streams);
}

cudaError_t smk_held_destroy_stream(cudaStream_t stream)
{
    return count_freed(cudaStreamDestroy(stream), &streams);
}

cudaError_t smk_held_pin(void **memory, size_t bytes)
{
    return count_made(cudaHostAlloc(memory, bytes, cudaHostAllocPortable), &pinned);
}

cudaError_t smk_held_unpin(void *memory)
{
    return count_freed(cudaFreeHost(memory), &pinned);
}

cudaError_t smk_held_allocate(void **block, size_t bytes, bool from_pool, cudaStream_t stream)
{
    return count_made(from_pool ? cudaMallocAsync(block, bytes, stream) : cudaMalloc(block, bytes), &blocks);
}

cudaError_t smk_held_allocate_managed(void **block, size_t bytes)
{
    return count_made(cudaMallocManaged(block, bytes, cudaMemAttachGlobal), &blocks);
}

cudaError_t smk_held_free(void *block, bool from_pool, cudaStream_t stream)
{
    return count_freed(from_pool ? cudaFreeAsync(block, stream) : cudaFree(block), &blocks);
}

smk_held smk_held_now(void)
{
    return (smk_held){.blocks = atomic_load(&blocks),
                      .events = atomic_load(&events),
                      .streams = atomic_load(&streams),
                      .pinned = atomic_load(&pinned)};
}
