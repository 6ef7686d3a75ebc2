#include "gpu.h"

#include "error.h"

#include <cuda_runtime_api.h>

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "CUDA addresses and sizes are 64 bits");

static void *device_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

smk_status smk_buffer_allocate(uint64_t bytes, uint64_t *address, smk_error *error)
{
    if (bytes == 0) {
        *address = 0;
        return SMK_OK;
    }
    void *pointer = NULL;
    cudaError_t code = cudaMalloc(&pointer, (size_t)bytes);
    if (code == cudaSuccess) {
        *address = (uint64_t)(uintptr_t)pointer;
        return SMK_OK;
    }
    smk_status status = smk_error_from_cuda(code, error, "allocating %llu bytes on the GPU", (unsigned long long)bytes);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (code == cudaErrorMemoryAllocation && cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess) {
        return smk_status_fail(error, SMK_MEMORY,
                               "allocating %llu bytes on the GPU: %s: %s; %llu of its %llu bytes are free",
                               (unsigned long long)bytes, cudaGetErrorName(code), cudaGetErrorString(code),
                               (unsigned long long)free_bytes, (unsigned long long)total_bytes);
    }
    return status;
}

smk_status smk_buffer_free(uint64_t address, smk_error *error)
{
    if (address == 0) {
        return SMK_OK;
    }
    return smk_error_from_cuda(cudaFree(device_pointer(address)), error, "freeing GPU memory at 0x%llx",
                               (unsigned long long)address);
}

smk_status smk_buffer_upload(uint64_t address, const void *host, uint64_t bytes, smk_error *error)
{
    if (bytes == 0) {
        return SMK_OK;
    }
    return smk_error_from_cuda(cudaMemcpy(device_pointer(address), host, (size_t)bytes, cudaMemcpyHostToDevice), error,
                               "copying %llu bytes to the GPU at 0x%llx", (unsigned long long)bytes,
                               (unsigned long long)address);
}

smk_status smk_buffer_download(uint64_t address, void *host, uint64_t bytes, smk_error *error)
{
    if (bytes == 0) {
        return SMK_OK;
    }
    return smk_error_from_cuda(cudaMemcpy(host, device_pointer(address), (size_t)bytes, cudaMemcpyDeviceToHost), error,
                               "copying %llu bytes from the GPU at 0x%llx", (unsigned long long)bytes,
                               (unsigned long long)address);
}
