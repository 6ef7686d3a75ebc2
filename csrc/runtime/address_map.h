/* A hash table of addresses of the program: its functions and variables. Linear probing. */
#ifndef SMK_RUNTIME_ADDRESS_MAP_H
#define SMK_RUNTIME_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct smk_address_map_entry {
    const void *address; /* NULL: free */
    void *value;
} smk_address_map_entry;

typedef struct smk_address_map {
    smk_address_map_entry *entry;
    size_t count, capacity; /* a power of two, or 0 */
} smk_address_map;

/* Replaces the value of an address that is there already. False where there is no memory. */
bool smk_address_map_set(smk_address_map *map, const void *address, void *value);

/* NULL where there is none. */
void *smk_address_map_get(const smk_address_map *map, const void *address);

/* Takes an address out; NULL where there is none, else its value. */
void *smk_address_map_remove(smk_address_map *map, const void *address);

#endif
