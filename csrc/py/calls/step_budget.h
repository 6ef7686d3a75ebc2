/* The limit of warp instructions that a simulation executes. */
#ifndef SMK_PY_CALLS_STEP_BUDGET_H
#define SMK_PY_CALLS_STEP_BUDGET_H

#include "py/state.h"

#include <stdint.h>

/* The keyword max_steps (NULL: not given), else SMEMKIT_MAX_STEPS, else `otherwise`. Returns 0, or -1 with an exception
 * set. */
int smk_step_budget_read(const smk_state *state, PyObject *keyword, uint64_t otherwise, uint64_t *steps);

#endif
