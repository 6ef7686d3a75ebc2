/* Which machine a call runs on. All functions but smk_selection_backend need the GIL. */
#ifndef SMK_PY_BACKENDS_SELECTION_H
#define SMK_PY_BACKENDS_SELECTION_H

#include "py/backends/backend.h"
#include "py/state.h"

const smk_backend *smk_selection_backend(smk_backend_id id);

/* The machine for a call: the keyword (NULL: not given), else that of the block of a device around it, else
 * set_backend, else SMEMKIT_BACKEND, else the GPU where there is one and the simulator where not. While the thread's
 * launches are profiled or checked: the simulator. 0, or -1 with an exception set. */
int smk_selection_choose(const smk_state *state, PyObject *keyword, const smk_backend **backend);

/* The same without a keyword, and the reason as a text that lives until the thread asks again. */
int smk_selection_explain(const smk_state *state, const smk_backend **backend, const char **reason);

/* Sets the machine of the thread's calls that name none, before all that set_backend and SMEMKIT_BACKEND say; NULL: none.
 * Returns the one before. */
const smk_backend *smk_selection_enter(const smk_backend *backend);

/* Sets the machine that set_backend names; NULL resets it. Returns 0, or -1 with an exception set. */
int smk_selection_prefer(const smk_state *state, PyObject *name);

/* Returns 0, or -1 with a BackendError where the thread's launches are profiled or checked and the machine is not the
 * simulator. */
int smk_selection_check(const smk_state *state, const smk_backend *backend);

#endif
