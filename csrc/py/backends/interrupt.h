/* Work that takes long without the GIL: signals are handled in between, so that Ctrl-C ends it soon. */
#ifndef SMK_PY_BACKENDS_INTERRUPT_H
#define SMK_PY_BACKENDS_INTERRUPT_H

#include "py/api.h"

#include "base/launch.h"
#include "base/poll.h"
#include "base/status.h"

#include <stdbool.h>
#include <time.h>

/* A function that is called, without the GIL, to learn whether the work shall end; where it says so, the exception is
 * set by then. */
typedef struct smk_interrupt {
    bool (*stop)(void *context);
    void *context;
    struct timespec asked; /* time of the last call; zero-initialised */
} smk_interrupt;

/* The calling thread while it is without the GIL. It stays where it is from the begin to the end. */
typedef struct smk_interrupt_thread {
    PyThreadState *state;
    smk_interrupt interrupt; /* stops where a handler of a signal raises */
} smk_interrupt_thread;

void smk_interrupt_begin(smk_interrupt_thread *thread); /* gives the GIL up */
void smk_interrupt_end(smk_interrupt_thread *thread);

/* The same for parsing and lowering, which ask smk_poll_stop. Where a handler of a signal raises, as that of Ctrl-C
 * does, they end with INTERRUPTED, and the exception is set once the GIL is back. Work that was done by then has the
 * same status: the end returns `status`, or INTERRUPTED. */
typedef struct smk_interrupt_poll {
    smk_interrupt_thread thread;
    smk_poll poll;
} smk_interrupt_poll;

void smk_interrupt_poll_begin(smk_interrupt_poll *poll);
smk_status smk_interrupt_poll_end(smk_interrupt_poll *poll, smk_status status);

/* True while the interpreter ends: no thread gets the GIL any more. */
bool smk_interrupt_is_finalizing(void);

/* For waits that call the function themselves. */
smk_patience smk_interrupt_patience(const smk_interrupt *interrupt);

/* INTERRUPTED where the work shall end. To be called between any two pieces of it: the function is called every 20 ms.
 * `interrupt` may be NULL: work that does not end early. */
smk_status smk_interrupt_ask(smk_interrupt *interrupt, smk_error *error);

#endif
