/* Checks and prepares a launch. */
#ifndef SMK_SIM_EXEC_GRID_SETUP_H
#define SMK_SIM_EXEC_GRID_SETUP_H

#include "base/launch.h"
#include "base/status.h"
#include "sim/code/image.h"
#include "sim/code/memory.h"

/* Checks grid, block, parameters and shared memory against the limits of the machine and of the kernel. Errors:
 * LAUNCH, SHARED_MEMORY, naming the limit. */
smk_status smk_grid_setup_check(const smk_image *image, const smk_launch *launch, uint32_t *shared_bytes,
                                uint32_t *dynamic_bytes, smk_error *error);

/* Packs the kernel's parameters into one buffer, which smk_heap_free frees. Errors: MEMORY. */
smk_status smk_grid_setup_pack(const smk_image *image, const smk_launch *launch, unsigned char **parameters,
                               smk_error *error);

/* Allocates the word by which the blocks of a cooperative launch wait for each other. Errors: LAUNCH, MEMORY. */
smk_status smk_grid_setup_barrier(smk_memory *memory, const smk_dim3 *grid, uint64_t *address, smk_error *error);

/* Puts the kernel's name into an error that has none. */
void smk_grid_setup_name_kernel(const smk_image *image, smk_error *error);

#endif
