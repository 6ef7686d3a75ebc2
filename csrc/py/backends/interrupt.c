#include "py/backends/interrupt.h"

enum { ASK_MS = 20 };

bool smk_interrupt_is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

static bool stop_thread(void *context)
{
    smk_interrupt_thread *thread = context;
    if (smk_interrupt_is_finalizing()) {
        return true;
    }
    PyEval_RestoreThread(thread->state);
    bool stop = PyErr_CheckSignals() < 0;
    thread->state = PyEval_SaveThread();
    return stop;
}

void smk_interrupt_begin(smk_interrupt_thread *thread)
{
    thread->interrupt = (smk_interrupt){.stop = stop_thread, .context = thread};
    thread->state = PyEval_SaveThread();
}

void smk_interrupt_end(smk_interrupt_thread *thread)
{
    PyEval_RestoreThread(thread->state);
}

void smk_interrupt_poll_begin(smk_interrupt_poll *poll)
{
    smk_interrupt_begin(&poll->thread);
    smk_poll_begin(&poll->poll, stop_thread, &poll->thread);
}

smk_status smk_interrupt_poll_end(smk_interrupt_poll *poll, smk_status status)
{
    smk_poll_end(&poll->poll);
    smk_interrupt_end(&poll->thread);
    return PyErr_Occurred() != NULL ? SMK_INTERRUPTED : status;
}

smk_patience smk_interrupt_patience(const smk_interrupt *interrupt)
{
    return (smk_patience){interrupt->stop, interrupt->context};
}

smk_status smk_interrupt_ask(smk_interrupt *interrupt, smk_error *error)
{
    struct timespec now = {0};
    if (interrupt == NULL) {
        return SMK_OK;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const struct timespec then = interrupt->asked;
    const bool first = then.tv_sec == 0 && then.tv_nsec == 0;
    const int64_t ms =
        ((int64_t)now.tv_sec - (int64_t)then.tv_sec) * 1000 + ((int64_t)now.tv_nsec - (int64_t)then.tv_nsec) / 1000000;
    if (!first && ms < ASK_MS) {
        return SMK_OK;
    }
    const bool stop = !first && interrupt->stop(interrupt->context);
    (void)clock_gettime(CLOCK_MONOTONIC, &interrupt->asked);
    return stop ? smk_status_fail(error, SMK_INTERRUPTED, "a copy was interrupted") : SMK_OK;
}
