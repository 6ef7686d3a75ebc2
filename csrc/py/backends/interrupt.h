/* Long work without the GIL: signals are handled in between, so that Ctrl-C ends it soon. */
#ifndef SMK_PY_BACKENDS_INTERRUPT_H
#define SMK_PY_BACKENDS_INTERRUPT_H

#include "py/api.h"
#include "py/backends/progress.h"

#include "base/poll.h"
#include "base/status.h"

#include <stdbool.h>

/* The calling thread while it does not hold the GIL. Its work polls (base/poll.h), and ends with INTERRUPTED where the handler
 * of a signal raises, as that of Ctrl-C does; the exception is set when the GIL is held again. Where the work has ended by
 * then, the exception still counts: the end function returns `status`, or INTERRUPTED. The struct must not move between
 * begin and end. */
typedef struct smk_interrupt {
    PyThreadState *state;
    smk_poll poll;
    smk_progress progress; /* of copies */
} smk_interrupt;

void smk_interrupt_begin(smk_interrupt *interrupt); /* releases the GIL */
smk_status smk_interrupt_end(smk_interrupt *interrupt, smk_status status);

/* True while the interpreter ends: no thread can acquire the GIL any more. */
bool smk_interrupt_is_finalizing(void);

#endif
