/* The simulator as a backend. */
#ifndef SMK_PY_BACKENDS_BACKEND_SIM_H
#define SMK_PY_BACKENDS_BACKEND_SIM_H

#include "py/backends/backend.h"

extern const smk_backend smk_backend_sim;

/* Steps, blocks and threads of the calling thread's last simulation. */
smk_run_result smk_backend_sim_last_run(void);

#endif
