/* For mmap and MAP_FIXED_NOREPLACE under -std=c11. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "sim/code/memory.h"

#include "base/heap.h"
#include "base/pages.h"
#include "base/quota.h"
#include "base/source_name.h"
#include "sim/code/memory_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Shared memory lies where neither other mappings of the process nor the windows of image.h are. */
#define FIRST_ADDRESS UINT64_C(0x0000000700000000)
#define LAST_ADDRESS UINT64_C(0x0000700000000000)
#define LAST_SHARED UINT64_C(0x0000710000000000)
#define PADDING_MAX (UINT64_C(1) << 40)

#if !defined(MAP_FIXED_NOREPLACE)
#define MAP_FIXED_NOREPLACE 0 /* the address is then a hint, and what lies elsewhere is given back */
#endif

enum { ALIGNMENT = 256, PAGE_BYTES = 65536, GUARD_BYTES = 4096, GUARD_SHARE = 16, FRESH_BYTE = SMK_PAGES_FILL };
enum { BARE_BYTES_MIN = 1 << 15 /* below it a fill at once is as fast */ };
enum { TABLE_FIRST = 64 };

uint64_t smk_memory_limit(void)
{
    const uint64_t present = smk_quota_memory();
    return present == 0 ? UINT64_C(8) << 30 : present / 4 * 3;
}

static smk_memory_table *create_table(size_t capacity)
{
    smk_memory_table *table = smk_heap_allocate(sizeof *table + capacity * sizeof table->allocation[0], 1);
    if (table != NULL) {
        table->capacity = capacity;
        table->holders = 1;
    }
    return table;
}

void smk_memory_release_table(smk_memory_table *table)
{
    if (--table->holders == 0) {
        smk_heap_free(table);
    }
}

