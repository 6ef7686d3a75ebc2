#include "runtime/address_map.h"

#include "base/heap.h"

#include <stdint.h>

enum { CAPACITY_FIRST = 64 };

static size_t slot_of(const void *address, size_t capacity)
{
    const uint64_t number = (uint64_t)(uintptr_t)address;
    return (size_t)((number >> 4 ^ number >> 20) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (capacity - 1);
}

/* The entry of the address, or the free one where it would be. */
static smk_address_map_entry *find(const smk_address_map *map, const void *address)
{
    size_t at = slot_of(address, map->capacity);
    while (map->entry[at].address != NULL && map->entry[at].address != address) {
        at = (at + 1) & (map->capacity - 1);
    }
    return &map->entry[at];
}

static bool grow(smk_address_map *map)
{
    smk_address_map grown = {.capacity = map->capacity == 0 ? CAPACITY_FIRST : 2 * map->capacity};
    grown.entry = smk_heap_allocate(grown.capacity, sizeof *grown.entry);
    if (grown.entry == NULL) {
        return false;
    }
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entry[i].address != NULL) {
            *find(&grown, map->entry[i].address) = map->entry[i];
            grown.count++;
        }
    }
    smk_heap_free(map->entry);
    *map = grown;
    return true;
}

bool smk_address_map_set(smk_address_map *map, const void *address, void *value)
{
    if (2 * (map->count + 1) > map->capacity && !grow(map)) {
        return false;
    }
    smk_address_map_entry *entry = find(map, address);
    map->count += entry->address == NULL ? 1 : 0;
    *entry = (smk_address_map_entry){address, value};
    return true;
}

void *smk_address_map_get(const smk_address_map *map, const void *address)
{
    return map->capacity == 0 || address == NULL ? NULL : find(map, address)->value;
}

void *smk_address_map_remove(smk_address_map *map, const void *address)
{
    if (map->capacity == 0 || address == NULL) {
        return NULL;
    }
    smk_address_map_entry *entry = find(map, address);
    void *value = entry->value;
    if (entry->address == NULL) {
        return NULL;
    }
    *entry = (smk_address_map_entry){NULL, NULL};
    map->count--;
    size_t at = (size_t)(entry - map->entry);
    for (;;) { /* entries behind it that were pushed there by it move up */
        at = (at + 1) & (map->capacity - 1);
        if (map->entry[at].address == NULL) {
            return value;
        }
        const smk_address_map_entry moved = map->entry[at];
        map->entry[at] = (smk_address_map_entry){NULL, NULL};
        *find(map, moved.address) = moved;
    }
}
