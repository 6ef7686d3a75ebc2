/* Memory of the GPU: allocation from a pool, zeroed blocks to borrow, copies. */
#include "gpu/gpu.h"

#include "base/heap.h"
#include "gpu/cuda_error.h"
#include "gpu/held.h"
#include "gpu/stream.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "CUDA addresses and sizes are 64 bits");

static void *device_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Freed memory that the device's pool keeps for the next allocation; more goes back to the driver. Large results and the
 * panels of a product over several devices come again and again, and the driver takes milliseconds for a GB. What the
 * pool keeps no other process can have: beside others it keeps less. */
#define POOL_BYTES_KEPT_MIN (UINT64_C(1) << 30)
enum { POOL_PART_KEPT = 16 }; /* a 16th of the memory that is free at first, where that is more */

static uint64_t choose_kept_bytes(void)
{
    size_t free_bytes = 0, total_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    const uint64_t part = (uint64_t)free_bytes / POOL_PART_KEPT;
    return part > POOL_BYTES_KEPT_MIN ? part : POOL_BYTES_KEPT_MIN;
}

/* SMEMKIT_POOL=0: every array is a separate allocation of the driver, whose bounds a memory checker knows. */
static bool allows_pool(void)
{
    const char *text = getenv("SMEMKIT_POOL");
    return text == NULL || strcmp(text, "0") != 0;
}

static smk_status check_pool(smk_error *error)
{
    const char *text = getenv("SMEMKIT_POOL");
    if (text == NULL || text[0] == '\0' || strcmp(text, "0") == 0 || strcmp(text, "1") == 0) {
        return SMK_OK;
    }
    return smk_status_fail(error, SMK_ARGUMENT,
                           "the environment variable SMEMKIT_POOL is '%.100s'; accepted are '0' and '1'", text);
}

static atomic_int has_pool[SMK_DEVICES_MAX]; /* whether a device has a pool. 0: not asked for yet; 1: no; 2: yes */

/* Does the present device allocate from a pool, in stream order, without waiting for the device? */
static bool uses_pool(void)
{
    int device = 0, supported = 0;
    cudaMemPool_t pool = NULL;
    if (cudaGetDevice(&device) != cudaSuccess || device >= SMK_DEVICES_MAX) {
        (void)cudaGetLastError();
        return false;
    }
    if (atomic_load(&has_pool[device]) == 0) {
        uint64_t kept = choose_kept_bytes();
        bool good = allows_pool() &&
                    cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device) == cudaSuccess &&
                    supported != 0 && cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess &&
                    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept) == cudaSuccess;
        if (!good) {
            (void)cudaGetLastError();
        }
        atomic_store(&has_pool[device], good ? 2 : 1);
    }
    return atomic_load(&has_pool[device]) == 2;
}

/* Allocates from the pool; if that fails, once more after unused memory has returned to the driver. */
static cudaError_t allocate_from_pool(void **pointer, size_t bytes)
{
    int device = 0;
    cudaMemPool_t pool = NULL;
    cudaError_t code = smk_held_allocate(pointer, bytes, true, smk_stream_now());
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        if (cudaDeviceSynchronize() == cudaSuccess && cudaGetDevice(&device) == cudaSuccess &&
            cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess && cudaMemPoolTrimTo(pool, 0) == cudaSuccess) {
            code = smk_held_allocate(pointer, bytes, true, smk_stream_now());
        }
    }
    return code;
}

smk_status smk_buffer_trim(smk_error *error)
{
    cudaError_t code = cudaSuccess;
    for (int device = 0; device < SMK_DEVICES_MAX && code == cudaSuccess; device++) {
        cudaMemPool_t pool = NULL;
        if (atomic_load(&has_pool[device]) == 2) {
            code = cudaDeviceGetDefaultMemPool(&pool, device);
            code = code == cudaSuccess ? cudaMemPoolTrimTo(pool, 0) : code;
        }
    }
    return smk_cuda_error_report(code, error, "returning unused memory of the GPU");
}

smk_status smk_buffer_allocate(uint64_t bytes, uint64_t *address, smk_error *error)
{
    if (bytes == 0) {
        *address = 0;
        return SMK_OK;
    }
    smk_status status = check_pool(error);
    if (status != SMK_OK) {
        return status;
    }
    void *pointer = NULL;
    cudaError_t code = uses_pool() ? allocate_from_pool(&pointer, (size_t)bytes)
                                   : smk_held_allocate(&pointer, (size_t)bytes, false, NULL);
    if (code == cudaSuccess) {
        *address = (uint64_t)(uintptr_t)pointer;
        return SMK_OK;
    }
    status = smk_cuda_error_report(code, error, "allocating %llu bytes on the GPU", (unsigned long long)bytes);
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
    void *pointer = device_pointer(address);
    cudaError_t code = smk_held_free(pointer, uses_pool(), smk_stream_now());
    return smk_cuda_error_report(code, error, "freeing GPU memory at 0x%llx", (unsigned long long)address);
}

