/* One launch from beginning to end, without the GIL: load, allocate, copy in, run, copy out, free. */
#ifndef SMK_PY_JOB_H
#define SMK_PY_JOB_H

#include "backend.h"
#include "unit.h"

/* Host memory that the kernel sees as a buffer of its own for the time of the job. */
typedef struct smk_transfer {
    void *host; /* C-contiguous; must stay alive and where it is */
    uint64_t bytes;
    uint64_t address; /* on the device, while the job runs; a kernel parameter may point here */
    bool in, out;     /* copied before, copied after a run without error */
} smk_transfer;

typedef struct smk_job {
    const smk_backend *backend;
    smk_unit *unit;
    const char *entry;
    smk_launch launch;
    smk_transfer *transfers;
    size_t transfer_count;
    uint64_t max_steps;
    bool wait; /* for the kernel's end; implied by a transfer */
} smk_job;

/* Called with the GIL, which it gives up. Signals are handled meanwhile, and what the kernel prints goes to sys.stdout.
 * 0, or -1 with an exception; then no host memory was written. */
int smk_job_run(const smk_state *state, smk_job *job);

#endif
