/* Pinned memory of the host. */
#include "gpu/gpu.h"

#include "gpu/cuda_error.h"
#include "gpu/held.h"

#include <cuda_runtime_api.h>
#include <string.h>

smk_status smk_pinned_allocate(uint64_t bytes, void **memory, smk_error *error)
{
    int count = 0;
    void *made = NULL;
    smk_status status = smk_context_count(&count, error);
    if (status == SMK_OK) {
        const size_t wanted = bytes == 0 ? 1 : (size_t)bytes;
        cudaError_t code = smk_held_pin(&made, wanted);
        if (code == cudaErrorMemoryAllocation) { /* once more without what is kept for copies */
            (void)cudaGetLastError();
            smk_ring_free_kept();
            code = smk_held_pin(&made, wanted);
        }
        status = smk_cuda_error_report(code, error, "pinning %llu bytes of the host's memory, beside %llu for copies",
                                       (unsigned long long)bytes, (unsigned long long)smk_ring_kept().bytes);
    }
    if (status == SMK_OK) {
        *memory = made;
    }
    return status;
}

void smk_pinned_free(void *memory)
{
    if (memory != NULL && smk_held_unpin(memory) != cudaSuccess) {
        (void)cudaGetLastError(); /* the process ends, or its device was lost */
    }
}

bool smk_pinned_has(const void *memory)
{
    struct cudaPointerAttributes attributes;
    memset(&attributes, 0, sizeof attributes);
    if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return attributes.type == cudaMemoryTypeHost;
}
