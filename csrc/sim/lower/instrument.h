/* Emits an observer's operations into lowered code, and runs launches of such code. */
#ifndef SMK_SIM_LOWER_INSTRUMENT_H
#define SMK_SIM_LOWER_INSTRUMENT_H

#include "base/launch.h"
#include "base/status.h"
#include "ptx/module.h"
#include "sim/code/observer.h"
#include "sim/code/run.h"

/* As smk_program_run, with an observer. `blocks` > 0 runs only that many blocks, evenly spread over the grid. */
smk_status smk_instrument_run(smk_program *program, uint32_t entry, const smk_launch *launch,
                              const smk_run_options *options, const smk_observer *observer, uint64_t blocks,
                              smk_run_result *result, smk_error *error);

/* For lowering: emit the operations before an instruction, at the begin of a run, and before the access that was
 * emitted last. */
bool smk_instrument_emit(struct smk_lowering *lowering);
bool smk_instrument_emit_run(struct smk_lowering *lowering);
smk_operation *smk_instrument_emit_value(struct smk_lowering *lowering); /* with the guard; NULL after a failure */
bool smk_instrument_emit_access(struct smk_lowering *lowering, smk_access_kind kind, smk_space space, bool narrow,
                                unsigned bytes);
/* The same for a load that uses the first `used` of these bytes alone, in each lane. */
bool smk_instrument_emit_partial(struct smk_lowering *lowering, smk_space space, bool narrow, unsigned bytes,
                                 unsigned used);

/* Is it the operation that begins a run? */
bool smk_instrument_is_run(const smk_operation *op);

#endif
