#include "py/backends/interrupt.h"

enum { PIECE_BYTES = 1 << 24, ASK_MS = 20 };

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

static smk_status copy(const smk_backend *backend, uint64_t address, const void *from, void *to, uint64_t bytes,
                       smk_interrupt *interrupt, smk_error *error)
{
    smk_status status = SMK_OK;
    uint64_t at = 0;
    if (interrupt != NULL && backend->settle != NULL) {
        const smk_patience patience = smk_interrupt_patience(interrupt);
        status = backend->settle(&patience, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    do { /* what has no bytes is looked at, too */
        const uint64_t left = bytes - at, piece = left < PIECE_BYTES ? left : PIECE_BYTES;
        status = to == NULL ? backend->upload(address + at, (const unsigned char *)from + at, piece, error)
                            : backend->download(address + at, (unsigned char *)to + at, piece, error);
        at += piece;
        if (status == SMK_OK) {
            status = smk_interrupt_ask(interrupt, error);
        }
    } while (at < bytes && status == SMK_OK);
    return status;
}

smk_status smk_interrupt_upload(const smk_backend *backend, uint64_t address, const void *host, uint64_t bytes,
                                smk_interrupt *interrupt, smk_error *error)
{
    return copy(backend, address, host, NULL, bytes, interrupt, error);
}

smk_status smk_interrupt_download(const smk_backend *backend, uint64_t address, void *host, uint64_t bytes,
                                  smk_interrupt *interrupt, smk_error *error)
{
    return copy(backend, address, NULL, host, bytes, interrupt, error);
}
