/* Memory that the host and the devices have under one address. */
#include "gpu/gpu.h"

#include "gpu/cuda_error.h"
#include "gpu/held.h"

#include <cuda_runtime_api.h>
#include <string.h>

smk_status smk_managed_allocate(uint64_t bytes, uint64_t *address, smk_error *error)
{
    int count = 0;
    void *block = NULL;
    smk_status status = smk_context_count(&count, error);
    if (status == SMK_OK) {
        status = smk_cuda_error_report(smk_held_allocate_managed(&block, (size_t)bytes), error,
                                       "allocating %llu bytes of managed memory", (unsigned long long)bytes);
    }
    if (status == SMK_OK) {
        *address = (uint64_t)(uintptr_t)block;
    }
    return status;
}

void smk_managed_free(uint64_t address)
{
    if (address != 0 && smk_held_free((void *)(uintptr_t)address, false, NULL) != cudaSuccess) {
        (void)cudaGetLastError(); /* the process ends, or its device was lost */
    }
}

bool smk_managed_is_reached(uint64_t address)
{
    struct cudaPointerAttributes attributes;
    memset(&attributes, 0, sizeof attributes);
    if (cudaPointerGetAttributes(&attributes, (const void *)(uintptr_t)address) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return attributes.type == cudaMemoryTypeManaged || attributes.type == cudaMemoryTypeHost;
}