/* Memory that was given up during a capture, which takes neither its release nor a wait. */
typedef struct retired_block {
    struct retired_block *next;
    int device;
    uint64_t address;
} retired_block;

static retired_block *_Atomic retired;

/* Frees what lies on the present device, behind all of its work; the rest stays. */
static void free_retired(int device)
{
    retired_block *block = atomic_exchange(&retired, NULL);
    const bool waited = block != NULL && cudaDeviceSynchronize() == cudaSuccess;
    while (block != NULL) {
        retired_block *next = block->next;
        if (waited && block->device == device) {
            (void)smk_buffer_free(block->address, NULL);
            smk_heap_free(block);
        } else {
            block->next = atomic_load(&retired);
            while (!atomic_compare_exchange_weak(&retired, &block->next, block)) {
            }
        }
        block = next;
    }
    (void)cudaGetLastError(); /* another thread may be capturing */
}

smk_status smk_buffer_retire(uint64_t address, smk_error *error)
{
    int device = 0;
    if (address == 0 || cudaGetDevice(&device) != cudaSuccess) {
        return SMK_OK;
    }
    if (!smk_stream_is_captured(smk_stream_now())) {
        if (atomic_load(&retired) != NULL) {
            free_retired(device);
        }
        return smk_buffer_free(address, error);
    }
    retired_block *block = smk_heap_allocate(1, sizeof *block);
    if (block == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no host memory to note a block of GPU memory");
    }
    block->device = device;
    block->address = address;
    block->next = atomic_load(&retired);
    while (!atomic_compare_exchange_weak(&retired, &block->next, block)) {
    }
    return SMK_OK;
}

/* Copies in order with the work of the entered stream, and waits for the end. */
static cudaError_t copy_and_wait(void *target, const void *source, uint64_t bytes, enum cudaMemcpyKind kind)
{
    cudaStream_t stream = smk_stream_now();
    if (stream == NULL) {
        return cudaMemcpy(target, source, (size_t)bytes, kind);
    }
    cudaError_t code = cudaMemcpyAsync(target, source, (size_t)bytes, kind, stream);
    return code == cudaSuccess ? cudaStreamSynchronize(stream) : code;
}

smk_status smk_buffer_upload(uint64_t address, const void *host, uint64_t bytes, smk_error *error)
{
    if (bytes == 0) {
        return SMK_OK;
    }
    return smk_cuda_error_report(copy_and_wait(device_pointer(address), host, bytes, cudaMemcpyHostToDevice), error,
                                 "copying %llu bytes to the GPU at 0x%llx", (unsigned long long)bytes,
                                 (unsigned long long)address);
}

smk_status smk_buffer_download(uint64_t address, void *host, uint64_t bytes, smk_error *error)
{
    if (bytes == 0) {
        return SMK_OK;
    }
    return smk_cuda_error_report(copy_and_wait(host, device_pointer(address), bytes, cudaMemcpyDeviceToHost), error,
                                 "copying %llu bytes from the GPU at 0x%llx", (unsigned long long)bytes,
                                 (unsigned long long)address);
}

smk_status smk_buffer_copy_pinned(uint64_t address, void *host, uint64_t bytes, bool is_up, smk_error *error)
{
    void *device = device_pointer(address);
    const cudaError_t code =
        is_up ? cudaMemcpyAsync(device, host, (size_t)bytes, cudaMemcpyHostToDevice, smk_stream_now())
              : cudaMemcpyAsync(host, device, (size_t)bytes, cudaMemcpyDeviceToHost, smk_stream_now());
    return smk_cuda_error_report(code, error, "copying %llu bytes %s the GPU at 0x%llx", (unsigned long long)bytes,
                                 is_up ? "to" : "from", (unsigned long long)address);
}

smk_status smk_buffer_clear(uint64_t address, uint64_t bytes, smk_error *error)
{
    if (bytes == 0) {
        return SMK_OK;
    }
    return smk_cuda_error_report(cudaMemsetAsync(device_pointer(address), 0, (size_t)bytes, smk_stream_now()), error,
                                 "clearing %llu bytes of the GPU at 0x%llx", (unsigned long long)bytes,
                                 (unsigned long long)address);
}

