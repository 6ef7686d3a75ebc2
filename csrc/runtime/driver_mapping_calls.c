/* The driver's virtual memory: ranges of addresses, and memory that is mapped into them, at several places too.
 *
 * A range is memory of the host that the simulator takes over; mapping puts the pages of a file in memory there. So a range
 * may be accessed where nothing is mapped, which a GPU would refuse.
 */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* for memfd_create under -std=c11 */
#endif

#include "base/heap.h"
#include "runtime/driver.h"
#include "runtime/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GRANULARITY = 1 << 21, HANDLE_FILE = 1, ACCESS_BOTH = 3 };

/* As the program describes memory that it creates. */
typedef struct memory_properties {
    int type, handle_types;
    struct {
        int type, number;
    } where;
    void *security;
    unsigned char compression, direct;
    unsigned short usage;
    unsigned char reserved[4];
} memory_properties;

/* Memory that a handle stands for; a mapping holds it, too. */
typedef struct physical_memory {
    int file;
    size_t bytes;
    unsigned holders;
    memory_properties properties;
} physical_memory;

typedef struct mapping {
    uint64_t address;
    size_t bytes;
    physical_memory *memory;
    struct mapping *next;
} mapping;

typedef struct address_range {
    uint64_t address;
    size_t bytes;
    unsigned char *host;
    struct address_range *next;
} address_range;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static address_range *ranges;
static mapping *mappings;

static bool is_round(size_t bytes)
{
    return bytes > 0 && bytes % GRANULARITY == 0;
}

static physical_memory *memory_of(uint64_t handle)
{
    return (physical_memory *)(uintptr_t)handle; // NOLINT(performance-no-int-to-ptr)
}

/* Under the lock: what holds the bytes, and where the host finds them; NULL: there is no such range. */
static unsigned char *find_host(uint64_t address, size_t bytes)
{
    for (const address_range *range = ranges; range != NULL; range = range->next) {
        const uint64_t offset = address - range->address;
        if (offset < range->bytes && bytes <= range->bytes - offset) {
            return range->host + offset;
        }
    }
    return NULL;
}

/* Under the lock. */
static void give_up(physical_memory *memory)
{
    if (--memory->holders == 0) {
        (void)close(memory->file);
        smk_heap_free(memory);
    }
}

SMK_EXPORT smk_cuda cuMemGetAllocationGranularity(size_t *bytes, const memory_properties *properties, int option)
{
    (void)properties, (void)option;
    *bytes = GRANULARITY;
    return SMK_CUDA_Success;
}

/* Ranges ---------------------------------------------------------------------------------------------------- */

