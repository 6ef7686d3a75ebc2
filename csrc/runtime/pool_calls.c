/* Allocation in the order of streams, and memory pools. Work has ended when it is submitted, so memory is taken and given
 * back at once; a pool counts its bytes. */
#include "base/heap.h"
#include "runtime/address_map.h"
#include "runtime/allocations.h"
#include "runtime/copy.h"
#include "runtime/outcome.h"
#include "runtime/stream.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

typedef struct memory_pool {
    uint64_t used, used_high, threshold;
    int reuse[3]; /* switches that change nothing here */
    int handles;  /* kinds of handles that share it with other processes */
} memory_pool;

/* What a program asks of a pool. */
typedef struct pool_properties {
    int type, handles;
    smk_cuda_location where;
    void *security;
    size_t most;
    unsigned short use;
    unsigned char reserved[54];
} pool_properties;

/* Who may reach the memory of a pool. */
typedef struct pool_access {
    smk_cuda_location where;
    int rights;
} pool_access;

/* Memory of a pool. */
typedef struct pool_memory {
    memory_pool *pool;
    size_t bytes;
} pool_memory;

enum { TYPE_PINNED = 1, RIGHTS_NONE = 0, RIGHTS_BOTH = 3 };
enum { REUSE_FIRST = 1, REUSE_LAST = 3, THRESHOLD = 4, RESERVED = 5, RESERVED_HIGH = 6, USED = 7, USED_HIGH = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static memory_pool standard = {.reuse = {1, 1, 1}};
static memory_pool *present = &standard;
static smk_address_map memory;

static smk_cuda allocate(void **address, size_t bytes, memory_pool *pool, smk_cuda_stream_handle stream)
{
    const smk_cuda_stream *found = smk_stream_find(stream);
    if (found == NULL) {
        return SMK_CUDA_ErrorInvalidResourceHandle;
    }
    if (address == NULL || pool == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    smk_cuda code = smk_outcome_begin();
    if (code == SMK_CUDA_Success && found->capture != NULL) {
        code = smk_allocations_create(bytes, address);
        const smk_work work = {.kind = SMK_WORK_ALLOCATE, .as.memory = {*address, bytes}};
        return code == SMK_CUDA_Success ? smk_stream_submit(stream, &work) : code;
    }
    pool_memory *taken = code == SMK_CUDA_Success ? smk_heap_allocate(1, sizeof *taken) : NULL;
    if (taken == NULL) {
        return code == SMK_CUDA_Success ? SMK_CUDA_ErrorMemoryAllocation : code;
    }
    code = smk_allocations_create(bytes, address);
    if (code != SMK_CUDA_Success || *address == NULL) {
        smk_heap_free(taken);
        return code;
    }
    *taken = (pool_memory){pool, bytes};
    (void)pthread_mutex_lock(&lock);
    (void)smk_address_map_set(&memory, *address, taken);
    pool->used += bytes;
    pool->used_high = pool->used > pool->used_high ? pool->used : pool->used_high;
    (void)pthread_mutex_unlock(&lock);
    return code;
}

SMK_EXPORT smk_cuda cudaMallocAsync(void **address, size_t bytes, smk_cuda_stream_handle stream)
{
    return smk_outcome_return(allocate(address, bytes, present, stream));
}
SMK_EXPORT_AS(cudaMallocAsync_ptsz, cudaMallocAsync);

SMK_EXPORT smk_cuda cudaMallocFromPoolAsync(void **address, size_t bytes, memory_pool *pool,
                                            smk_cuda_stream_handle stream)
{
    return smk_outcome_return(allocate(address, bytes, pool, stream));
}
SMK_EXPORT_AS(cudaMallocFromPoolAsync_ptsz, cudaMallocFromPoolAsync);

SMK_EXPORT smk_cuda cudaFreeAsync(void *address, smk_cuda_stream_handle handle)
{
    const smk_cuda_stream *stream = smk_stream_find(handle);
    if (stream == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    if (stream->capture != NULL) {
        const smk_work work = {.kind = SMK_WORK_FREE, .as.memory = {address, 0}};
        return smk_outcome_return(smk_stream_submit(handle, &work));
    }
    (void)pthread_mutex_lock(&lock);
    pool_memory *taken = smk_address_map_remove(&memory, address);
    if (taken != NULL) {
        taken->pool->used -= taken->bytes;
        smk_heap_free(taken);
    }
    (void)pthread_mutex_unlock(&lock);
    smk_cuda code = smk_outcome_begin();
    return code == SMK_CUDA_Success ? smk_outcome_return(smk_allocations_free(address)) : code;
}
SMK_EXPORT_AS(cudaFreeAsync_ptsz, cudaFreeAsync);

/* The memory of graphs is not kept apart from other memory: what is reserved is what is in use. */
SMK_EXPORT smk_cuda cudaDeviceGetGraphMemAttribute(int device, int attribute, uint64_t *value)
{
    (void)attribute;
    *value = (uint64_t)smk_allocations_used();
    return smk_outcome_return(device == 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidDevice);
}

SMK_EXPORT smk_cuda cudaDeviceSetGraphMemAttribute(int device, int attribute, const uint64_t *value)
{
    (void)attribute, (void)value;
    return smk_outcome_return(device == 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidDevice);
}

/* The pool of a place, which is the device: all memory that streams allocate is there. */
static smk_cuda find_pool(memory_pool **pool, const smk_cuda_location *where, int type, memory_pool *found)
{
    if (pool == NULL || where == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    if (where->type == SMK_LOCATION_DEVICE && where->number != 0) {
        return SMK_CUDA_ErrorInvalidDevice;
    }
    if (where->type != SMK_LOCATION_DEVICE || type != TYPE_PINNED) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    *pool = found;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaMemGetDefaultMemPool(memory_pool **pool, const smk_cuda_location *where, int type)
{
    return smk_outcome_return(find_pool(pool, where, type, &standard));
}

SMK_EXPORT smk_cuda cudaMemGetMemPool(memory_pool **pool, const smk_cuda_location *where, int type)
{
    return smk_outcome_return(find_pool(pool, where, type, present));
}

SMK_EXPORT smk_cuda cudaMemSetMemPool(const smk_cuda_location *where, int type, memory_pool *pool)
{
    memory_pool *chosen = NULL;
    const smk_cuda code = pool == NULL ? SMK_CUDA_ErrorInvalidValue : find_pool(&chosen, where, type, pool);
    present = code == SMK_CUDA_Success ? chosen : present;
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaDeviceGetDefaultMemPool(memory_pool **pool, int device)
{
    return cudaMemGetDefaultMemPool(pool, &(smk_cuda_location){SMK_LOCATION_DEVICE, device}, TYPE_PINNED);
}

SMK_EXPORT smk_cuda cudaDeviceGetMemPool(memory_pool **pool, int device)
{
    return cudaMemGetMemPool(pool, &(smk_cuda_location){SMK_LOCATION_DEVICE, device}, TYPE_PINNED);
}

SMK_EXPORT smk_cuda cudaDeviceSetMemPool(int device, memory_pool *pool)
{
    return cudaMemSetMemPool(&(smk_cuda_location){SMK_LOCATION_DEVICE, device}, TYPE_PINNED, pool);
}

SMK_EXPORT smk_cuda cudaMemPoolCreate(memory_pool **pool, const pool_properties *properties)
{
    memory_pool *made = NULL;
    smk_cuda code =
        properties == NULL ? SMK_CUDA_ErrorInvalidValue : find_pool(pool, &properties->where, properties->type, NULL);
    if (code == SMK_CUDA_Success) {
        made = smk_heap_allocate(1, sizeof *made);
        code = made == NULL ? SMK_CUDA_ErrorMemoryAllocation : smk_outcome_begin();
    }
    if (made != NULL) {
        *made = (memory_pool){.reuse = {1, 1, 1}, .handles = properties->handles};
        *pool = made;
    }
    return smk_outcome_return(code);
}

/* Memory of the pool may outlive it. */
SMK_EXPORT smk_cuda cudaMemPoolDestroy(memory_pool *pool)
{
    present = present == pool ? &standard : present;
    return smk_outcome_return(pool == &standard || pool == NULL ? SMK_CUDA_ErrorInvalidValue : SMK_CUDA_Success);
}

SMK_EXPORT smk_cuda cudaMemPoolTrimTo(memory_pool *pool, size_t bytes)
{
    (void)bytes;
    return pool == NULL ? smk_outcome_return(SMK_CUDA_ErrorInvalidValue) : smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaMemPoolSetAttribute(memory_pool *pool, int attribute, const void *value)
{
    if (attribute >= REUSE_FIRST && attribute <= REUSE_LAST) {
        memcpy(&pool->reuse[attribute - REUSE_FIRST], value, sizeof pool->reuse[0]);
    } else if (attribute == THRESHOLD) {
        memcpy(&pool->threshold, value, sizeof pool->threshold);
    } else if (attribute == USED_HIGH || attribute == RESERVED_HIGH) {
        pool->used_high = pool->used;
    } else {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaMemPoolGetAttribute(memory_pool *pool, int attribute, void *value)
{
    const uint64_t high = pool->used_high, used = pool->used;
    if (attribute >= REUSE_FIRST && attribute <= REUSE_LAST) {
        memcpy(value, &pool->reuse[attribute - REUSE_FIRST], sizeof pool->reuse[0]);
    } else if (attribute == THRESHOLD) {
        memcpy(value, &pool->threshold, sizeof pool->threshold);
    } else if (attribute == USED || attribute == RESERVED) {
        memcpy(value, &used, sizeof used);
    } else if (attribute == USED_HIGH || attribute == RESERVED_HIGH) {
        memcpy(value, &high, sizeof high);
    } else {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    return SMK_CUDA_Success;
}

/* The device that a pool is of reaches its memory always; there is no other that could. */
SMK_EXPORT smk_cuda cudaMemPoolSetAccess(memory_pool *pool, const pool_access *accesses, size_t count)
{
    smk_cuda code = pool == NULL || (accesses == NULL && count > 0) ? SMK_CUDA_ErrorInvalidValue : smk_outcome_begin();
    for (size_t i = 0; i < count && code == SMK_CUDA_Success; i++) {
        memory_pool *found = NULL;
        code = find_pool(&found, &accesses[i].where, TYPE_PINNED, pool);
        code = code == SMK_CUDA_Success && accesses[i].rights != RIGHTS_BOTH ? SMK_CUDA_ErrorInvalidValue : code;
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaMemPoolGetAccess(int *rights, const memory_pool *pool, const smk_cuda_location *where)
{
    if (rights == NULL || pool == NULL || where == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    if (where->type == SMK_LOCATION_DEVICE && where->number != 0) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidDevice);
    }
    *rights = where->type == SMK_LOCATION_DEVICE ? RIGHTS_BOTH : RIGHTS_NONE;
    return smk_outcome_return(SMK_CUDA_Success);
}
