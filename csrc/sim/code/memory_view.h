/* The simulator's inner view of device memory: what a launch sees of it. */
#ifndef SMK_SIM_CODE_MEMORY_VIEW_H
#define SMK_SIM_CODE_MEMORY_VIEW_H

#include "sim/code/memory.h"

#include <stdbool.h>

/* One allocation. */
typedef struct smk_allocation {
    uint64_t address;
    uint64_t bytes;
    unsigned char *host;
    bool constant; /* a kernel may only read it */
    struct smk_allocation_record *record;
} smk_allocation;

/* Every allocation at one moment, by address, kept alive. */
typedef struct smk_memory_view {
    size_t count;
    smk_allocation *allocation;
    unsigned char *own; /* what smk_memory_view_replace put in the place of a variable; NULL: nothing */
} smk_memory_view;

smk_status smk_memory_view_create(smk_memory *memory, smk_memory_view **view, smk_error *error);
void smk_memory_view_free(smk_memory *memory, smk_memory_view *view); /* accepts NULL */

/* The constant variable at `address` begins with these bytes, for who looks through this view alone: launches that run
 * at once can have constants of their own. Once a view. Errors: MEMORY, INTERNAL where there is no such variable. */
smk_status smk_memory_view_replace(smk_memory_view *view, uint64_t address, const void *bytes, uint64_t count,
                                   smk_error *error);

/* The allocation that holds an address, or NULL. */
const smk_allocation *smk_memory_view_find(const smk_memory_view *view, uint64_t address);

/* "8 bytes past the end of the allocation of 4096 bytes at 0x..." for an access that is not inside one. */
void smk_memory_view_describe(const smk_memory_view *view, uint64_t address, uint64_t bytes, char *text, size_t size);

/* "allocation of 4096 bytes, byte 128", or the name of a variable; "" for what is in none. */
void smk_memory_view_name(const smk_memory_view *view, uint64_t address, char *text, size_t size);

/* Has the host, or a launch, written all of these bytes of an allocation? */
bool smk_memory_view_is_initialized(const smk_allocation *allocation, uint64_t offset, uint64_t bytes);

/* They have been written. Nothing else may ask meanwhile. */
void smk_memory_view_mark_initialized(smk_memory *memory, const smk_allocation *allocation, uint64_t offset,
                                      uint64_t bytes);

/* A launch that nobody has checked may have written anything in view. */
void smk_memory_view_mark_all_initialized(smk_memory *memory, const smk_memory_view *view);

/* As smk_memory_allocate, zero-filled, with a name for messages; what is constant, kernels may only read. */
smk_status smk_memory_allocate_variable(smk_memory *memory, const char *name, size_t name_length, bool constant,
                                        uint64_t bytes, uint64_t *address, smk_error *error);

#endif
