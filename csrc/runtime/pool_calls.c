/* Allocation in the order of streams, and memory pools. Work has ended when it is submitted, so memory is taken and given
 * back at once; a pool counts its bytes. Pools of the host and of managed memory have memory that both sides reach. */
#include "runtime/pool_calls.h"
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
    int slot;     /* the place and the type of its memory */
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

enum { TYPE_PINNED = 1, TYPE_MANAGED = 2, RIGHTS_NONE = 0, RIGHTS_READ = 1, RIGHTS_BOTH = 3 };
enum { ON_DEVICE, MANAGED_ON_DEVICE, ON_HOST, MANAGED_ON_HOST, MANAGED, SLOTS };
enum { REUSE_FIRST = 1, REUSE_LAST = 3, THRESHOLD = 4, RESERVED = 5, RESERVED_HIGH = 6, USED = 7, USED_HIGH = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static memory_pool standard[SLOTS] = {
    {.reuse = {1, 1, 1}, .slot = ON_DEVICE}, {.reuse = {1, 1, 1}, .slot = MANAGED_ON_DEVICE},
    {.reuse = {1, 1, 1}, .slot = ON_HOST},   {.reuse = {1, 1, 1}, .slot = MANAGED_ON_HOST},
    {.reuse = {1, 1, 1}, .slot = MANAGED},
};
static memory_pool *present[SLOTS] = {&standard[0], &standard[1], &standard[2], &standard[3], &standard[4]};
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
    code = pool->slot == ON_DEVICE
               ? smk_allocations_create(bytes, address)
               : smk_allocations_create_shared(
                     bytes, pool->slot == ON_HOST ? SMK_ALLOCATION_PINNED : SMK_ALLOCATION_MANAGED, 0, address);
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

bool smk_pool_has(const void *address)
{
    (void)pthread_mutex_lock(&lock);
    const bool has = smk_address_map_get(&memory, address) != NULL;
    (void)pthread_mutex_unlock(&lock);
    return has;
}

SMK_EXPORT smk_cuda cudaMallocAsync(void **address, size_t bytes, smk_cuda_stream_handle stream)
{
    return smk_outcome_return(allocate(address, bytes, present[ON_DEVICE], stream));
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

/* Which pools have memory of a place and a type. */
static smk_cuda find_slot(const smk_cuda_location *where, int type, int *slot)
{
    const bool managed = type == TYPE_MANAGED;
    if (where == NULL || (type != TYPE_PINNED && type != TYPE_MANAGED)) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    switch (where->type) {
    case SMK_LOCATION_DEVICE:
        *slot = managed ? MANAGED_ON_DEVICE : ON_DEVICE;
        return where->number == 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue;
    case SMK_LOCATION_HOST:
    case SMK_LOCATION_HOST_NODE:
        *slot = managed ? MANAGED_ON_HOST : ON_HOST;
        return SMK_CUDA_Success;
    case SMK_LOCATION_NONE:
        *slot = MANAGED;
        return managed ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue;
    case SMK_LOCATION_HOST_NEAREST:
        break;
    }
    return SMK_CUDA_ErrorNotSupported;
}

SMK_EXPORT smk_cuda cudaMemGetDefaultMemPool(memory_pool **pool, const smk_cuda_location *where, int type)
{
    int slot = 0;
    const smk_cuda code = pool == NULL ? SMK_CUDA_ErrorInvalidValue : find_slot(where, type, &slot);
    if (code == SMK_CUDA_Success) {
        *pool = &standard[slot];
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaMemGetMemPool(memory_pool **pool, const smk_cuda_location *where, int type)
{
    int slot = 0;
    const smk_cuda code = pool == NULL ? SMK_CUDA_ErrorInvalidValue : find_slot(where, type, &slot);
    if (code == SMK_CUDA_Success) {
        *pool = present[slot];
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaMemSetMemPool(const smk_cuda_location *where, int type, memory_pool *pool)
{
    int slot = 0;
    smk_cuda code = find_slot(where, type, &slot);
    if (code == SMK_CUDA_Success && (pool == NULL || pool->slot != slot)) {
        code = SMK_CUDA_ErrorInvalidValue;
    }
    if (code == SMK_CUDA_Success) {
        present[slot] = pool;
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaDeviceGetDefaultMemPool(memory_pool **pool, int device)
{
    const smk_cuda_location where = {SMK_LOCATION_DEVICE, 0};
    return device == 0 ? cudaMemGetDefaultMemPool(pool, &where, TYPE_PINNED)
                       : smk_outcome_return(SMK_CUDA_ErrorInvalidDevice);
}

SMK_EXPORT smk_cuda cudaDeviceGetMemPool(memory_pool **pool, int device)
{
    const smk_cuda_location where = {SMK_LOCATION_DEVICE, 0};
    return device == 0 ? cudaMemGetMemPool(pool, &where, TYPE_PINNED) : smk_outcome_return(SMK_CUDA_ErrorInvalidDevice);
}

SMK_EXPORT smk_cuda cudaDeviceSetMemPool(int device, memory_pool *pool)
{
    return cudaMemSetMemPool(&(smk_cuda_location){SMK_LOCATION_DEVICE, device}, TYPE_PINNED, pool);
}

SMK_EXPORT smk_cuda cudaMemPoolCreate(memory_pool **pool, const pool_properties *properties)
{
    int slot = 0;
    smk_cuda code = pool == NULL || properties == NULL ? SMK_CUDA_ErrorInvalidValue
                                                       : find_slot(&properties->where, properties->type, &slot);
    memory_pool *made = code == SMK_CUDA_Success ? smk_heap_allocate(1, sizeof *made) : NULL;
    if (made != NULL) {
        *made = (memory_pool){.reuse = {1, 1, 1}, .slot = slot};
        *pool = made;
        code = smk_outcome_begin();
    } else if (code == SMK_CUDA_Success) {
        code = SMK_CUDA_ErrorMemoryAllocation;
    }
    return smk_outcome_return(code);
}

/* Memory of the pool may outlive it. */
SMK_EXPORT smk_cuda cudaMemPoolDestroy(memory_pool *pool)
{
    if (pool == NULL || pool == &standard[pool->slot]) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    if (present[pool->slot] == pool) {
        present[pool->slot] = &standard[pool->slot];
    }
    return SMK_CUDA_Success;
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
        const int rights = accesses[i].rights;
        const bool here = accesses[i].where.type == SMK_LOCATION_DEVICE && accesses[i].where.number == 0;
        code = !here || rights == RIGHTS_NONE ? SMK_CUDA_ErrorInvalidDevice
               : rights == RIGHTS_READ        ? SMK_CUDA_ErrorNotSupported
               : rights != RIGHTS_BOTH        ? SMK_CUDA_ErrorInvalidValue
                                              : code;
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaMemPoolGetAccess(int *rights, const memory_pool *pool, const smk_cuda_location *where)
{
    const bool known = where != NULL &&
                       (where->type == SMK_LOCATION_HOST || (where->type == SMK_LOCATION_DEVICE && where->number == 0));
    if (rights == NULL || pool == NULL || !known) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    *rights = where->type == SMK_LOCATION_DEVICE || pool->slot != ON_DEVICE ? RIGHTS_BOTH : RIGHTS_NONE;
    return smk_outcome_return(SMK_CUDA_Success);
}
