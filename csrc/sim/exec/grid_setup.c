#include "sim/exec/grid_setup.h"

#include "base/heap.h"
#include "sim/code/run.h"

#include <inttypes.h>
#include <string.h>

enum { GRID_YZ_MAX = 65535, BLOCK_Z_MAX = 64, GRID_BARRIER_BYTES = 64 };
#define GRID_X_MAX UINT32_C(2147483647)

static smk_status check_grid(const smk_dim3 *grid, smk_error *error)
{
    if (grid->x == 0 || grid->y == 0 || grid->z == 0) {
        return smk_status_fail(error, SMK_LAUNCH, "the grid (%u, %u, %u) has an axis without blocks", grid->x, grid->y,
                               grid->z);
    }
    if (grid->x > GRID_X_MAX || grid->y > GRID_YZ_MAX || grid->z > GRID_YZ_MAX) {
        return smk_status_fail(error, SMK_LAUNCH, "the grid (%u, %u, %u) is larger than (%u, %d, %d) blocks", grid->x,
                               grid->y, grid->z, GRID_X_MAX, GRID_YZ_MAX, GRID_YZ_MAX);
    }
    return SMK_OK;
}

static smk_status check_block(const smk_function *function, const smk_dim3 *block, smk_error *error)
{
    uint32_t most = SMK_SIM_BLOCK_THREADS_MAX;
    if (block->x == 0 || block->y == 0 || block->z == 0) {
        return smk_status_fail(error, SMK_LAUNCH, "the block (%u, %u, %u) has an axis without threads", block->x,
                               block->y, block->z);
    }
    if (block->x > most || block->y > most || block->z > BLOCK_Z_MAX) {
        return smk_status_fail(error, SMK_LAUNCH, "the block (%u, %u, %u) is larger than (%u, %u, %d) threads",
                               block->x, block->y, block->z, most, most, BLOCK_Z_MAX);
    }
    uint64_t threads = (uint64_t)block->x * block->y * block->z;
    if (threads > most) {
        return smk_status_fail(error, SMK_LAUNCH, "a block of %" PRIu64 " threads is more than the machine's %u",
                               threads, most);
    }
    return smk_module_check_block(function, *block, error);
}

smk_status smk_grid_setup_check(const smk_image *image, const smk_launch *launch, uint32_t *shared_bytes,
                                uint32_t *dynamic_bytes, smk_error *error)
{
    const smk_function *function = &image->module->functions[image->entry];
    smk_status status = check_grid(&launch->grid, error);
    if (status == SMK_OK) {
        status = check_block(function, &launch->block, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    if (launch->parameter_count != function->parameter_count) {
        return smk_status_fail(error, SMK_LAUNCH, "the kernel takes %u parameters, not %zu", function->parameter_count,
                               launch->parameter_count);
    }
    if (launch->shared_bytes > SMK_SIM_SHARED_BYTES_MAX ||
        image->shared_bytes - image->padding + launch->shared_bytes > SMK_SIM_SHARED_BYTES_MAX) {
        return smk_status_fail(
            error, SMK_SHARED_MEMORY,
            "a block asks for %zu bytes of shared memory (%u static and %zu dynamic); the machine has %d",
            image->shared_bytes + launch->shared_bytes, image->shared_bytes, launch->shared_bytes,
            SMK_SIM_SHARED_BYTES_MAX);
    }
    *dynamic_bytes = (uint32_t)launch->shared_bytes;
    *shared_bytes = image->shared_bytes + *dynamic_bytes;
    return SMK_OK;
}

smk_status smk_grid_setup_pack(const smk_image *image, const smk_launch *launch, unsigned char **parameters,
                               smk_error *error)
{
    const smk_function *function = &image->module->functions[image->entry];
    unsigned char *packed = smk_heap_allocate(image->parameter_bytes, 1);
    if (packed == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for %u bytes of parameters", image->parameter_bytes);
    }
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        memcpy(packed + image->parameter_offset[i], launch->parameters[i], (size_t)function->variables[i].bytes);
    }
    *parameters = packed;
    return SMK_OK;
}

smk_status smk_grid_setup_barrier(smk_memory *memory, const smk_dim3 *grid, uint64_t *address, smk_error *error)
{
    static const unsigned char zeros[GRID_BARRIER_BYTES];
    const uint64_t blocks = (uint64_t)grid->x * grid->y * grid->z;
    if (blocks > SMK_SIM_COOPERATIVE_BLOCKS_MAX) {
        return smk_status_fail(
            error, SMK_LAUNCH,
            "the launch is cooperative, so all blocks must be on the machine at once: it has %" PRIu64
            " blocks, and no GPU holds more than %d",
            blocks, SMK_SIM_COOPERATIVE_BLOCKS_MAX);
    }
    smk_status status = smk_memory_allocate(memory, sizeof zeros, address, error);
    return status == SMK_OK ? smk_memory_write(memory, *address, zeros, sizeof zeros, error) : status;
}

void smk_grid_setup_name_kernel(const smk_image *image, smk_error *error)
{
    /* an argument error is of an environment variable */
    if (error != NULL && error->kernel[0] == '\0' && error->status != SMK_ARGUMENT) {
        smk_text name = image->module->functions[image->entry].name;
        size_t length = name.length < sizeof error->kernel ? name.length : sizeof error->kernel - 1;
        memcpy(error->kernel, name.start, length);
        error->kernel[length] = '\0';
    }
}
