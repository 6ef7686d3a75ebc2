#include "sim/code/memory.h"

#include "base/fork.h"
#include "base/heap.h"
#include "base/pages.h"
#include "base/quota.h"
#include "sim/code/array_name.h"
#include "sim/code/memory_view.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ADDRESS UINT64_C(0x0000000700000000)
#define LAST_ADDRESS UINT64_C(0x0000700000000000)

/* Addresses below NULL_BYTES come from null pointers; at distances above NEAR_BYTES a message names no allocation. */
#define NULL_BYTES UINT64_C(0x10000000)
#define NEAR_BYTES (UINT64_C(1) << 32)
#define PADDING_MAX (UINT64_C(1) << 40)

enum { ALIGNMENT = 256, GUARD_BYTES = 4096, GUARD_SHARE = 16, NAME_MAX_BYTES = 64, FRESH_BYTE = SMK_PAGES_FILL };
enum { NAME_BYTES = 320, ELEMENT_BYTES = 192 }; /* texts of messages */

/* An allocation with its reference count: it lives until it is freed and no view holds it. */
typedef struct smk_allocation_record {
    uint64_t address, bytes;
    uint64_t room; /* distance from this address to the earliest next allocation */
    unsigned char *host;
    uint32_t holders;
    bool constant;
    bool paged;                         /* `host` is of base/pages.h */
    bool adopted;                       /* `host` belongs to the caller */
    bool initialized;                   /* all of its bytes have been written */
    uint64_t first;                     /* else that many bytes from the start have, */
    unsigned char *written;             /* and further ones, a bit each; NULL: none */
    char name[NAME_MAX_BYTES];          /* of a variable; "" for what the host allocated */
    struct smk_allocation_record *next; /* in a list of records to free */
} smk_allocation_record;

struct smk_memory {
    smk_fork_lock lock;
    smk_allocation_record **record; /* by address */
    size_t count, capacity;
    uint64_t next; /* where the search for room starts, so that addresses are reused late */
    uint64_t used, limit;
};

uint64_t smk_memory_limit(void)
{
    const uint64_t present = smk_quota_memory();
    return present == 0 ? UINT64_C(8) << 30 : present / 4 * 3;
}

smk_status smk_memory_create(smk_memory **memory, smk_error *error)
{
    smk_memory *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL || !smk_fork_lock_create(&made->lock)) {
        smk_heap_free(made);
        return smk_status_fail(error, SMK_MEMORY, "no memory for the simulator's device memory");
    }
    made->next = FIRST_ADDRESS;
    made->limit = smk_memory_limit();
    *memory = made;
    return SMK_OK;
}

uint64_t smk_memory_used(smk_memory *memory)
{
    smk_fork_lock_take(&memory->lock);
    const uint64_t used = memory->used;
    smk_fork_lock_give(&memory->lock);
    return used;
}

static void free_host(const smk_allocation_record *record)
{
    if (record->adopted) {
        return;
    }
    if (record->paged) {
        smk_pages_free(record->host, (size_t)record->bytes);
    } else {
        smk_heap_free(record->host);
    }
}

/* Under the lock. A record without holders goes to a list, since freeing a large one takes long. */
static void drop(smk_memory *memory, smk_allocation_record *record, smk_allocation_record **dead)
{
    if (--record->holders == 0) {
        memory->used -= record->adopted ? 0 : record->bytes;
        record->next = *dead;
        *dead = record;
    }
}

/* Without the lock. */
static void free_dead(smk_allocation_record *dead)
{
    while (dead != NULL) {
        smk_allocation_record *next = dead->next;
        free_host(dead);
        smk_heap_free(dead->written);
        smk_heap_free(dead);
        dead = next;
    }
}

void smk_memory_destroy(smk_memory *memory)
{
    if (memory == NULL) {
        return;
    }
    smk_allocation_record *dead = NULL;
    for (size_t i = 0; i < memory->count; i++) {
        drop(memory, memory->record[i], &dead);
    }
    free_dead(dead);
    smk_heap_free(memory->record);
    smk_fork_lock_destroy(&memory->lock);
    smk_heap_free(memory);
}

static _Thread_local uint64_t padding;

