/* The progress of long launches on the simulator, and of long copies to a GPU and back, told to Python:
 * smemkit._progress. */
#ifndef SMK_PY_BACKENDS_PROGRESS_H
#define SMK_PY_BACKENDS_PROGRESS_H

#include "py/api.h"
#include "py/backends/backend.h"

#include "base/poll.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct smk_progress {
    smk_run_progress run; /* what the simulator writes */
    uint64_t due;         /* ns: when to tell next */
    bool told;
} smk_progress;

void smk_progress_begin(smk_progress *progress);

/* Tells smemkit._progress how far the present launch is, or the copy of which the work has told the poll; at most every
 * 100 ms. Needs the GIL. Returns 0, or -1 with an exception set, as Ctrl-C sets one while a bar is drawn. */
int smk_progress_tell(smk_progress *progress, const smk_poll *poll);

/* Tells it that the execution has ended, where it has heard of it. Keeps an exception that is set. Needs the GIL. */
void smk_progress_end(smk_progress *progress);

#endif