/* A wanted address is a wish, which is not granted. */
SMK_EXPORT smk_cuda cuMemAddressReserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t wanted,
                                        unsigned long long flags)
{
    smk_error error;
    (void)alignment, (void)wanted;
    address_range *range = is_round(bytes) && flags == 0 ? smk_heap_allocate(1, sizeof *range) : NULL;
    if (range == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    void *host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (host == MAP_FAILED) {
        smk_heap_free(range);
        return SMK_CUDA_ErrorMemoryAllocation;
    }
    if (smk_memory_adopt(smk_session_memory(), host, bytes, &range->address, &error) != SMK_OK) {
        (void)munmap(host, bytes);
        smk_heap_free(range);
        return SMK_CUDA_ErrorMemoryAllocation;
    }
    range->bytes = bytes;
    range->host = host;
    *address = range->address;
    (void)pthread_mutex_lock(&lock);
    range->next = ranges;
    ranges = range;
    (void)pthread_mutex_unlock(&lock);
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuMemAddressFree(uint64_t address, size_t bytes)
{
    smk_error error;
    (void)pthread_mutex_lock(&lock);
    address_range **at = &ranges;
    while (*at != NULL && ((*at)->address != address || (*at)->bytes != bytes)) {
        at = &(*at)->next;
    }
    address_range *found = *at;
    if (found != NULL) {
        *at = found->next;
    }
    (void)pthread_mutex_unlock(&lock);
    if (found == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    (void)smk_memory_free(smk_session_memory(), address, &error);
    (void)munmap(found->host, bytes);
    smk_heap_free(found);
    return SMK_CUDA_Success;
}

/* Memory ---------------------------------------------------------------------------------------------------- */

static smk_cuda make_memory(uint64_t *handle, int file, size_t bytes, const memory_properties *properties)
{
    physical_memory *made = file < 0 ? NULL : smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        if (file >= 0) {
            (void)close(file);
        }
        return SMK_CUDA_ErrorMemoryAllocation;
    }
    *made = (physical_memory){.file = file, .bytes = bytes, .holders = 1, .properties = *properties};
    *handle = (uint64_t)(uintptr_t)made;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuMemCreate(uint64_t *handle, size_t bytes, const memory_properties *properties,
                                unsigned long long flags)
{
    if (!is_round(bytes) || flags != 0 || properties->where.number != 0) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    const uint64_t used = smk_memory_used(smk_session_memory());
    if (used > smk_memory_limit() || bytes > smk_memory_limit() - used) {
        return SMK_CUDA_ErrorMemoryAllocation;
    }
    int file = memfd_create("smemkit", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t)bytes) != 0) {
        (void)close(file);
        file = -1;
    }
    return make_memory(handle, file, bytes, properties);
}

SMK_EXPORT smk_cuda cuMemRelease(uint64_t handle)
{
    (void)pthread_mutex_lock(&lock);
    give_up(memory_of(handle));
    (void)pthread_mutex_unlock(&lock);
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuMemGetAllocationPropertiesFromHandle(memory_properties *properties, uint64_t handle)
{
    *properties = memory_of(handle)->properties;
    return SMK_CUDA_Success;
}

/* Another process that gets the file can import it. */
SMK_EXPORT smk_cuda cuMemExportToShareableHandle(int *file, uint64_t handle, int type, unsigned long long flags)
{
    if (type != HANDLE_FILE || flags != 0) {
        return SMK_CUDA_ErrorNotSupported;
    }
    *file = fcntl(memory_of(handle)->file, F_DUPFD_CLOEXEC, 0);
    return *file < 0 ? SMK_CUDA_ErrorOperatingSystem : SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuMemImportFromShareableHandle(uint64_t *handle, void *file, int type)
{
    static const memory_properties plain = {.type = 1, .handle_types = HANDLE_FILE, .where = {.type = 1}};
    struct stat facts;
    const int own = type == HANDLE_FILE ? fcntl((int)(intptr_t)file, F_DUPFD_CLOEXEC, 0) : -1;
    if (own < 0 || fstat(own, &facts) != 0) {
        return type == HANDLE_FILE ? SMK_CUDA_ErrorInvalidValue : SMK_CUDA_ErrorNotSupported;
    }
    return make_memory(handle, own, (size_t)facts.st_size, &plain);
}

/* Mappings -------------------------------------------------------------------------------------------------- */

SMK_EXPORT smk_cuda cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags)
{
    physical_memory *memory = memory_of(handle);
    mapping *made = is_round(bytes) && flags == 0 && offset <= memory->bytes && bytes <= memory->bytes - offset
                        ? smk_heap_allocate(1, sizeof *made)
                        : NULL;
    if (made == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    (void)pthread_mutex_lock(&lock);
    unsigned char *host = find_host(address, bytes);
    const bool done = host != NULL && mmap(host, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory->file,
                                           (off_t)offset) != MAP_FAILED;
    if (done) {
        *made = (mapping){.address = address, .bytes = bytes, .memory = memory, .next = mappings};
        mappings = made;
        memory->holders++;
    }
    (void)pthread_mutex_unlock(&lock);
    if (!done) {
        smk_heap_free(made);
    }
    return done ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue;
}

/* Takes away all mappings of a range of addresses. */
SMK_EXPORT smk_cuda cuMemUnmap(uint64_t address, size_t bytes)
{
    bool any = false;
    (void)pthread_mutex_lock(&lock);
    for (mapping **at = &mappings; *at != NULL;) {
        mapping *found = *at;
        if (found->address < address || found->address - address >= bytes) {
            at = &found->next;
            continue;
        }
        unsigned char *host = find_host(found->address, found->bytes);
        any = host != NULL && mmap(host, found->bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
        *at = found->next;
        give_up(found->memory);
        smk_heap_free(found);
    }
    (void)pthread_mutex_unlock(&lock);
    return any ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue;
}

SMK_EXPORT smk_cuda cuMemRetainAllocationHandle(uint64_t *handle, uint64_t address)
{
    smk_cuda code = SMK_CUDA_ErrorInvalidValue;
    (void)pthread_mutex_lock(&lock);
    for (mapping *found = mappings; found != NULL && code != SMK_CUDA_Success; found = found->next) {
        if (address - found->address < found->bytes) {
            found->memory->holders++;
            *handle = (uint64_t)(uintptr_t)found->memory;
            code = SMK_CUDA_Success;
        }
    }
    (void)pthread_mutex_unlock(&lock);
    return code;
}

/* The one device may read and write all that is mapped. */
SMK_EXPORT smk_cuda cuMemSetAccess(uint64_t address, size_t bytes, const void *accesses, size_t count)
{
    (void)accesses, (void)count;
    (void)pthread_mutex_lock(&lock);
    const bool found = find_host(address, bytes) != NULL;
    (void)pthread_mutex_unlock(&lock);
    return found ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue;
}

SMK_EXPORT smk_cuda cuMemGetAccess(unsigned long long *access, const void *where, uint64_t address)
{
    (void)where;
    *access = ACCESS_BOTH;
    return cuMemSetAccess(address, 1, NULL, 0);
}
