/* Long work without the GIL: signals are handled in between, so that Ctrl-C ends it soon. */
#ifndef SMK_PY_BACKENDS_INTERRUPT_H
#define SMK_PY_BACKENDS_INTERRUPT_H

#include "py/api.h"

#include "base/launch.h"
#include "base/poll.h"
#include "base/status.h"

#include <stdbool.h>
#include <time.h>

/* A function that is called without the GIL and returns true where the work is to end; it has set an exception by
 * then. */
typedef struct smk_interrupt {
    bool (*stop)(void *context);
    void *context;
    struct timespec asked; /* time of the last call; zero-initialised */
} smk_interrupt;

/* The calling thread while it does not hold the GIL. The struct must not move between begin and end. */
typedef struct smk_interrupt_thread {
    PyThreadState *state;
    smk_interrupt interrupt; /* ends the work where the handler of a signal raises */
} smk_interrupt_thread;

void smk_interrupt_begin(smk_interrupt_thread *thread); /* releases the GIL */
void smk_interrupt_end(smk_interrupt_thread *thread);

/* The same for parsing and lowering, which call smk_poll_stop. They end with INTERRUPTED where the handler of a signal
 * raises, as that of Ctrl-C does, and the exception is set when the GIL is held again. Where the work has ended by
 * then, the exception still counts: the end function returns `status`, or INTERRUPTED. */
typedef struct smk_interrupt_poll {
    smk_interrupt_thread thread;
    smk_poll poll;
} smk_interrupt_poll;

void smk_interrupt_poll_begin(smk_interrupt_poll *poll);
smk_status smk_interrupt_poll_end(smk_interrupt_poll *poll, smk_status status);

/* True while the interpreter ends: no thread can acquire the GIL any more. */
bool smk_interrupt_is_finalizing(void);

/* The same function for waits that call it themselves. */
smk_patience smk_interrupt_patience(const smk_interrupt *interrupt);

/* Returns INTERRUPTED where the work is to end. Called between any two pieces of work; it calls the function at most
 * every 20 ms. `interrupt` may be NULL: the work does not end early. */
smk_status smk_interrupt_ask(smk_interrupt *interrupt, smk_error *error);

#endif
