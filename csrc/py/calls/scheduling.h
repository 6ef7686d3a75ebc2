/* How the simulator schedules the lanes of a warp. */
#ifndef SMK_PY_CALLS_SCHEDULING_H
#define SMK_PY_CALLS_SCHEDULING_H

#include "py/state.h"

#include <stdbool.h>

/* The keyword independent (NULL: not given), else SMEMKIT_INDEPENDENT, else true. *lockstep: false where it is true.
 * Returns 0, or -1 with an exception set. */
int smk_scheduling_read(const smk_state *state, PyObject *keyword, bool *lockstep);

#endif
