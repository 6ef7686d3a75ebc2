/* A module whose variables have their memory, and the images of its entries. */
#ifndef SMK_SIM_CODE_PROGRAM_H
#define SMK_SIM_CODE_PROGRAM_H

#include "base/arena.h"
#include "sim/code/image.h"
#include "sim/code/memory.h"
#include "sim/code/run.h"

#include <stdatomic.h>

struct smk_coverage_module;

struct smk_program {
    const smk_module *module;
    smk_memory *memory;
    uint64_t *addresses; /* of the module's variables; 0: none */
    uint64_t const_bytes;
    uint32_t *callable; /* functions with a body that are no entries: what an entry can call */
    uint32_t callable_count;
    uint32_t *callable_index; /* by function: its index in `callable`; SMK_NO_INDEX: none */
    uint32_t *shared_index;   /* by module variable: its index among shared variables */
    uint32_t shared_count;
    struct smk_kernel_heap
        *_Atomic heap; /* of malloc in kernels, which the memory's programs share; NULL until a launch needs it */
    smk_image *_Atomic *image;         /* by function; NULL until it is needed, and for functions that are no entries */
    smk_image *_Atomic *covered_image; /* the same, for images that count coverage */
    struct smk_coverage_module *_Atomic covered; /* what coverage knows of the module; NULL until it is needed */
    const char *source, *folder;                 /* of the module, for coverage; each may be NULL */
};

/* What coverage knows of the program's module: NULL while coverage is off. Errors: MEMORY (sim/lower/program.c). */
smk_status smk_program_cover(smk_program *program, struct smk_coverage_module **covered, smk_error *error);

#endif
