/* The simulator as a backend. */
#ifndef SMK_PY_BACKENDS_BACKEND_SIM_H
#define SMK_PY_BACKENDS_BACKEND_SIM_H

#include "py/backends/backend.h"

extern const smk_backend smk_backend_sim;

/* Steps, blocks and threads of the calling thread's last simulation. */
smk_run_result smk_backend_sim_last_run(void);

/* From here on calls of the present thread are planned for that machine, in place of the simulated H200: predictions ask
 * what a call would launch there. NULL: for the H200 again. */
void smk_backend_sim_pretend(const smk_machine *machine);
const smk_machine *smk_backend_sim_pretended(void); /* NULL: the H200; valid until the next call of the other */

#endif
