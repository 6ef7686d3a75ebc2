#include "py/arrays/async_copy.h"

#include "py/arrays/ndarray.h"
#include "py/error.h"
#include "py/streams/stream_scope.h"

#include <pthread.h>

/* A copy that may be under way. */
typedef struct pending_copy {
    struct pending_copy *next;
    const smk_backend_streams *streams;
    void *event;
    PyObject *host; /* owned */
} pending_copy;

static pending_copy *pending;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* no Python code runs under it */

static void free_copy(pending_copy *copy)
{
    if (copy->event != NULL) {
        copy->streams->free_event(copy->event);
    }
    Py_XDECREF(copy->host);
    PyMem_Free(copy);
}

/* Takes the copies that have ended, or whose device was lost, from the list. */
static pending_copy *take_ended(void)
{
    pending_copy *ended = NULL;
    (void)pthread_mutex_lock(&lock);
    for (pending_copy **link = &pending; *link != NULL;) {
        pending_copy *copy = *link;
        bool done = true;
        if (copy->streams->query_event(copy->event, &done, NULL) == SMK_OK && !done) {
            link = &copy->next;
            continue;
        }
        *link = copy->next;
        copy->next = ended;
        ended = copy;
    }
    (void)pthread_mutex_unlock(&lock);
    return ended;
}

static void free_ended(void)
{
    pending_copy *copy = take_ended();
    while (copy != NULL) {
        pending_copy *next = copy->next;
        free_copy(copy);
        copy = next;
    }
}

static void add(pending_copy *copy)
{
    (void)pthread_mutex_lock(&lock);
    copy->next = pending;
    pending = copy;
    (void)pthread_mutex_unlock(&lock);
}

/* On the array's device; an event marks the end unless a graph captures the copy, which then begins later. */
static smk_status begin(const smk_array *array, void *host, bool is_up, pending_copy *copy, smk_error *error)
{
    const smk_backend_streams *streams = array->backend->streams;
    const uint64_t stream = streams->present(array->device);
    int before = 0;
    smk_status status = smk_backend_enter(array->backend, array->device, &before, error);
    if (status != SMK_OK) {
        return status;
    }
    const bool captured = streams->captured(stream);
    if (!captured) {
        status = streams->create_event(false, &copy->event, error);
    }
    if (status == SMK_OK) {
        status = streams->copy_host(array->address, host, array->bytes, is_up, error);
    }
    if (status == SMK_OK && !captured) {
        status = streams->record_event(copy->event, stream, error);
    }
    smk_backend_leave(array->backend, array->device, before);
    return status;
}

int smk_async_copy_begin(const smk_state *state, const smk_array *array, PyArrayObject *host, bool is_up)
{
    const smk_backend_streams *streams = array->backend->streams;
    unsigned char *data = PyArray_DATA(host);
    smk_error error = {0};
    smk_status status = SMK_OK;
    if (array->bytes == 0 || !array->contiguous ||
        smk_stream_scope_present(array->backend, array->device) == SMK_STREAM_DEFAULT ||
        !smk_ndarray_is_plain(host, !is_up) || !streams->pinned(data) || !streams->pinned(data + array->bytes - 1)) {
        return 0;
    }
    free_ended();
    pending_copy *copy = PyMem_Calloc(1, sizeof *copy);
    if (copy == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    copy->streams = streams;
    copy->host = Py_NewRef((PyObject *)host);
    Py_BEGIN_ALLOW_THREADS
    status = begin(array, data, is_up, copy, &error);
    Py_END_ALLOW_THREADS
    if (status == SMK_OK && copy->event != NULL) {
        add(copy);
        return 1;
    }
    free_copy(copy);
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 1;
}
