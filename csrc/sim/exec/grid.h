/* Runs the blocks of a launch on host threads. */
#ifndef SMK_SIM_EXEC_GRID_H
#define SMK_SIM_EXEC_GRID_H

#include "sim/code/observer.h"
#include "sim/code/program.h"

/* Runs an image of the program. `blocks` > 0: only that many blocks, evenly spread over the grid. Errors: those of
 * smk_program_run, except for lowering. */
smk_status smk_grid_launch(smk_program *program, const smk_image *image, const smk_launch *launch,
                           const smk_run_options *options, const smk_observer *observer, uint64_t blocks,
                           smk_run_result *result, smk_error *error);

#endif
