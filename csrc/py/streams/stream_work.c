#include "py/streams/stream_work.h"

#include "py/error.h"
#include "py/streams/stream_scope.h"

#include <stdatomic.h>
#include <string.h>

/* The lock of an object where there is no GIL. */
#if PY_VERSION_HEX >= 0x030D0000
#define LOCK(object) Py_BEGIN_CRITICAL_SECTION(object)
#define UNLOCK() Py_END_CRITICAL_SECTION()
#else
#define LOCK(object) {
#define UNLOCK() }
#endif

enum { STREAMS_MAX = 8 };

typedef struct use {
    uint64_t stream;
    PyObject *owner; /* owned: keeps the stream alive; NULL: not known */
} use;

/* The last use comes last. */
struct smk_stream_uses {
    size_t count;
    use list[STREAMS_MAX];
};

int smk_stream_work_follow(const smk_state *state, const smk_backend *backend, int device, uint64_t waiting,
                           uint64_t awaited)
{
    smk_error error = {0};
    int before = 0;
    smk_status status = SMK_OK;
    Py_BEGIN_ALLOW_THREADS
    status = smk_backend_enter(backend, device, &before, &error);
    if (status == SMK_OK) {
        status = backend->follow(waiting, awaited, &error);
        smk_backend_leave(backend, device, before);
    }
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

/* Notes ------------------------------------------------------------------------------------------- */

/* Puts the use last. `dropped` gets the reference that has become free, and `before` the stream that had to give way to
 * it: work on it must come before the new use. Returns false where it has no memory. */
static bool add(const smk_stream_memory *memory, bool fresh, uint64_t stream, PyObject *owner, PyObject **dropped,
                uint64_t *before)
{
    struct smk_stream_uses *uses = atomic_load(memory->uses);
    size_t place = 0;
    if (uses == NULL) {
        uses = PyMem_Calloc(1, sizeof *uses);
        if (uses == NULL) {
            return false;
        }
        uses->count = fresh ? 0 : 1; /* the default stream */
        atomic_store(memory->uses, uses);
    }
    while (place < uses->count && uses->list[place].stream != stream) {
        place++;
    }
    if (place == STREAMS_MAX) {
        place = 0;
        *before = uses->list[0].stream;
    }
    if (place < uses->count) {
        *dropped = uses->list[place].owner;
        uses->count--;
        memmove(&uses->list[place], &uses->list[place + 1], (uses->count - place) * sizeof(use));
    }
    uses->list[uses->count++] = (use){stream, Py_XNewRef(owner)};
    return true;
}

int smk_stream_work_note(const smk_state *state, const smk_stream_memory *memory, bool fresh)
{
    const uint64_t stream = smk_stream_scope_present(memory->backend, memory->device);
    PyObject *owner = NULL, *dropped = NULL;
    uint64_t before = stream;
    bool good = true;
    if (stream == SMK_STREAM_DEFAULT && atomic_load(memory->uses) == NULL) {
        return 0;
    }
    if (stream != SMK_STREAM_DEFAULT) {
        owner = smk_stream_scope_owner(memory->device);
    }
    LOCK(memory->object);
    const struct smk_stream_uses *uses = atomic_load(memory->uses);
    if (uses == NULL || uses->list[uses->count - 1].stream != stream) {
        good = add(memory, fresh, stream, owner, &dropped, &before);
    }
    UNLOCK();
    if (!good) {
        (void)PyErr_NoMemory();
        return -1;
    }
    int status = 0;
    if (before != stream) {
        status = smk_stream_work_follow(state, memory->backend, memory->device, stream, before);
    }
    Py_XDECREF(dropped);
    return status;
}

void smk_stream_work_free(const smk_stream_memory *memory)
{
    struct smk_stream_uses *uses = atomic_load(memory->uses);
    atomic_store(memory->uses, NULL);
    for (size_t i = 0; uses != NULL && i < uses->count; i++) {
        Py_XDECREF(uses->list[i].owner);
    }
    PyMem_Free(uses);
}

/* Order ------------------------------------------------------------------------------------------- */

/* The streams of all uses, without references: the memory's object keeps them. */
static size_t list_streams(const smk_stream_memory *memory, uint64_t streams[STREAMS_MAX])
{
    size_t count = 1;
    streams[0] = SMK_STREAM_DEFAULT;
    if (atomic_load(memory->uses) == NULL) {
        return count;
    }
    LOCK(memory->object);
    const struct smk_stream_uses *uses = atomic_load(memory->uses);
    count = uses->count;
    for (size_t i = 0; i < count; i++) {
        streams[i] = uses->list[i].stream;
    }
    UNLOCK();
    return count;
}

int smk_stream_work_order(const smk_state *state, const smk_stream_memory *memory, uint64_t waiting)
{
    uint64_t streams[STREAMS_MAX];
    const size_t count = memory->backend->streams == NULL ? 0 : list_streams(memory, streams);
    for (size_t i = 0; i < count; i++) {
        if (streams[i] != waiting &&
            smk_stream_work_follow(state, memory->backend, memory->device, waiting, streams[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

int smk_stream_work_join(const smk_state *state, const smk_stream_memory *memory, uint64_t *stream)
{
    uint64_t streams[STREAMS_MAX];
    smk_error error = {0};
    *stream = SMK_STREAM_DEFAULT;
    if (memory->backend->streams == NULL) {
        return 0;
    }
    const size_t count = list_streams(memory, streams);
    *stream = streams[0];
    if (count == 1) {
        return 0;
    }
    if (memory->backend->streams->common(memory->device, stream, &error) != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return smk_stream_work_order(state, memory, *stream);
}

/* A stream behind all uses. No stream of several is delayed by the others. While a graph captures one of them, it is that
 * one, on which no memory is freed until the capture has ended. */
static uint64_t choose_release(const smk_stream_memory *memory, const struct smk_stream_uses *uses)
{
    const smk_backend *backend = memory->backend;
    uint64_t stream = uses->list[uses->count - 1].stream;
    for (size_t i = 0; i < uses->count; i++) {
        if (backend->streams->captured(uses->list[i].stream)) {
            return uses->list[i].stream;
        }
    }
    if (uses->count > 1 && backend->streams->common(memory->device, &stream, NULL) == SMK_OK) {
        for (size_t i = 0; i < uses->count; i++) {
            (void)backend->follow(stream, uses->list[i].stream, NULL);
        }
    }
    return stream;
}

/* Nobody else has the memory any more, so that it needs no lock. */
void smk_stream_work_enter(const smk_stream_memory *memory, smk_stream_release *release)
{
    const smk_backend *backend = memory->backend;
    const struct smk_stream_uses *uses = atomic_load(memory->uses);
    uint64_t stream = SMK_STREAM_DEFAULT;
    if (backend->streams == NULL) {
        return;
    }
    if (uses != NULL) {
        stream = choose_release(memory, uses);
    }
    release->suspended = backend->streams->suspend(false);
    release->stream = backend->streams->enter(memory->device, stream);
}

void smk_stream_work_leave(const smk_stream_memory *memory, const smk_stream_release *release)
{
    if (memory->backend->streams != NULL) {
        (void)memory->backend->streams->enter(memory->device, release->stream);
        (void)memory->backend->streams->suspend(release->suspended);
    }
}
