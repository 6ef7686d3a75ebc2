#include "py/streams/stream_scope.h"

#include "py/backends/selection.h"
#include "py/error.h"

/* What keeps the thread's present streams alive, by device; borrowed from the scopes. */
static _Thread_local PyObject *owners[SMK_BACKEND_DEVICES_MAX];

/* A with block, and what it restores at its end. */
typedef struct block {
    struct block *outer;
    smk_stream_scope scope;
    int device_before;
    const smk_backend *preferred_before;
} block;

static _Thread_local block *innermost;

enum { SUBJECT_BYTES = 256 };

static bool is_counted(int device)
{
    return device >= 0 && device < SMK_BACKEND_DEVICES_MAX;
}

static void enter(smk_stream_scope *scope)
{
    const smk_stream_choice *choice = &scope->choice;
    const smk_backend_streams *streams = smk_selection_backend(SMK_BACKEND_CUDA)->streams;
    if (choice->backend != NULL && (choice->backend->streams == NULL || !is_counted(choice->device))) {
        return; /* the simulator works in order */
    }
    scope->entered = true;
    scope->suspended_before = streams->suspend(choice->backend == NULL);
    if (choice->backend != NULL) {
        scope->before = streams->enter(choice->device, choice->handle);
        scope->owner_before = owners[choice->device];
        owners[choice->device] = choice->owner;
    }
}

static void leave(smk_stream_scope *scope)
{
    const smk_stream_choice *choice = &scope->choice;
    const smk_backend_streams *streams = smk_selection_backend(SMK_BACKEND_CUDA)->streams;
    if (!scope->entered) {
        return;
    }
    scope->entered = false;
    (void)streams->suspend(scope->suspended_before);
    if (choice->backend != NULL) {
        (void)streams->enter(choice->device, scope->before);
        owners[choice->device] = scope->owner_before;
    }
}

int smk_stream_scope_begin(const smk_state *state, const char *function, PyObject *stream, smk_stream_scope *scope)
{
    char subject[SUBJECT_BYTES];
    if (stream == NULL || stream == Py_None) {
        return 0;
    }
    if (!smk_stream_choice_take(state, stream, &scope->choice)) {
        PyOS_snprintf(subject, sizeof subject, "%.200s: stream", function);
        if (smk_stream_choice_read(state, subject, stream, &scope->choice) < 0) {
            return -1;
        }
    }
    scope->named = true;
    enter(scope);
    return 0;
}

int smk_stream_scope_machine(const smk_stream_scope *scope, PyObject *machine, PyObject *device, PyObject **result)
{
    const bool named = scope->named && scope->choice.backend != NULL;
    *result = Py_XNewRef(machine);
    if (named && machine == NULL && device == NULL) {
        *result = PyUnicode_FromString(scope->choice.backend->name);
        return *result == NULL ? -1 : 0;
    }
    return 0;
}

int smk_stream_scope_check(const smk_state *state, const char *function, const smk_stream_scope *scope,
                           const smk_backend *backend, int *device)
{
    const smk_stream_choice *choice = &scope->choice;
    if (!scope->named || choice->backend == NULL) {
        return 0;
    }
    if (choice->backend != backend) {
        smk_error_fail(state, SMK_ARGUMENT, "%s: the stream is one of '%s', the call runs on '%s'", function,
                       choice->backend->name, backend->name);
        return -1;
    }
    if (backend->streams == NULL) {
        return 0;
    }
    if (*device != SMK_DEVICE_PRESENT && *device != choice->device) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "%s: the stream is one of device %d, the call runs on device %d, where the arrays lie; a stream "
                       "has work of its own device alone",
                       function, choice->device, *device);
        return -1;
    }
    *device = choice->device;
    return 0;
}

void smk_stream_scope_end(smk_stream_scope *scope)
{
    leave(scope);
    smk_stream_choice_free(&scope->choice);
}

uint64_t smk_stream_scope_present(const smk_backend *backend, int device)
{
    return backend->streams == NULL ? SMK_STREAM_DEFAULT : backend->streams->present(device);
}

bool smk_stream_scope_captured(const smk_backend *backend, int device)
{
    return backend->streams != NULL && backend->streams->captured(backend->streams->present(device));
}

PyObject *smk_stream_scope_owner(int device)
{
    return is_counted(device) ? owners[device] : NULL;
}

/* Makes the block's machine, device and stream those of the thread. */
static smk_status begin_block(block *made, smk_error *error)
{
    const smk_stream_choice *choice = &made->scope.choice;
    if (choice->backend != NULL) {
        smk_status status = smk_backend_enter(choice->backend, choice->device, &made->device_before, error);
        if (status != SMK_OK) {
            return status;
        }
        made->preferred_before = smk_selection_enter(choice->backend);
    }
    enter(&made->scope);
    return SMK_OK;
}

static void end_block(block *ended)
{
    const smk_stream_choice *choice = &ended->scope.choice;
    leave(&ended->scope);
    if (choice->backend != NULL) {
        (void)smk_selection_enter(ended->preferred_before);
        smk_backend_leave(choice->backend, choice->device, ended->device_before);
    }
}

int smk_stream_scope_push(const smk_state *state, smk_stream_choice *choice)
{
    smk_error error = {0};
    block *made = PyMem_Calloc(1, sizeof *made);
    if (made == NULL) {
        smk_stream_choice_free(choice);
        (void)PyErr_NoMemory();
        return -1;
    }
    made->scope.choice = *choice;
    made->scope.named = true;
    if (begin_block(made, &error) != SMK_OK) {
        smk_stream_choice_free(&made->scope.choice);
        PyMem_Free(made);
        smk_error_raise(state, &error);
        return -1;
    }
    made->outer = innermost;
    innermost = made;
    return 0;
}

/* The blocks inside one, outermost first, end and begin again round its removal. */
static smk_status remove_block(block *ended, block *inner, smk_error *error)
{
    if (inner == ended) {
        end_block(ended);
        return SMK_OK;
    }
    end_block(inner);
    smk_status status = remove_block(ended, inner->outer, error);
    smk_status begun = begin_block(inner, status == SMK_OK ? error : NULL);
    if (inner->outer == ended) {
        inner->outer = ended->outer;
    }
    return status == SMK_OK ? begun : status;
}

int smk_stream_scope_pop(const smk_state *state, const PyObject *owner)
{
    smk_error error = {0};
    block *ended = innermost;
    while (ended != NULL && ended->scope.choice.owner != owner) {
        ended = ended->outer;
    }
    if (ended == NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "the with block of a stream ends in the thread in which it began");
        return -1;
    }
    smk_status status = remove_block(ended, innermost, &error);
    if (innermost == ended) {
        innermost = ended->outer;
    }
    smk_stream_choice_free(&ended->scope.choice);
    PyMem_Free(ended);
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

const smk_stream_choice *smk_stream_scope_innermost(void)
{
    return innermost == NULL ? NULL : &innermost->scope.choice;
}
