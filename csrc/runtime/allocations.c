#include "runtime/allocations.h"

#include "base/heap.h"
#include "runtime/address_map.h"
#include "runtime/card.h"
#include "runtime/copy.h"
#include "runtime/lost_memory.h"
#include "runtime/outcome.h"
#include "runtime/ranges.h"
#include "runtime/session.h"
#include "runtime/settings.h"
#include "runtime/stream.h"
#include "runtime/watch.h"

#include <pthread.h>

/* Memory of the host that kernels may reach. */
typedef struct host_allocation {
    smk_allocation_use use;
    unsigned flags;
    void *host;
    size_t bytes;
    uint64_t device; /* the address for kernels; of registered memory another one than that of the host */
    struct host_allocation *next;
} host_allocation;

enum { PITCH_UNIT = 512, PINNED_FLAGS = 7 };
#define LAUNCHES_BYTES (UINT64_C(1) << 30) /* that a card keeps for itself, roughly */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the tables */
static smk_address_map shared;                           /* by address: managed and pinned */
static host_allocation *registered;

static uint64_t number_of(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

static void *pointer_of(uint64_t address)
{
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

static uint64_t card_bytes(void)
{
    return (uint64_t)smk_runtime_card_get()->memory_gib << 30;
}

size_t smk_allocations_used(void)
{
    return (size_t)smk_memory_used(smk_session_memory());
}

smk_cuda smk_allocations_create(size_t bytes, void **address)
{
    uint64_t made = 0;
    smk_error error;
    if (address == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    *address = NULL;
    if (bytes == 0) {
        return SMK_CUDA_Success;
    }
    if (bytes > card_bytes() || smk_allocations_used() > card_bytes() - bytes ||
        smk_memory_allocate(smk_session_memory(), bytes, &made, &error) != SMK_OK) {
        return SMK_CUDA_ErrorMemoryAllocation;
    }
    *address = pointer_of(made);
    return SMK_CUDA_Success;
}

smk_cuda smk_allocations_renew(void *address, size_t bytes)
{
    uint64_t start = 0, present = 0;
    bool is_shared = false;
    smk_error error;
    if (address == NULL ||
        (smk_memory_find(smk_session_memory(), number_of(address), &start, &present, &is_shared) && present == bytes)) {
        return SMK_CUDA_Success;
    }
    return smk_memory_allocate_again(smk_session_memory(), number_of(address), bytes, &error) == SMK_OK
               ? SMK_CUDA_Success
               : SMK_CUDA_ErrorMemoryAllocation;
}

/* For findings of accesses to it. */
static void note_freed(const void *address)
{
    smk_lost_memory freed = {.launches = smk_watch_count_launches()};
    bool is_shared = false;
    if (smk_settings_get()->mode == SMK_SETTINGS_CHECK &&
        smk_memory_find(smk_session_memory(), number_of(address), &freed.address, &freed.bytes, &is_shared)) {
        smk_lost_memory_add(&freed);
    }
}

smk_cuda smk_allocations_free(void *address)
{
    smk_error error;
    if (address == NULL) {
        return SMK_CUDA_Success;
    }
    note_freed(address);
    if (smk_memory_free(smk_session_memory(), number_of(address), &error) != SMK_OK) {
        smk_outcome_say("free of %p: %s", address, error.message);
        return SMK_CUDA_ErrorInvalidValue;
    }
    smk_ranges_forget(address);
    (void)pthread_mutex_lock(&lock);
    smk_heap_free(smk_address_map_remove(&shared, address));
    (void)pthread_mutex_unlock(&lock);
    return SMK_CUDA_Success;
}

smk_cuda smk_allocations_create_shared(size_t bytes, smk_allocation_use use, unsigned flags, void **address)
{
    uint64_t made = 0;
    smk_error error;
    host_allocation *allocation = NULL;
    if (address == NULL || (use == SMK_ALLOCATION_PINNED && (flags & ~(unsigned)PINNED_FLAGS) != 0)) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    *address = NULL;
    if (bytes == 0) {
        return SMK_CUDA_Success;
    }
    allocation = smk_heap_allocate(1, sizeof *allocation);
    if (allocation == NULL || smk_memory_allocate_shared(smk_session_memory(), bytes, &made, &error) != SMK_OK) {
        smk_heap_free(allocation);
        return SMK_CUDA_ErrorMemoryAllocation;
    }
    *address = pointer_of(made);
    *allocation = (host_allocation){.use = use, .flags = flags, .host = *address, .bytes = bytes, .device = made};
    (void)pthread_mutex_lock(&lock);
    const bool done = smk_address_map_set(&shared, *address, allocation);
    (void)pthread_mutex_unlock(&lock);
    return done ? SMK_CUDA_Success : SMK_CUDA_ErrorMemoryAllocation;
}

/* Under the lock: the registered memory that holds an address of the host; NULL: none. */
static host_allocation **find_registered(const void *address)
{
    for (host_allocation **at = &registered; *at != NULL; at = &(*at)->next) {
        if (number_of(address) - number_of((*at)->host) < (*at)->bytes) {
            return at;
        }
    }
    return NULL;
}

/* The managed or pinned memory that holds an address; NULL: none. */
static const host_allocation *find_shared(const void *address)
{
    uint64_t start = 0, bytes = 0;
    bool is_shared = false;
    const host_allocation *found = NULL;
    if (smk_memory_find(smk_session_memory(), number_of(address), &start, &bytes, &is_shared) && is_shared) {
        (void)pthread_mutex_lock(&lock);
        found = smk_address_map_get(&shared, pointer_of(start));
        (void)pthread_mutex_unlock(&lock);
    }
    return found;
}

bool smk_allocations_find_managed(const void *address, uint64_t *start, size_t *bytes)
{
    const host_allocation *found = find_shared(address);
    if (found == NULL || found->use != SMK_ALLOCATION_MANAGED) {
        return false;
    }
    *start = number_of(found->host);
    *bytes = found->bytes;
    return true;
}

/* The outcome that a call begins with which a capture may forbid. */
static smk_cuda begin_unsafe(void)
{
    const smk_cuda code = smk_outcome_begin();
    return code != SMK_CUDA_Success ? code : smk_outcome_return(smk_stream_check_unsafe());
}

/* Exported ----------------------------------------------------------------------------------------------- */

SMK_EXPORT smk_cuda cudaMalloc(void **address, size_t bytes)
{
    smk_cuda code = begin_unsafe();
    smk_session_use_runtime();
    return code != SMK_CUDA_Success ? code : smk_outcome_return(smk_allocations_create(bytes, address));
}

SMK_EXPORT smk_cuda cudaFree(void *address)
{
    smk_cuda code = address == NULL ? smk_outcome_begin() : begin_unsafe();
    if (address == NULL) { /* what programs call to have a context */
        smk_session_use_runtime();
    }
    smk_session_flush();
    return code != SMK_CUDA_Success ? code : smk_outcome_return(smk_allocations_free(address));
}

SMK_EXPORT smk_cuda cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
    smk_cuda code = begin_unsafe();
    *pitch = (width + PITCH_UNIT - 1) / PITCH_UNIT * PITCH_UNIT;
    return code != SMK_CUDA_Success ? code : smk_outcome_return(smk_allocations_create(*pitch * height, address));
}

SMK_EXPORT smk_cuda cudaMalloc3D(smk_cuda_pitched *pitched, smk_cuda_extent extent)
{
    *pitched = (smk_cuda_pitched){.width = extent.width, .height = extent.height};
    return cudaMallocPitch(&pitched->address, &pitched->pitch, extent.width, extent.height * extent.depth);
}

SMK_EXPORT smk_cuda cudaMallocManaged(void **address, size_t bytes, unsigned flags)
{
    smk_cuda code = begin_unsafe();
    return code != SMK_CUDA_Success
               ? code
               : smk_outcome_return(smk_allocations_create_shared(bytes, SMK_ALLOCATION_MANAGED, flags, address));
}

SMK_EXPORT smk_cuda cudaHostAlloc(void **address, size_t bytes, unsigned flags)
{
    smk_cuda code = begin_unsafe();
    return code != SMK_CUDA_Success
               ? code
               : smk_outcome_return(smk_allocations_create_shared(bytes, SMK_ALLOCATION_PINNED, flags, address));
}

SMK_EXPORT smk_cuda cudaMallocHost(void **address, size_t bytes)
{
    return cudaHostAlloc(address, bytes, 0);
}

SMK_EXPORT smk_cuda cudaFreeHost(void *address)
{
    const bool pinned = address == NULL || find_shared(address) != NULL;
    return pinned ? cudaFree(address) : smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
}

SMK_EXPORT smk_cuda cudaHostRegister(void *address, size_t bytes, unsigned flags)
{
    smk_error error;
    host_allocation *made = smk_heap_allocate(1, sizeof *made);
    if (address == NULL || bytes == 0 || made == NULL) {
        smk_heap_free(made);
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    *made = (host_allocation){.use = SMK_ALLOCATION_REGISTERED, .flags = flags, .host = address, .bytes = bytes};
    (void)pthread_mutex_lock(&lock);
    smk_cuda code = find_registered(address) != NULL ? SMK_CUDA_ErrorHostMemoryAlreadyRegistered : SMK_CUDA_Success;
    if (code == SMK_CUDA_Success &&
        smk_memory_adopt(smk_session_memory(), address, bytes, &made->device, &error) != SMK_OK) {
        code = SMK_CUDA_ErrorMemoryAllocation;
    }
    if (code == SMK_CUDA_Success) {
        made->next = registered;
        registered = made;
    } else {
        smk_heap_free(made);
    }
    (void)pthread_mutex_unlock(&lock);
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaHostUnregister(void *address)
{
    smk_error error;
    smk_cuda code = SMK_CUDA_ErrorHostMemoryNotRegistered;
    (void)pthread_mutex_lock(&lock);
    host_allocation **at = find_registered(address);
    if (at != NULL && (*at)->host == address) {
        host_allocation *found = *at;
        *at = found->next;
        code = smk_memory_free(smk_session_memory(), found->device, &error) == SMK_OK ? SMK_CUDA_Success
                                                                                      : SMK_CUDA_ErrorInvalidValue;
        smk_heap_free(found);
    }
    (void)pthread_mutex_unlock(&lock);
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    smk_cuda code = SMK_CUDA_ErrorInvalidValue;
    (void)flags;
    if (find_shared(host) != NULL) {
        *device = host;
        return SMK_CUDA_Success;
    }
    (void)pthread_mutex_lock(&lock);
    host_allocation **at = find_registered(host);
    if (at != NULL) {
        *device = pointer_of((*at)->device + (number_of(host) - number_of((*at)->host)));
        code = SMK_CUDA_Success;
    }
    (void)pthread_mutex_unlock(&lock);
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaHostGetFlags(unsigned *flags, void *host)
{
    const host_allocation *found = find_shared(host);
    *flags = found == NULL ? 0 : found->flags;
    return smk_outcome_return(found == NULL ? SMK_CUDA_ErrorInvalidValue : SMK_CUDA_Success);
}

SMK_EXPORT smk_cuda cudaPointerGetAttributes(smk_cuda_pointer_facts *facts, const void *address)
{
    const host_allocation *found = find_shared(address);
    *facts = (smk_cuda_pointer_facts){
        .type = SMK_MEMORY_UNKNOWN, .device = -2, .host_address = pointer_of(number_of(address))};
    if (found != NULL) {
        facts->type = found->use == SMK_ALLOCATION_MANAGED ? SMK_MEMORY_MANAGED : SMK_MEMORY_HOST;
        facts->device = 0;
        facts->device_address = facts->host_address;
        return smk_outcome_begin();
    }
    (void)pthread_mutex_lock(&lock);
    host_allocation **at = find_registered(address);
    if (at != NULL) {
        facts->type = SMK_MEMORY_HOST;
        facts->device = 0;
        facts->device_address = pointer_of((*at)->device + (number_of(address) - number_of((*at)->host)));
    }
    (void)pthread_mutex_unlock(&lock);
    if (at == NULL && smk_copy_find_memory(address) == SMK_MEMORY_DEVICE) {
        *facts = (smk_cuda_pointer_facts){
            .type = SMK_MEMORY_DEVICE, .device_address = pointer_of(number_of(address)), .device = 0};
    }
    return smk_outcome_begin();
}

/* Free is what allocations can have, of the card and of this machine: programs size their arrays and pools by it. */
SMK_EXPORT smk_cuda cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    const uint64_t used = smk_allocations_used() + LAUNCHES_BYTES, card = card_bytes(), machine = smk_memory_limit();
    const uint64_t most = card < machine ? card : machine;
    *total_bytes = (size_t)card;
    *free_bytes = used < most ? (size_t)(most - used) : 0;
    return smk_outcome_begin();
}
