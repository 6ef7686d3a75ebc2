/* Launches whose executed instructions are noted, so that mutants are made of those (base/mutation.h). */
#ifndef SMK_PY_BACKENDS_EXECUTED_H
#define SMK_PY_BACKENDS_EXECUTED_H

#include "base/launch.h"
#include "base/status.h"
#include "sim/profile/count.h"
#include "sim/sim.h"

/* Runs a launch as smk_program_run does, and notes the lines of the PTX that it executes. */
smk_status smk_executed_run(smk_program *program, const smk_module *module, uint32_t entry, const smk_launch *launch,
                            const smk_run_options *options, smk_run_result *result, smk_error *error);

/* Notes the lines of a launch that was counted; without counts, the name of its function, "function k". */
smk_status smk_executed_note(const smk_module *module, uint32_t entry, const smk_count_result *counted,
                             smk_error *error);

#endif
