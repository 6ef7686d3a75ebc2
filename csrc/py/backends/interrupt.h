/* Work that takes long, in pieces: signals are handled between them, so that Ctrl-C ends it soon. */
#ifndef SMK_PY_BACKENDS_INTERRUPT_H
#define SMK_PY_BACKENDS_INTERRUPT_H

#include "py/backends/backend.h"

#include <time.h>

/* Who is asked, without the GIL, whether work shall end; where it shall, the exception is set by then. */
typedef struct smk_interrupt {
    bool (*stop)(void *context);
    void *context;
    struct timespec asked; /* the last time; zero-initialised */
} smk_interrupt;

/* The calling thread without the GIL, and who asks it. */
typedef struct smk_interrupt_thread {
    PyThreadState *state;
    smk_interrupt interrupt;
} smk_interrupt_thread;

void smk_interrupt_begin(smk_interrupt_thread *thread); /* gives the GIL up; `thread` stays where it is */
void smk_interrupt_end(smk_interrupt_thread *thread);

/* True while the interpreter ends: the GIL is not to be had any more. */
bool smk_interrupt_is_finalizing(void);

/* For waits that ask now and then themselves. */
smk_patience smk_interrupt_patience(const smk_interrupt *interrupt);

/* Between host memory and a machine's, on its present device, without the GIL; what was launched there before is waited
 * for. INTERRUPTED where it shall end: a part
 * has been copied then. `interrupt` NULL: to the end. */
smk_status smk_interrupt_upload(const smk_backend *backend, uint64_t address, const void *host, uint64_t bytes,
                                smk_interrupt *interrupt, smk_error *error);
smk_status smk_interrupt_download(const smk_backend *backend, uint64_t address, void *host, uint64_t bytes,
                                  smk_interrupt *interrupt, smk_error *error);

/* INTERRUPTED where work shall end. To be called between any two pieces: who is asked is asked every 20 ms. */
smk_status smk_interrupt_ask(smk_interrupt *interrupt, smk_error *error);

#endif
