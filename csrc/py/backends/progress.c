#include "py/backends/progress.h"

#define INTERVAL_NS UINT64_C(100000000)

void smk_progress_begin(smk_progress *progress)
{
    *progress = (smk_progress){.due = smk_poll_clock() + INTERVAL_NS};
}

int smk_progress_tell(smk_progress *progress, const smk_poll *poll)
{
    const smk_run_progress *run = &progress->run;
    if ((run->blocks == 0 && poll->to_copy == 0) || smk_poll_clock() < progress->due) {
        return 0;
    }
    PyObject *module = PyImport_ImportModule("smemkit._progress"), *answer = NULL;
    if (module != NULL && run->blocks == 0) {
        answer = PyObject_CallMethod(module, "tell_copy", "KK", (unsigned long long)poll->copied,
                                     (unsigned long long)poll->to_copy);
    } else if (module != NULL) {
        answer = PyObject_CallMethod(module, "tell", "s#KKKK", run->kernel, (Py_ssize_t)run->kernel_bytes,
                                     (unsigned long long)run->launch, (unsigned long long)run->blocks_done,
                                     (unsigned long long)run->blocks, (unsigned long long)run->steps);
    }
    progress->told = true;
    progress->due = smk_poll_clock() + INTERVAL_NS; /* behind the call, which may have drawn */
    const int status = answer == NULL ? -1 : 0;
    Py_XDECREF(module);
    Py_XDECREF(answer);
    return status;
}

void smk_progress_end(smk_progress *progress)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    if (!progress->told) {
        return;
    }
    PyErr_Fetch(&type, &value, &trace);
    PyObject *module = PyImport_ImportModule("smemkit._progress");
    PyObject *answer = module == NULL ? NULL : PyObject_CallMethod(module, "end", NULL);
    Py_XDECREF(module);
    Py_XDECREF(answer);
    if (type != NULL) {
        PyErr_Restore(type, value, trace); /* in the place of one that is set now */
    }
}
