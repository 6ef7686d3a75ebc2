/* The simulator's device memory: allocations with addresses of their own, never host pointers.
 *
 * Addresses are like a GPU's: aligned to 256 bytes, with a guard between two allocations, so that an access that
 * leaves its allocation is detected. Thread-safe.
 */
#ifndef SMK_SIM_CODE_MEMORY_H
#define SMK_SIM_CODE_MEMORY_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct smk_memory smk_memory;

/* The limit of all allocations together: three quarters of the memory that the process may use. Beyond it the system
 * would kill the process instead of failing an allocation. */
uint64_t smk_memory_limit(void);

/* The bytes of all allocations, without adopted memory. */
uint64_t smk_memory_used(smk_memory *memory);

smk_status smk_memory_create(smk_memory **memory, smk_error *error);

/* Accepts NULL. Frees all allocations; no launch may be running. */
void smk_memory_destroy(smk_memory *memory);

/* A new allocation; its content is unspecified (0xA5 in every byte). `bytes` 0 gives a unique address that may not
 * be accessed. Errors: MEMORY. */
smk_status smk_memory_allocate(smk_memory *memory, uint64_t bytes, uint64_t *address, smk_error *error);

/* A new allocation at the address of one that was freed. Errors: MEMORY, also where that address is in use again. */
smk_status smk_memory_allocate_again(smk_memory *memory, uint64_t address, uint64_t bytes, smk_error *error);

/* Address 0 is accepted. A launch that still runs keeps the bytes alive until it ends.
 * Errors: ARGUMENT where no allocation starts there. */
smk_status smk_memory_free(smk_memory *memory, uint64_t address, smk_error *error);

/* The same for many addresses at once, in time proportional to their number. Sorts `addresses`; skips those where no
 * allocation starts. */
void smk_memory_free_all(smk_memory *memory, uint64_t *addresses, size_t count);

/* Host to device, device to host. Errors: OUT_OF_BOUNDS. */
smk_status smk_memory_write(smk_memory *memory, uint64_t address, const void *host, uint64_t bytes, smk_error *error);
smk_status smk_memory_read(smk_memory *memory, uint64_t address, void *host, uint64_t bytes, smk_error *error);

/* Where the host finds these bytes of an allocation, for as long as the allocation lives. Where the caller may write
 * there, all of the allocation counts as written. Errors: OUT_OF_BOUNDS. */
smk_status smk_memory_host(smk_memory *memory, uint64_t address, uint64_t bytes, bool writeable, void **host,
                           smk_error *error);

/* Makes memory of the host an allocation, without a copy. The host memory must stay until the allocation is freed and
 * launches that began before have ended. Errors: MEMORY. */
smk_status smk_memory_adopt(smk_memory *memory, void *host, uint64_t bytes, uint64_t *address, smk_error *error);

/* A new allocation of zeros that the host finds at the same address, as managed and pinned memory is found. It counts as
 * written. Errors: MEMORY. */
smk_status smk_memory_allocate_shared(smk_memory *memory, uint64_t bytes, uint64_t *address, smk_error *error);

/* The allocation that holds an address: where it begins, its size, and whether the host finds it at the same address.
 * False where there is none. */
bool smk_memory_find(smk_memory *memory, uint64_t address, uint64_t *start, uint64_t *bytes, bool *shared);

/* Sets the least number of free bytes behind later allocations of this host thread. */
void smk_memory_pad(uint64_t bytes);

#endif
