/* Work without the GIL that signals can end: parsing and lowering. What Py_BEGIN_ALLOW_THREADS is to short work. */
#ifndef SMK_PY_BACKENDS_PAUSE_H
#define SMK_PY_BACKENDS_PAUSE_H

#include "py/state.h"

#include "base/poll.h"

typedef struct smk_pause {
    PyThreadState *thread;
    smk_poll poll;
} smk_pause;

/* Gives the GIL away. Where a handler of a signal raises, as that of Ctrl-C does, work that asks smk_poll_stop ends with
 * INTERRUPTED, and the exception is set once the GIL is back. Work that was done by then has the same status: what the
 * end returns is `status`, or INTERRUPTED. */
void smk_pause_begin(smk_pause *pause);
smk_status smk_pause_end(smk_pause *pause, smk_status status);

#endif
