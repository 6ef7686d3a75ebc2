/* The simulator's device memory: allocations with addresses of their own, never host pointers.
 *
 * Addresses look like a GPU's: 256-byte aligned, far apart (a guard lies between two allocations), so
 * an access that leaves its allocation is caught. Thread-safe.
 */
#ifndef SMK_SIM_CODE_MEMORY_H
#define SMK_SIM_CODE_MEMORY_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct smk_memory smk_memory;

/* Bytes that all allocations together may have: three quarters of the memory that the process may use. Beyond it an
 * allocation would not fail but take the process down, or the machine. */
uint64_t smk_memory_limit(void);

smk_status smk_memory_create(smk_memory **memory, smk_error *error);

/* Accepts NULL; frees what is left in it. Nothing may be running on it. */
void smk_memory_destroy(smk_memory *memory);

/* A new allocation; its content is unspecified (0xA5 in every byte). `bytes` 0 gives a unique address that may not
 * be accessed. Errors: MEMORY. */
smk_status smk_memory_allocate(smk_memory *memory, uint64_t bytes, uint64_t *address, smk_error *error);

/* Address 0 is accepted. A launch that still runs keeps the bytes alive until it ends.
 * Errors: ARGUMENT where no allocation starts there. */
smk_status smk_memory_free(smk_memory *memory, uint64_t address, smk_error *error);

/* The same for many at once, in time that grows with their number and not with its square. Sorts `addresses`; those where
 * nothing starts are passed over. */
void smk_memory_free_all(smk_memory *memory, uint64_t *addresses, size_t count);

/* Host to device, device to host. Errors: OUT_OF_BOUNDS. */
smk_status smk_memory_write(smk_memory *memory, uint64_t address, const void *host, uint64_t bytes, smk_error *error);
smk_status smk_memory_read(smk_memory *memory, uint64_t address, void *host, uint64_t bytes, smk_error *error);

/* Allocations of this host thread keep at least so many bytes free behind them, from now on. */
void smk_memory_pad(uint64_t bytes);

#endif
