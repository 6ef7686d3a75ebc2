#include "sim/code/memory_view.h"

#include "base/heap.h"
#include "sim/code/array_name.h"
#include "sim/code/memory_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Addresses below NULL_BYTES come from null pointers; at distances above NEAR_BYTES a message names no allocation. */
#define NULL_BYTES UINT64_C(0x10000000)
#define NEAR_BYTES (UINT64_C(1) << 32)

enum { NAME_BYTES = 320, ELEMENT_BYTES = 192 }; /* texts of messages */

smk_status smk_memory_view_create(smk_memory *memory, const smk_launch *launch, smk_memory_view **view,
                                  smk_error *error)
{
    smk_memory_view *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for a launch's view of memory");
    }
    made->launch = launch;
    smk_fork_lock_take(&memory->lock);
    smk_memory_fill_all(memory);
    made->table = memory->table;
    made->table->holders++;
    made->allocations = memory->allocations;
    smk_memory_begin_reading(memory, &made->reader);
    smk_fork_lock_give(&memory->lock);
    made->count = made->table->count;
    made->allocation = made->table->allocation;
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
    smk_memory_end_reading(memory, &view->reader, &dead);
    smk_memory_release_table(view->table);
    smk_fork_lock_give(&memory->lock);
    smk_memory_free_dead(dead);
    smk_heap_free(view->replaced.host);
    smk_heap_free(view);
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

smk_status smk_memory_view_replace(smk_memory_view *view, uint64_t address, const void *bytes, uint64_t count,
                                   smk_error *error)
{
    const size_t at = allocation_before(view, address);
    const smk_allocation *allocation = at == view->count ? NULL : &view->allocation[at];
    if (allocation == NULL || allocation->address != address || !allocation->constant || allocation->bytes < count ||
        view->replaced.host != NULL) {
        return smk_status_fail(error, SMK_INTERNAL,
                               "no constant variable of %" PRIu64 " bytes or more begins at 0x%" PRIx64, count,
                               address);
    }
    view->replaced = *allocation;
    view->replaced.host = smk_heap_allocate((size_t)allocation->bytes, 1);
    if (view->replaced.host == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for a launch's constants");
    }
    memcpy(view->replaced.host, allocation->host, (size_t)allocation->bytes);
    memcpy(view->replaced.host, bytes, (size_t)count);
    return SMK_OK;
}

const smk_allocation *smk_memory_view_find(const smk_memory_view *view, uint64_t address)
{
    size_t at = allocation_before(view, address);
    if (at == view->count || address - view->allocation[at].address >= view->allocation[at].bytes) {
        return NULL;
    }
    const bool replaced = view->replaced.host != NULL && view->allocation[at].address == view->replaced.address;
    return replaced ? &view->replaced : &view->allocation[at];
}

bool smk_memory_view_is_initialized(const smk_allocation *allocation, uint64_t offset, uint64_t bytes)
{
    const smk_allocation_record *record = allocation->record;
    bytes = bytes < record->bytes - offset ? bytes : record->bytes - offset;
    if (smk_memory_is_written(record) || (bytes <= record->first && offset <= record->first - bytes)) {
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
    smk_memory_note_written(allocation->record, offset, bytes);
    smk_fork_lock_give(&memory->lock);
}

void smk_memory_view_mark_all_initialized(smk_memory *memory, const smk_memory_view *view)
{
    smk_fork_lock_take(&memory->lock);
    if (atomic_load(&memory->initialized) < view->allocations) {
        atomic_store(&memory->initialized, view->allocations);
    }
    smk_fork_lock_give(&memory->lock);
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