void smk_memory_pad(uint64_t bytes)
{
    padding = bytes < PADDING_MAX ? bytes : PADDING_MAX;
}

static uint64_t room_of(uint64_t bytes)
{
    uint64_t guard = GUARD_BYTES + bytes / GUARD_SHARE;
    uint64_t room = bytes + (guard > padding ? guard : padding);
    return (room + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Index of the first allocation at or behind `address`. */
static size_t lower_bound(const smk_memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->record[middle]->address < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Room for `bytes` and its guard at or behind `from`; 0 where there is none. */
static uint64_t find_room(const smk_memory *memory, uint64_t from, uint64_t bytes)
{
    uint64_t room = room_of(bytes);
    for (size_t i = lower_bound(memory, from); i < memory->count; i++) {
        const smk_allocation_record *next = memory->record[i];
        if (next->address >= from + room) {
            break;
        }
        from = next->address + next->room;
    }
    return LAST_ADDRESS - from >= room && from <= LAST_ADDRESS ? from : 0;
}

static bool grow_table(smk_memory *memory)
{
    if (memory->count < memory->capacity) {
        return true;
    }
    size_t capacity = memory->capacity == 0 ? 64 : 2 * memory->capacity;
    size_t each = sizeof *memory->record;
    smk_allocation_record **grown = smk_heap_resize(memory->record, memory->capacity * each, capacity * each);
    if (grown == NULL) {
        return false;
    }
    memory->record = grown;
    memory->capacity = capacity;
    return true;
}

/* Under the lock. */
static bool insert(smk_memory *memory, smk_allocation_record *record)
{
    uint64_t address = find_room(memory, memory->next, record->bytes);
    if (address == 0) {
        address = find_room(memory, FIRST_ADDRESS, record->bytes);
    }
    const uint64_t used = record->adopted ? 0 : record->bytes; /* adopted memory is in use already */
    if (address == 0 || used > memory->limit - memory->used || !grow_table(memory)) {
        return false;
    }
    size_t at = lower_bound(memory, address);
    memmove(&memory->record[at + 1], &memory->record[at], (memory->count - at) * sizeof *memory->record);
    memory->record[at] = record;
    memory->count++;
    memory->used += used;
    record->address = address;
    record->room = room_of(record->bytes);
    memory->next = address + record->room;
    return true;
}

/* Fills allocations of the host with a fixed byte and variables with zeros. NULL `host`: there is no memory. */
static void allocate_host(smk_allocation_record *made, bool variable)
{
    made->paged = !variable && made->bytes >= SMK_PAGES_BYTES_MIN;
    made->host = made->paged ? smk_pages_allocate((size_t)made->bytes) : smk_heap_allocate((size_t)made->bytes, 1);
    if (made->host != NULL && !variable && !made->paged) {
        memset(made->host, FRESH_BYTE, (size_t)made->bytes);
    }
}

static smk_status allocate(smk_memory *memory, const char *name, size_t name_length, bool constant, uint64_t bytes,
                           uint64_t *address, smk_error *error)
{
    smk_allocation_record *made = NULL;
    if (bytes <= memory->limit) { /* the host could promise more memory than it has */
        made = smk_heap_allocate(1, sizeof *made);
    }
    if (made != NULL) {
        made->bytes = bytes;
        allocate_host(made, name_length > 0);
        made->holders = 1;
        made->constant = constant;
        made->initialized = name_length > 0; /* variables begin as zeros */
        size_t length = name_length < NAME_MAX_BYTES - 1 ? name_length : NAME_MAX_BYTES - 1;
        memcpy(made->name, name, length);
    }
    bool done = false;
    if (made != NULL && made->host != NULL) {
        smk_fork_lock_take(&memory->lock);
        done = insert(memory, made);
        smk_fork_lock_give(&memory->lock);
    }
    if (!done) {
        if (made != NULL) {
            free_host(made);
        }
        smk_heap_free(made);
        return smk_status_fail(error, SMK_MEMORY,
                               "the simulator has no memory for %" PRIu64 " bytes (%" PRIu64 " of %" PRIu64
                               " bytes in use)",
                               bytes, memory->used, memory->limit);
    }
    *address = made->address;
    return SMK_OK;
}

smk_status smk_memory_allocate(smk_memory *memory, uint64_t bytes, uint64_t *address, smk_error *error)
{
    return allocate(memory, "", 0, false, bytes, address, error);
}

smk_status smk_memory_allocate_variable(smk_memory *memory, const char *name, size_t name_length, bool constant,
                                        uint64_t bytes, uint64_t *address, smk_error *error)
{
    return allocate(memory, name, name_length, constant, bytes, address, error);
}

smk_status smk_memory_adopt(smk_memory *memory, void *host, uint64_t bytes, uint64_t *address, smk_error *error)
{
    smk_allocation_record *made = smk_heap_allocate(1, sizeof *made);
    bool done = false;
    if (made != NULL) {
        *made =
            (smk_allocation_record){.bytes = bytes, .host = host, .holders = 1, .adopted = true, .initialized = true};
        smk_fork_lock_take(&memory->lock);
        done = insert(memory, made);
        smk_fork_lock_give(&memory->lock);
    }
    if (!done) {
        smk_heap_free(made);
        return smk_status_fail(error, SMK_MEMORY, "no memory left to take %" PRIu64 " bytes of the host", bytes);
    }
    *address = made->address;
    return SMK_OK;
}

smk_status smk_memory_free(smk_memory *memory, uint64_t address, smk_error *error)
{
    if (address == 0) {
        return SMK_OK;
    }
    smk_allocation_record *dead = NULL;
    smk_fork_lock_take(&memory->lock);
    size_t at = lower_bound(memory, address);
    bool found = at < memory->count && memory->record[at]->address == address;
    if (found) {
        smk_allocation_record *record = memory->record[at];
        memory->count--;
        memmove(&memory->record[at], &memory->record[at + 1], (memory->count - at) * sizeof *memory->record);
        drop(memory, record, &dead);
    }
    smk_fork_lock_give(&memory->lock);
    free_dead(dead);
    if (!found) {
        return smk_status_fail(error, SMK_ARGUMENT, "no allocation starts at address 0x%" PRIx64, address);
    }
    return SMK_OK;
}

static int compare_addresses(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void smk_memory_free_all(smk_memory *memory, uint64_t *addresses, size_t count)
{
    if (count == 0) {
        return;
    }
    smk_allocation_record *dead = NULL;
    qsort(addresses, count, sizeof *addresses, compare_addresses);
    smk_fork_lock_take(&memory->lock);
    size_t kept = lower_bound(memory, addresses[0]), next = 0;
    for (size_t i = kept; i < memory->count; i++) {
        smk_allocation_record *record = memory->record[i];
        while (next < count && addresses[next] < record->address) {
            next++;
        }
        if (next < count && addresses[next] == record->address) {
            drop(memory, record, &dead);
        } else {
            memory->record[kept++] = record;
        }
    }
    memory->count = kept;
    smk_fork_lock_give(&memory->lock);
    free_dead(dead);
}

/* The allocation that contains [address, address + bytes), with one more holder; NULL where there is none. */
static smk_allocation_record *hold(smk_memory *memory, uint64_t address, uint64_t bytes)
{
    smk_allocation_record *found = NULL;
    smk_fork_lock_take(&memory->lock);
    size_t at = lower_bound(memory, address);
    if (at == memory->count || memory->record[at]->address != address) {
        at--; /* wraps where there is nothing before */
    }
    if (at < memory->count) {
        smk_allocation_record *record = memory->record[at];
        uint64_t offset = address - record->address;
        if (offset <= record->bytes && bytes <= record->bytes - offset) {
            record->holders++;
            found = record;
        }
    }
    smk_fork_lock_give(&memory->lock);
    return found;
}

/* Under the lock, or where no other thread reads. Without memory for the bits the whole allocation counts as written:
 * a missed finding is better than a false one. */
static void note_written(smk_allocation_record *record, uint64_t offset, uint64_t bytes)
{
    if (record->initialized || bytes == 0) {
        return;
    }
    bytes = bytes < record->bytes - offset ? bytes : record->bytes - offset;
    if (offset <= record->first) { /* the usual order of copies in pieces */
        record->first = offset + bytes > record->first ? offset + bytes : record->first;
        record->initialized = record->first == record->bytes;
        return;
    }
    if (record->written == NULL) {
        record->written = smk_heap_allocate((size_t)(record->bytes / 8 + 1), 1);
        if (record->written == NULL) {
            record->initialized = true;
            return;
        }
    }
    for (uint64_t i = offset; i < offset + bytes; i++) {
        if (i % 8 == 0 && offset + bytes - i >= 8) {
            uint64_t whole = (offset + bytes - i) / 8;
            memset(record->written + i / 8, 0xFF, (size_t)whole);
            i += 8 * whole - 1;
        } else {
            record->written[i / 8] |= (unsigned char)(1U << i % 8);
        }
    }
}

bool smk_memory_view_is_initialized(const smk_allocation *allocation, uint64_t offset, uint64_t bytes)
{
    const smk_allocation_record *record = allocation->record;
    bytes = bytes < record->bytes - offset ? bytes : record->bytes - offset;
    if (record->initialized || (bytes <= record->first && offset <= record->first - bytes)) {
        return true;
    }
    if (record->written == NULL) {
        return false;
    }
    for (uint64_t i = offset; i < offset + bytes; i++) {
        if (i < record->first) {
            continue;
        }
        if ((record->written[i / 8] >> i % 8 & 1) == 0) {
            return false;
        }
    }
    return true;
}

void smk_memory_view_mark_initialized(smk_memory *memory, const smk_allocation *allocation, uint64_t offset,
                                      uint64_t bytes)
{
    smk_fork_lock_take(&memory->lock);
    note_written(allocation->record, offset, bytes);
    smk_fork_lock_give(&memory->lock);
}

void smk_memory_view_mark_all_initialized(smk_memory *memory, const smk_memory_view *view)
{
    smk_fork_lock_take(&memory->lock);
    for (size_t i = 0; i < view->count; i++) {
        view->allocation[i].record->initialized = true;
    }
    smk_fork_lock_give(&memory->lock);
}

static void release(smk_memory *memory, smk_allocation_record *record)
{
    smk_allocation_record *dead = NULL;
    smk_fork_lock_take(&memory->lock);
    drop(memory, record, &dead);
    smk_fork_lock_give(&memory->lock);
    free_dead(dead);
}

/* Prepares the pages of a range that is about to be overwritten. Pages with earlier writes stay: they need no fault. */
static void prepare_pages(smk_memory *memory, const smk_allocation_record *record, uint64_t offset, uint64_t bytes)
{
    if (!record->paged) {
        return;
    }
    smk_fork_lock_take(&memory->lock);
    const bool fresh = !record->initialized && offset >= record->first;
    smk_fork_lock_give(&memory->lock);
    if (fresh) {
        smk_pages_prepare(record->host + offset, (size_t)bytes);
    }
}

static smk_status report_outside(uint64_t address, uint64_t bytes, smk_error *error)
{
    return smk_status_fail(error, SMK_OUT_OF_BOUNDS,
                           "%" PRIu64 " bytes at 0x%" PRIx64 " are not inside one allocation of the simulator", bytes,
                           address);
}

smk_status smk_memory_host(smk_memory *memory, uint64_t address, uint64_t bytes, bool writeable, void **host,
                           smk_error *error)
{
    smk_allocation_record *record = hold(memory, address, bytes);
    if (record == NULL) {
        return report_outside(address, bytes, error);
    }
    *host = record->host + (address - record->address);
    if (writeable) {
        smk_fork_lock_take(&memory->lock);
        record->initialized = true;
        smk_fork_lock_give(&memory->lock);
    }
    release(memory, record);
    return SMK_OK;
}

static smk_status copy(smk_memory *memory, uint64_t address, const void *from, void *to, uint64_t bytes,
                       smk_error *error)
{
    if (bytes == 0) {
        return SMK_OK;
    }
    smk_allocation_record *record = hold(memory, address, bytes);
    if (record == NULL) {
        return report_outside(address, bytes, error);
    }
    unsigned char *device = record->host + (address - record->address);
    if (from != NULL) {
        prepare_pages(memory, record, address - record->address, bytes);
    }
    memcpy(from == NULL ? to : device, from == NULL ? device : from, (size_t)bytes);
    if (from != NULL) {
        smk_fork_lock_take(&memory->lock);
        note_written(record, address - record->address, bytes);
        smk_fork_lock_give(&memory->lock);
    }
    release(memory, record);
    return SMK_OK;
}

smk_status smk_memory_write(smk_memory *memory, uint64_t address, const void *host, uint64_t bytes, smk_error *error)
{
    return copy(memory, address, host, NULL, bytes, error);
}

smk_status smk_memory_read(smk_memory *memory, uint64_t address, void *host, uint64_t bytes, smk_error *error)
{
    return copy(memory, address, NULL, host, bytes, error);
}

/* The last allocation that starts at or before `address`; `count` where there is none. */
static size_t allocation_before(const smk_memory_view *view, uint64_t address)
{
    size_t low = 0, high = view->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (view->allocation[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? view->count : low - 1;
}

smk_status smk_memory_view_create(smk_memory *memory, const smk_launch *launch, smk_memory_view **view,
                                  smk_error *error)
{
    smk_memory_view *made = smk_heap_allocate(1, sizeof *made);
    smk_fork_lock_take(&memory->lock);
    if (made != NULL) {
        made->allocation = smk_heap_allocate(memory->count, sizeof *made->allocation);
    }
    bool done = made != NULL && made->allocation != NULL;
    if (done) {
        made->count = memory->count;
        made->launch = launch;
        for (size_t i = 0; i < memory->count; i++) {
            smk_allocation_record *from = memory->record[i];
            from->holders++;
            made->allocation[i] = (smk_allocation){from->address, from->bytes, from->host, from->constant, from};
        }
    }
    smk_fork_lock_give(&memory->lock);
    if (!done) {
        smk_heap_free(made);
        return smk_status_fail(error, SMK_MEMORY, "no memory for a launch's view of memory");
    }
    *view = made;
    return SMK_OK;
}

void smk_memory_view_free(smk_memory *memory, smk_memory_view *view)
{
    if (view == NULL) {
        return;
    }
    smk_allocation_record *dead = NULL;
    smk_fork_lock_take(&memory->lock);
    for (size_t i = 0; i < view->count; i++) {
        drop(memory, view->allocation[i].record, &dead);
    }
    smk_fork_lock_give(&memory->lock);
    free_dead(dead);
    smk_heap_free(view->allocation);
    smk_heap_free(view->own);
    smk_heap_free(view);
}

smk_status smk_memory_view_replace(smk_memory_view *view, uint64_t address, const void *bytes, uint64_t count,
                                   smk_error *error)
{
    const size_t at = allocation_before(view, address);
    smk_allocation *allocation = at == view->count ? NULL : &view->allocation[at];
    if (allocation == NULL || allocation->address != address || !allocation->constant || allocation->bytes < count ||
        view->own != NULL) {
        return smk_status_fail(error, SMK_INTERNAL,
                               "no constant variable of %" PRIu64 " bytes or more begins at 0x%" PRIx64, count,
                               address);
    }
    view->own = smk_heap_allocate((size_t)allocation->bytes, 1);
    if (view->own == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for a launch's constants");
    }
    memcpy(view->own, allocation->host, (size_t)allocation->bytes);
    memcpy(view->own, bytes, (size_t)count);
    allocation->host = view->own;
    return SMK_OK;
}

const smk_allocation *smk_memory_view_find(const smk_memory_view *view, uint64_t address)
{
    size_t at = allocation_before(view, address);
    if (at == view->count || address - view->allocation[at].address >= view->allocation[at].bytes) {
        return NULL;
    }
    return &view->allocation[at];
}

/* Names an allocation. Returns the array of the launch that it is, or NULL. */
static const smk_launch_array *name_allocation(const smk_memory_view *view, const smk_allocation *allocation,
                                               char *text, size_t size)
{
    const smk_launch_array *array = smk_array_name_write(view->launch, allocation->address, text, size);
    if (array != NULL) {
        return array;
    }
    if (smk_array_name_write_workspace(view->launch, allocation->address, text, size)) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, size - used, " (%" PRIu64 " bytes)", allocation->bytes);
    } else if (allocation->record->name[0] != '\0') {
        (void)snprintf(text, size, "the variable %s (%" PRIu64 " bytes at 0x%" PRIx64 ")", allocation->record->name,
                       allocation->bytes, allocation->address);
    } else {
        (void)snprintf(text, size, "the allocation of %" PRIu64 " bytes at 0x%" PRIx64, allocation->bytes,
                       allocation->address);
    }
    return NULL;
}

/* Names an allocation and the element that an address outside of it would be. */
static void name_outside(const smk_memory_view *view, const smk_allocation *allocation, uint64_t address, char *text,
                         size_t size)
{
    char element[ELEMENT_BYTES];
    const smk_launch_array *array = name_allocation(view, allocation, text, size);
    if (array != NULL) {
        const size_t used = strlen(text);
        smk_array_name_write_element(array, (int64_t)(address - allocation->address), element, sizeof element);
        (void)snprintf(text + used, size - used, ", where %s would be", element);
    }
}

void smk_memory_view_name(const smk_memory_view *view, uint64_t address, char *text, size_t size)
{
    const smk_allocation *allocation = smk_memory_view_find(view, address);
    const smk_launch_array *array = NULL;
    text[0] = '\0';
    if (allocation != NULL) {
        array = smk_array_name_write(view->launch, allocation->address, text, size);
    }
    if (array != NULL) {
        char element[ELEMENT_BYTES];
        const size_t used = strlen(text);
        smk_array_name_write_element(array, (int64_t)(address - allocation->address), element, sizeof element);
        (void)snprintf(text + used, size - used, ", %s", element);
    } else if (allocation != NULL && smk_array_name_write_workspace(view->launch, allocation->address, text, size)) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, size - used, ", byte %" PRIu64, address - allocation->address);
    } else if (allocation != NULL && allocation->record->name[0] != '\0') {
        (void)snprintf(text, size, "%s, byte %" PRIu64, allocation->record->name, address - allocation->address);
    } else if (allocation != NULL) {
        (void)snprintf(text, size, "allocation of %" PRIu64 " bytes, byte %" PRIu64, allocation->bytes,
                       address - allocation->address);
    }
}

void smk_memory_view_describe(const smk_memory_view *view, uint64_t address, uint64_t bytes, char *text, size_t size)
{
    char name[NAME_BYTES];
    size_t before = allocation_before(view, address);
    size_t after = before == view->count ? 0 : before + 1;
    uint64_t to_after = after < view->count ? view->allocation[after].address - address : UINT64_MAX;
    uint64_t past = UINT64_MAX;
    if (before < view->count) {
        uint64_t offset = address - view->allocation[before].address;
        past = offset > view->allocation[before].bytes ? offset - view->allocation[before].bytes : 0;
        if (past == 0 && offset < view->allocation[before].bytes) {
            const uint64_t inside = view->allocation[before].bytes - offset;
            (void)name_allocation(view, &view->allocation[before], name, sizeof name);
            if (bytes <= inside) {
                (void)snprintf(text, size, "kernels may only read %s", name);
            } else {
                (void)snprintf(text, size, "%" PRIu64 " of its bytes lie past the end of %s", bytes - inside, name);
            }
            return;
        }
    }
    if (address == 0 || 0 - address <= NULL_BYTES) { /* an index may be negative */
        (void)snprintf(text, size, "a null pointer was dereferenced");
    } else if (address < NULL_BYTES) {
        (void)snprintf(text, size, "it is near 0: a null pointer at an index, or a number that is no pointer");
    } else if (past == UINT64_MAX && to_after == UINT64_MAX) {
        (void)snprintf(text, size, "there is no allocation at all");
    } else if (past > NEAR_BYTES && to_after > NEAR_BYTES) {
        (void)snprintf(text, size, "no allocation is near");
    } else if (past <= to_after) {
        name_outside(view, &view->allocation[before], address, name, sizeof name);
        (void)snprintf(text, size, "it begins %" PRIu64 " bytes past the end of %s", past, name);
    } else {
        name_outside(view, &view->allocation[after], address, name, sizeof name);
        (void)snprintf(text, size, "it begins %" PRIu64 " bytes before %s", to_after, name);
    }
}
