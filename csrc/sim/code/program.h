/* Inside of a program, and how its images are made. */
#ifndef SMK_SIM_CODE_PROGRAM_H
#define SMK_SIM_CODE_PROGRAM_H

#include "base/arena.h"
#include "sim/code/image.h"
#include "sim/sim.h"

#include <stdatomic.h>

struct smk_program {
    const smk_module *module;
    smk_memory *memory;
    uint64_t *addresses; /* of the module's variables; 0: none */
    uint64_t const_bytes;
    uint32_t *callable; /* functions with a body that are no entries: what an entry may reach beside itself */
    uint32_t callable_count;
    uint32_t *place;          /* of each function in `callable`; SMK_NO_INDEX: not there */
    uint32_t *shared_place;   /* of each of the module's variables among those in shared memory */
    uint32_t shared_count;
    smk_image *_Atomic *image; /* by function; NULL until it is needed, and for all but entries */
};

struct smk_observer;

/* The entry as a plain run has it, lowered when it is first asked for: a module of many entries costs what is used of
 * it. Any number of threads may ask. Errors: ARGUMENT where there is no such entry, and those of smk_image_create. */
smk_status smk_program_image(smk_program *program, uint32_t entry, const smk_image **image, smk_error *error);

/* Lowers an entry and everything that it can reach, for an observer (NULL: none). Errors: PTX, UNSUPPORTED, MEMORY. */
smk_status smk_image_create(const smk_program *program, uint32_t entry, const struct smk_observer *observer,
                            smk_image **image, smk_error *error);
void smk_image_free(smk_image *image); /* accepts NULL */

/* The launch itself (grid.c). `blocks` > 0: only so many, evenly spread. */
smk_status smk_grid_launch(smk_program *program, const smk_image *image, const smk_launch *launch,
                           const smk_run_options *options, const struct smk_observer *observer, uint64_t blocks,
                           smk_run_result *result, smk_error *error);

#endif
