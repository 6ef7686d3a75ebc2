#include "py/backends/pause.h"

static bool is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

static bool must_stop(void *context)
{
    smk_pause *pause = context;
    if (is_finalizing()) {
        return true; /* the GIL is not to be had any more */
    }
    PyEval_RestoreThread(pause->thread);
    bool stop = PyErr_CheckSignals() < 0;
    pause->thread = PyEval_SaveThread();
    return stop;
}

void smk_pause_begin(smk_pause *pause)
{
    pause->thread = PyEval_SaveThread();
    smk_poll_begin(&pause->poll, must_stop, pause);
}

smk_status smk_pause_end(smk_pause *pause, smk_status status)
{
    smk_poll_end(&pause->poll);
    PyEval_RestoreThread(pause->thread);
    return PyErr_Occurred() != NULL ? SMK_INTERRUPTED : status;
}