static smk_status allocate_zeros(uint64_t bytes, uint64_t *address, smk_error *error)
{
    uint64_t fresh = 0;
    smk_status status = smk_buffer_allocate(bytes, &fresh, error);
    if (status == SMK_OK) {
        status = smk_buffer_clear(fresh, bytes, error);
    }
    if (status != SMK_OK) {
        (void)smk_buffer_free(fresh, NULL);
        return status;
    }
    *address = fresh;
    return SMK_OK;
}

/* The block of zeros that the borrowers on the default stream of a device share, or one of two marks; addresses are
 * multiples of 256. No two launches of that stream use it at the same time, and it is cleared there before the first.
 * A stream of smk_stream_create has such a block too; borrowers on any other one, and those whose launches a graph
 * captures, get a block of their own. The block of the default stream is never freed, since a launch may run until the process ends. */
static _Atomic(uint64_t) zeros[SMK_DEVICES_MAX];
enum { ZEROS_UNKNOWN, ZEROS_NOT_KEPT, ZEROS_BYTES = 1 << 22 };

/* The block, made for the first borrower; or ZEROS_NOT_KEPT. After a failure the next borrower tries again. */
static smk_status find_zeros(int device, uint64_t *found, smk_error *error)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    uint64_t known = atomic_load(&zeros[device]);
    smk_status status = SMK_OK;
    if (known == ZEROS_UNKNOWN) {
        (void)pthread_mutex_lock(&lock);
        known = atomic_load(&zeros[device]);
        if (known == ZEROS_UNKNOWN) {
            known = ZEROS_NOT_KEPT;
            if (allows_pool()) { /* so that a memory checker sees the bounds of each block, and unwritten bytes */
                status = allocate_zeros(ZEROS_BYTES, &known, error);
            }
            if (status == SMK_OK) {
                atomic_store(&zeros[device], known);
            }
        }
        (void)pthread_mutex_unlock(&lock);
    }
    *found = known;
    return status;
}

/* The same for a stream that is not the default one. Two threads may make the block at once; one is kept. */
static smk_status find_zeros_of_stream(cudaStream_t stream, uint64_t *found, smk_error *error)
{
    _Atomic(uint64_t) *kept = smk_stream_is_captured(stream) || !allows_pool() ? NULL : smk_stream_zeros(stream);
    uint64_t known = kept == NULL ? ZEROS_NOT_KEPT : atomic_load(kept), expected = 0;
    if (known == ZEROS_UNKNOWN) {
        smk_status status = allocate_zeros(ZEROS_BYTES, &known, error);
        if (status != SMK_OK) {
            return status;
        }
        if (!atomic_compare_exchange_strong(kept, &expected, known)) {
            (void)smk_buffer_free(known, NULL);
            known = expected;
        }
    }
    *found = known;
    return SMK_OK;
}

smk_status smk_buffer_borrow(uint64_t bytes, uint64_t *address, smk_error *error)
{
    int device = 0;
    uint64_t found = ZEROS_NOT_KEPT;
    smk_status status = SMK_OK;
    cudaStream_t stream = smk_stream_now();
    if (bytes <= ZEROS_BYTES && stream != NULL) {
        status = find_zeros_of_stream(stream, &found, error);
    } else if (bytes <= ZEROS_BYTES && cudaGetDevice(&device) == cudaSuccess && device < SMK_DEVICES_MAX) {
        status = find_zeros(device, &found, error);
    }
    if (status == SMK_OK && found == ZEROS_NOT_KEPT) {
        status = allocate_zeros(bytes, &found, error);
    }
    if (status == SMK_OK) {
        *address = found;
    }
    return status;
}

smk_status smk_buffer_give_back(uint64_t address, uint64_t bytes, smk_error *error)
{
    cudaStream_t stream = smk_stream_now();
    _Atomic(uint64_t) *kept = stream == NULL ? NULL : smk_stream_zeros(stream);
    if (kept != NULL && address == atomic_load(kept)) {
        return SMK_OK;
    }
    for (size_t device = 0; stream == NULL && bytes <= ZEROS_BYTES && device < SMK_DEVICES_MAX; device++) {
        if (address == atomic_load(&zeros[device])) {
            return SMK_OK;
        }
    }
    return smk_buffer_free(address, error);
}

smk_status smk_buffer_copy(uint64_t target, uint64_t source, uint64_t bytes, smk_error *error)
{
    if (bytes == 0) {
        return SMK_OK;
    }
    return smk_cuda_error_report(cudaMemcpyAsync(device_pointer(target), device_pointer(source), (size_t)bytes,
                                                 cudaMemcpyDeviceToDevice, smk_stream_now()),
                                 error, "copying %llu bytes on the GPU from 0x%llx to 0x%llx",
                                 (unsigned long long)bytes, (unsigned long long)source, (unsigned long long)target);
}