smk_status smk_memory_create(smk_memory **memory, smk_error *error)
{
    smk_memory *made = smk_heap_allocate(1, sizeof *made);
    smk_memory_table *table = create_table(TABLE_FIRST);
    if (made == NULL || table == NULL || !smk_fork_lock_create(&made->lock)) {
        smk_heap_free(table);
        smk_heap_free(made);
        return smk_status_fail(error, SMK_MEMORY, "no memory for the simulator's device memory");
    }
    made->table = table;
    made->device = (smk_memory_range){FIRST_ADDRESS, LAST_ADDRESS, FIRST_ADDRESS, ALIGNMENT};
    made->shared = (smk_memory_range){LAST_ADDRESS, LAST_SHARED, LAST_ADDRESS, PAGE_BYTES};
    made->limit = smk_memory_limit();
    made->generation = smk_fork_generation();
    atomic_init(&made->initialized, 0);
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

/* Adopted memory is in use already, and of sparse memory nearly nothing is. */
static uint64_t count_used(const smk_allocation_record *record)
{
    return record->adopted || record->sparse ? 0 : record->bytes;
}

static void free_host(const smk_allocation_record *record)
{
    if (record->adopted || record->host == NULL) {
        return;
    }
    if (record->shared) {
        (void)munmap(record->host, (size_t)record->bytes + 1);
    } else if (record->paged) {
        smk_pages_free(record->host, (size_t)record->bytes);
    } else {
        smk_heap_free(record->host);
    }
}

void smk_memory_free_dead(smk_allocation_record *dead)
{
    while (dead != NULL) {
        smk_allocation_record *next = dead->next;
        free_host(dead);
        smk_heap_free(dead->written);
        smk_heap_free(dead);
        dead = next;
    }
}

/* Readers ----------------------------------------------------------------------------------------------- */

/* Under the lock: in a fork the readers of before are gone, with the stacks that they lay on. That of the thread that
 * forked uses no allocation any more: its launch ends. */
static void forget_lost_readers(smk_memory *memory)
{
    const unsigned generation = smk_fork_generation();
    if (memory->generation != generation) {
        memory->generation = generation;
        memory->oldest = memory->newest = NULL;
    }
}

void smk_memory_begin_reading(smk_memory *memory, smk_memory_reader *reader)
{
    forget_lost_readers(memory);
    *reader =
        (smk_memory_reader){.number = ++memory->readers, .generation = memory->generation, .older = memory->newest};
    if (memory->newest == NULL) {
        memory->oldest = reader;
    } else {
        memory->newest->newer = reader;
    }
    memory->newest = reader;
}

void smk_memory_end_reading(smk_memory *memory, smk_memory_reader *reader, smk_allocation_record **dead)
{
    forget_lost_readers(memory);
    if (reader->generation == memory->generation) {
        *(reader->older == NULL ? &memory->oldest : &reader->older->newer) = reader->newer;
        *(reader->newer == NULL ? &memory->newest : &reader->newer->older) = reader->older;
    }
    while (memory->freed != NULL && (memory->oldest == NULL || memory->freed->freed_at < memory->oldest->number)) {
        smk_allocation_record *record = memory->freed;
        memory->freed = record->next;
        memory->used -= count_used(record);
        record->next = *dead;
        *dead = record;
    }
}

/* Memory that is not filled yet ------------------------------------------------------------------------- */

/* Under the lock. The fill of an allocation that is written whole first, as most are, is saved. */
static void add_bare(smk_memory *memory, smk_allocation_record *record)
{
    record->bare_next = memory->bare;
    if (memory->bare != NULL) {
        memory->bare->bare_before = record;
    }
    memory->bare = record;
}

/* Under the lock: takes a record out of the list; `fill`: fills it. */
static void end_bare(smk_memory *memory, smk_allocation_record *record, bool fill)
{
    if (!record->bare) {
        return;
    }
    *(record->bare_before == NULL ? &memory->bare : &record->bare_before->bare_next) = record->bare_next;
    if (record->bare_next != NULL) {
        record->bare_next->bare_before = record->bare_before;
    }
    record->bare = false;
    if (fill) {
        memset(record->host, FRESH_BYTE, (size_t)record->bytes);
    }
}

void smk_memory_fill_all(smk_memory *memory)
{
    while (memory->bare != NULL) {
        end_bare(memory, memory->bare, true);
    }
}

/* Under the lock: a record that is in the table no more goes to `dead`, or waits for the readers there are. Freeing a
 * large one takes long, so that happens without the lock. */
static void retire(smk_memory *memory, smk_allocation_record *record, smk_allocation_record **dead)
{
    forget_lost_readers(memory);
    end_bare(memory, record, false);
    if (memory->oldest == NULL) {
        memory->used -= count_used(record);
        record->next = *dead;
        *dead = record;
        return;
    }
    record->freed_at = memory->readers;
    record->next = NULL;
    *(memory->freed == NULL ? &memory->freed : &memory->last_freed->next) = record;
    memory->last_freed = record;
}

void smk_memory_destroy(smk_memory *memory)
{
    if (memory == NULL) {
        return;
    }
    smk_allocation_record *dead = memory->freed;
    for (size_t i = 0; i < memory->table->count; i++) {
        memory->table->allocation[i].record->next = dead;
        dead = memory->table->allocation[i].record;
    }
    smk_memory_free_dead(dead);
    smk_memory_release_table(memory->table);
    smk_fork_lock_destroy(&memory->lock);
    smk_heap_free(memory);
}

/* The table ---------------------------------------------------------------------------------------------- */

static _Thread_local uint64_t padding;

void smk_memory_pad(uint64_t bytes)
{
    padding = bytes < PADDING_MAX ? bytes : PADDING_MAX;
}

static uint64_t room_of(uint64_t bytes, uint64_t unit)
{
    uint64_t guard = GUARD_BYTES + bytes / GUARD_SHARE;
    uint64_t room = bytes + (guard > padding ? guard : padding);
    return (room + unit - 1) / unit * unit;
}

/* Index of the first allocation at or behind `address`. */
static size_t lower_bound(const smk_memory_table *table, uint64_t address)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->allocation[middle].address < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Room for `bytes` and its guard at or behind `from`; 0 where there is none. */
static uint64_t find_room(const smk_memory_table *table, const smk_memory_range *range, uint64_t from, uint64_t bytes)
{
    uint64_t room = room_of(bytes, range->unit);
    for (size_t i = lower_bound(table, from); i < table->count; i++) {
        const smk_allocation *next = &table->allocation[i];
        if (next->address >= from + room || next->address >= range->last) {
            break;
        }
        from = next->address + next->record->room;
    }
    return from <= range->last && range->last - from >= room ? from : 0;
}

/* Under the lock: a table that the caller may change, with room for one more allocation. */
static smk_memory_table *get_table(smk_memory *memory)
{
    smk_memory_table *table = memory->table;
    if (table->holders == 1 && table->count < table->capacity) {
        return table;
    }
    smk_memory_table *made = create_table(table->count < table->capacity ? table->capacity : 2 * table->capacity);
    if (made != NULL) {
        made->count = table->count;
        memcpy(made->allocation, table->allocation, table->count * sizeof table->allocation[0]);
        smk_memory_release_table(table);
        memory->table = made;
    }
    return made;
}

/* Under the lock: maps memory of zeros at the address of a record. */
static bool map_shared(smk_allocation_record *record)
{
    void *wanted = (void *)(uintptr_t)record->address; // NOLINT(performance-no-int-to-ptr)
    void *host = mmap(wanted, (size_t)record->bytes + 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (host == MAP_FAILED) {
        return false;
    }
    if (host != wanted) {
        (void)munmap(host, (size_t)record->bytes + 1);
        return false;
    }
    record->host = host;
    return true;
}

/* Under the lock. A record with an address gets that one or none. */
static bool insert(smk_memory *memory, smk_allocation_record *record, bool constant)
{
    smk_memory_table *table = get_table(memory);
    smk_memory_range *range = record->shared ? &memory->shared : &memory->device;
    const uint64_t used = count_used(record);
    if (table == NULL || used > memory->limit - memory->used) {
        return false;
    }
    uint64_t address = find_room(table, range, record->address != 0 ? record->address : range->next, record->bytes);
    if (address == 0 && record->address == 0) {
        address = find_room(table, range, range->first, record->bytes);
    }
    if (record->address != 0 && address != record->address) {
        return false;
    }
    record->address = address;
    if (address == 0 || (record->shared && !map_shared(record))) {
        return false;
    }
    size_t at = lower_bound(table, address);
    memmove(&table->allocation[at + 1], &table->allocation[at], (table->count - at) * sizeof table->allocation[0]);
    table->allocation[at] = (smk_allocation){address, record->bytes, record->host, constant, record};
    table->count++;
    memory->used += used;
    record->serial = ++memory->allocations;
    record->memory = memory;
    record->room = room_of(record->bytes, range->unit);
    range->next = address + record->room;
    if (record->bare) {
        add_bare(memory, record);
    }
    return true;
}

/* Fills allocations of the host with a fixed byte, at once or later, and variables with zeros. NULL `host`: there is no
 * memory. */
static void allocate_host(smk_allocation_record *made, bool variable)
{
    made->paged = made->bytes >= SMK_PAGES_BYTES_MIN;
    made->bare = !variable && !made->paged && made->bytes >= BARE_BYTES_MIN;
    if (made->bare) {
        made->host = smk_heap_allocate_bare((size_t)made->bytes, 1);
        return;
    }
    if (made->paged) {
        made->host = variable ? smk_pages_allocate_zeros((size_t)made->bytes) : smk_pages_allocate((size_t)made->bytes);
        return;
    }
    made->host = smk_heap_allocate_filled((size_t)made->bytes, 1, variable ? 0 : (unsigned char)FRESH_BYTE);
}

static smk_status fail_allocation(const smk_memory *memory, uint64_t bytes, smk_error *error)
{
    return smk_status_fail(error, SMK_MEMORY,
                           "the simulator has no memory for %" PRIu64 " bytes (%" PRIu64 " of %" PRIu64
                           " bytes in use)",
                           bytes, memory->used, memory->limit);
}

/* `*address` is 0, or the one that the allocation must get. What the host allocates has no name. */
static smk_status allocate(smk_memory *memory, const smk_memory_variable *wanted, uint64_t *address, smk_error *error)
{
    const smk_text name = wanted->name;
    const uint64_t bytes = wanted->bytes;
    smk_allocation_record *made = NULL;
    if (bytes <= memory->limit || wanted->sparse) { /* the host could promise more memory than it has */
        made = smk_heap_allocate(1, sizeof *made);
    }
    if (made == NULL) {
        return fail_allocation(memory, bytes, error);
    }
    made->address = *address;
    made->bytes = bytes;
    made->shared = wanted->managed;
    made->sparse = wanted->sparse && bytes >= SMK_PAGES_BYTES_MIN;
    made->initialized = wanted->managed || name.length > 0; /* they begin as zeros */
    if (name.length > 0) {
        smk_source_name_write(name, made->name, sizeof made->name);
    }
    if (!wanted->managed) {
        allocate_host(made, name.length > 0);
    }
    bool done = false;
    if (made->host != NULL || wanted->managed) {
        smk_fork_lock_take(&memory->lock);
        done = insert(memory, made, wanted->constant);
        smk_fork_lock_give(&memory->lock);
    }
    if (!done) {
        free_host(made);
        smk_heap_free(made);
        return fail_allocation(memory, bytes, error);
    }
    *address = made->address;
    return SMK_OK;
}

smk_status smk_memory_allocate(smk_memory *memory, uint64_t bytes, uint64_t *address, smk_error *error)
{
    uint64_t made = 0;
    smk_status status = allocate(memory, &(smk_memory_variable){.bytes = bytes}, &made, error);
    *address = status == SMK_OK ? made : *address;
    return status;
}

smk_status smk_memory_allocate_again(smk_memory *memory, uint64_t address, uint64_t bytes, smk_error *error)
{
    return allocate(memory, &(smk_memory_variable){.bytes = bytes}, &address, error);
}

smk_status smk_memory_allocate_shared(smk_memory *memory, uint64_t bytes, uint64_t *address, smk_error *error)
{
    uint64_t made = 0;
    smk_status status = allocate(memory, &(smk_memory_variable){.bytes = bytes, .managed = true}, &made, error);
    *address = status == SMK_OK ? made : *address;
    return status;
}

smk_status smk_memory_allocate_variable(smk_memory *memory, const smk_memory_variable *variable, uint64_t *address,
                                        smk_error *error)
{
    uint64_t made = 0;
    smk_status status = allocate(memory, variable, &made, error);
    *address = status == SMK_OK ? made : *address;
    return status;
}

smk_status smk_memory_adopt(smk_memory *memory, void *host, uint64_t bytes, uint64_t *address, smk_error *error)
{
    smk_allocation_record *made = smk_heap_allocate(1, sizeof *made);
    bool done = false;
    if (made != NULL) {
        *made = (smk_allocation_record){.bytes = bytes, .host = host, .adopted = true, .initialized = true};
        smk_fork_lock_take(&memory->lock);
        done = insert(memory, made, false);
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
    smk_allocation_record *dead = NULL;
    smk_status status = SMK_OK;
    if (address == 0) {
        return SMK_OK;
    }
    smk_fork_lock_take(&memory->lock);
    size_t at = lower_bound(memory->table, address);
    if (at == memory->table->count || memory->table->allocation[at].address != address) {
        status = smk_status_fail(error, SMK_ARGUMENT, "no allocation starts at address 0x%" PRIx64, address);
    } else {
        smk_memory_table *table = get_table(memory);
        if (table == NULL) {
            status = smk_status_fail(error, SMK_MEMORY, "no memory for the table of the simulator's allocations");
        } else {
            smk_allocation *allocation = &table->allocation[at];
            retire(memory, allocation->record, &dead);
            memmove(allocation, allocation + 1, (--table->count - at) * sizeof *allocation);
        }
    }
    smk_fork_lock_give(&memory->lock);
    smk_memory_free_dead(dead);
    return status;
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
    smk_memory_table *table = get_table(memory);
    size_t kept = table == NULL ? 0 : lower_bound(table, addresses[0]), next = 0;
    for (size_t i = kept; table != NULL && i < table->count; i++) {
        const smk_allocation allocation = table->allocation[i];
        while (next < count && addresses[next] < allocation.address) {
            next++;
        }
        if (next < count && addresses[next] == allocation.address) {
            retire(memory, allocation.record, &dead);
        } else {
            table->allocation[kept++] = allocation;
        }
    }
    if (table != NULL) {
        table->count = kept;
    }
    smk_fork_lock_give(&memory->lock);
    smk_memory_free_dead(dead);
}

/* Copies -------------------------------------------------------------------------------------------------- */

/* Under the lock: the allocation that contains [address, address + bytes); NULL where there is none. */
static smk_allocation_record *find(const smk_memory *memory, uint64_t address, uint64_t bytes)
{
    const smk_memory_table *table = memory->table;
    size_t at = lower_bound(table, address);
    if (at == table->count || table->allocation[at].address != address) {
        at--; /* wraps where there is nothing before */
    }
    if (at >= table->count) {
        return NULL;
    }
    const smk_allocation *found = &table->allocation[at];
    const uint64_t offset = address - found->address;
    return offset <= found->bytes && bytes <= found->bytes - offset ? found->record : NULL;
}

bool smk_memory_find(smk_memory *memory, uint64_t address, uint64_t *start, uint64_t *bytes, bool *shared)
{
    smk_fork_lock_take(&memory->lock);
    const smk_allocation_record *record = find(memory, address, 0);
    if (record != NULL) {
        *start = record->address;
        *bytes = record->bytes;
        *shared = record->shared;
    }
    smk_fork_lock_give(&memory->lock);
    return record != NULL;
}

void smk_memory_note_written(smk_allocation_record *record, uint64_t offset, uint64_t bytes)
{
    if (smk_memory_is_written(record) || bytes == 0) {
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

/* Prepares the pages of a range that is about to be overwritten. Pages with earlier writes stay: they need no fault. */
static void prepare_pages(smk_memory *memory, const smk_allocation_record *record, uint64_t offset, uint64_t bytes)
{
    if (!record->paged) {
        return;
    }
    smk_fork_lock_take(&memory->lock);
    const bool fresh = !smk_memory_is_written(record) && offset >= record->first;
    smk_fork_lock_give(&memory->lock);
    if (fresh) {
        smk_pages_prepare(record->host + offset, (size_t)bytes);
    }
}

/* Under the lock, before the host fills a record: sparse memory is so no more. False where there is not enough memory. */
static bool count_sparse(smk_memory *memory, smk_allocation_record *record)
{
    if (record->sparse && record->bytes > memory->limit - memory->used) {
        return false;
    }
    memory->used += record->sparse ? record->bytes : 0;
    if (record->sparse) {
        smk_pages_use_huge(record->host, (size_t)record->bytes);
    }
    record->sparse = false;
    return true;
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
    smk_fork_lock_take(&memory->lock);
    smk_allocation_record *record = find(memory, address, bytes);
    if (record != NULL) {
        end_bare(memory, record, true);
        *host = record->host + (address - record->address);
        record->initialized = record->initialized || writeable;
    }
    smk_fork_lock_give(&memory->lock);
    return record != NULL ? SMK_OK : report_outside(address, bytes, error);
}

static smk_status copy(smk_memory *memory, uint64_t address, const void *from, void *to, uint64_t bytes,
                       smk_error *error)
{
    smk_memory_reader reader;
    smk_allocation_record *dead = NULL;
    if (bytes == 0) {
        return SMK_OK;
    }
    smk_fork_lock_take(&memory->lock);
    smk_allocation_record *record = find(memory, address, bytes);
    if (record != NULL && from != NULL && !count_sparse(memory, record)) {
        const uint64_t wanted = record->bytes;
        smk_fork_lock_give(&memory->lock);
        return fail_allocation(memory, wanted, error);
    }
    if (record != NULL) {
        end_bare(memory, record, from == NULL || bytes < record->bytes);
        smk_memory_begin_reading(memory, &reader);
    }
    smk_fork_lock_give(&memory->lock);
    if (record == NULL) {
        return report_outside(address, bytes, error);
    }
    unsigned char *device = record->host + (address - record->address);
    if (from != NULL) {
        prepare_pages(memory, record, address - record->address, bytes);
    }
    memmove(from == NULL ? to : device, from == NULL ? device : from, (size_t)bytes);
    smk_fork_lock_take(&memory->lock);
    if (from != NULL) {
        smk_memory_note_written(record, address - record->address, bytes);
    }
    smk_memory_end_reading(memory, &reader, &dead);
    smk_fork_lock_give(&memory->lock);
    smk_memory_free_dead(dead);
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
