/* Inside of a program, and how its images are made. */
#ifndef SMK_SIM_PROGRAM_H
#define SMK_SIM_PROGRAM_H

#include "../base/arena.h"
#include "image.h"
#include "sim.h"

struct smk_program {
    const smk_module *module;
    smk_memory *memory;
    uint64_t *addresses; /* of the module's variables; 0: none */
    uint64_t const_bytes;
    smk_image **image;   /* by function; NULL for all but entries */
};

struct smk_observer;

/* Lowers an entry and everything that it can reach, for an observer (NULL: none). Errors: PTX, UNSUPPORTED, MEMORY. */
smk_status smk_image_create(const smk_program *program, uint32_t entry, const struct smk_observer *observer,
                            smk_image **image, smk_error *error);
void smk_image_free(smk_image *image); /* accepts NULL */

/* The launch itself (grid.c). `blocks` > 0: only so many, evenly spread. */
smk_status smk_grid_launch(smk_program *program, const smk_image *image, const smk_launch *launch,
                           const smk_run_options *options, const struct smk_observer *observer, uint64_t blocks,
                           smk_run_result *result, smk_error *error);

#endif
