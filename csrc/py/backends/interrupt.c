#include "py/backends/interrupt.h"

bool smk_interrupt_is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

static bool must_stop(void *context)
{
    smk_interrupt *interrupt = context;
    if (smk_interrupt_is_finalizing()) {
        return true;
    }
    PyEval_RestoreThread(interrupt->state);
    bool stop = PyErr_CheckSignals() < 0 || smk_progress_tell(&interrupt->progress, &interrupt->poll) < 0;
    interrupt->state = PyEval_SaveThread();
    return stop;
}

void smk_interrupt_begin(smk_interrupt *interrupt)
{
    smk_progress_begin(&interrupt->progress);
    interrupt->state = PyEval_SaveThread();
    smk_poll_begin(&interrupt->poll, must_stop, interrupt);
}

smk_status smk_interrupt_end(smk_interrupt *interrupt, smk_status status)
{
    smk_poll_end(&interrupt->poll);
    PyEval_RestoreThread(interrupt->state);
    smk_progress_end(&interrupt->progress);
    return PyErr_Occurred() != NULL ? SMK_INTERRUPTED : status;
}
