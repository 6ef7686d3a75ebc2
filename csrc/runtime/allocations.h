/* What the runtime knows of allocations beyond the simulator: managed, pinned and registered memory of the host. */
#ifndef SMK_RUNTIME_ALLOCATIONS_H
#define SMK_RUNTIME_ALLOCATIONS_H

#include "runtime/abi.h"

#include <stdbool.h>

typedef enum smk_allocation_use {
    SMK_ALLOCATION_MANAGED,
    SMK_ALLOCATION_PINNED,
    SMK_ALLOCATION_REGISTERED
} smk_allocation_use;

/* Allocates device memory; address NULL for 0 bytes. */
smk_cuda smk_allocations_create(size_t bytes, void **address);

/* Allocates memory that the host and kernels reach. */
smk_cuda smk_allocations_create_shared(size_t bytes, smk_allocation_use use, unsigned flags, void **address);

/* Allocates memory anew at the address at which it was freed; nothing happens where it was not. */
smk_cuda smk_allocations_renew(void *address, size_t bytes);

/* Frees any allocation of the program. */
smk_cuda smk_allocations_free(void *address);

/* The managed memory that holds an address; false where there is none. */
bool smk_allocations_find_managed(const void *address, uint64_t *start, size_t *bytes);

/* The bytes in use on the device. */
size_t smk_allocations_used(void);

#endif
