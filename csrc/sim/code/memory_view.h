/* A snapshot of device memory for a launch. */
#ifndef SMK_SIM_CODE_MEMORY_VIEW_H
#define SMK_SIM_CODE_MEMORY_VIEW_H

#include "base/launch.h"
#include "sim/code/memory.h"

#include <stdbool.h>

/* An allocation in a view. */
typedef struct smk_allocation {
    uint64_t address;
    uint64_t bytes;
    unsigned char *host;
    bool constant; /* kernels may only read it */
    struct smk_allocation_record *record;
} smk_allocation;

/* Someone who uses allocations without the lock; those that were there when it began stay until it ends. */
typedef struct smk_memory_reader {
    uint64_t number;     /* counts the readers of the memory */
    unsigned generation; /* of smk_fork_generation: where it began */
    struct smk_memory_reader *older, *newer;
} smk_memory_reader;

/* All allocations at one moment, sorted by address and kept alive. */
typedef struct smk_memory_view {
    size_t count;
    const smk_allocation *allocation; /* of `table` */
    struct smk_memory_table *table;
    smk_memory_reader reader;
    uint64_t allocations;     /* the serial of the youngest one */
    const smk_launch *launch; /* names the arrays of its arguments */
    smk_allocation replaced;  /* stands for the allocation of its address; host NULL: none */
} smk_memory_view;

/* The launch must outlive the view. */
smk_status smk_memory_view_create(smk_memory *memory, const smk_launch *launch, smk_memory_view **view,
                                  smk_error *error);
void smk_memory_view_free(smk_memory *memory, smk_memory_view *view); /* accepts NULL */

/* Replaces the first bytes of the constant variable at `address` in this view alone, so that concurrent launches can
 * have different constants. Once a view. Errors: MEMORY, INTERNAL where there is no such variable. */
smk_status smk_memory_view_replace(smk_memory_view *view, uint64_t address, const void *bytes, uint64_t count,
                                   smk_error *error);

/* The allocation that holds an address, or NULL. */
const smk_allocation *smk_memory_view_find(const smk_memory_view *view, uint64_t address);

/* "it begins 8 bytes past the end of args[1] (y, float32[99]), where element 101 would be", or "... of the allocation of
 * 4096 bytes at 0x...", for an access that is not inside one. */
void smk_memory_view_describe(const smk_memory_view *view, uint64_t address, uint64_t bytes, char *text, size_t size);

/* "args[1] (y, float32[99]), element 32", "the workspace of reduce, byte 128", "allocation of 4096 bytes, byte 128", or
 * the name of a variable; "" for an address in no allocation. */
void smk_memory_view_name(const smk_memory_view *view, uint64_t address, char *text, size_t size);

/* Has the host, or a launch, written all of these bytes of an allocation? */
bool smk_memory_view_is_initialized(const smk_allocation *allocation, uint64_t offset, uint64_t bytes);

/* Marks these bytes as written. No other thread may read the marks meanwhile. */
void smk_memory_view_mark_initialized(smk_memory *memory, const smk_allocation *allocation, uint64_t offset,
                                      uint64_t bytes);

/* Marks all bytes of the view as written, for launches that do not track their writes. */
void smk_memory_view_mark_all_initialized(smk_memory *memory, const smk_memory_view *view);

/* A variable of a module. */
typedef struct smk_memory_variable {
    smk_text name; /* for messages */
    uint64_t bytes;
    bool constant; /* kernels may only read it */
    bool managed;  /* the host finds it at the same address */
    bool sparse;   /* kernels write little of it: it counts as used once the host writes to it */
} smk_memory_variable;

/* An allocation of zeros for a variable. Errors: MEMORY. */
smk_status smk_memory_allocate_variable(smk_memory *memory, const smk_memory_variable *variable, uint64_t *address,
                                        smk_error *error);

#endif
