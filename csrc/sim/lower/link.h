/* Makes an image of an entry: finds the functions that it can reach, lays out shared memory and parameters, and lowers
 * the functions. */
#ifndef SMK_SIM_LOWER_LINK_H
#define SMK_SIM_LOWER_LINK_H

#include "sim/code/observer.h"
#include "sim/code/program.h"

/* Lowers an entry and everything that it can reach, for an observer (NULL: none). With `covered` the
 * image counts coverage of that module. Errors: PTX, UNSUPPORTED, MEMORY. */
smk_status smk_link_create(const smk_program *program, uint32_t entry, const smk_observer *observer,
                           struct smk_coverage_module *covered, smk_image **image, smk_error *error);

#endif
