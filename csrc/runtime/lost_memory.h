/* What became of addresses that lie in no allocation: of memory that the program has freed, or of the host. Checked runs
 * alone keep it. */
#ifndef SMK_RUNTIME_LOST_MEMORY_H
#define SMK_RUNTIME_LOST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* An allocation that was freed, and the launches that had run by then. */
typedef struct smk_lost_memory {
    uint64_t address, bytes, launches;
} smk_lost_memory;

void smk_lost_memory_add(const smk_lost_memory *freed);

/* The allocation that was freed last of those that held an address; false where none is known. */
bool smk_lost_memory_find(uint64_t address, smk_lost_memory *found);

/* Is it an address of memory of the host that kernels do not reach? */
bool smk_lost_memory_is_host(uint64_t address);

#endif
