/* The stream on which the calling thread works: for the time of a call, or of a with block. */
#ifndef SMK_PY_STREAMS_STREAM_SCOPE_H
#define SMK_PY_STREAMS_STREAM_SCOPE_H

#include "py/streams/stream_choice.h"

/* Zero-initialised; smk_stream_scope_end in any case, in the same thread. */
typedef struct smk_stream_scope {
    smk_stream_choice choice;
    bool named, entered, suspended_before;
    uint64_t before;
    PyObject *owner_before;
} smk_stream_scope;

/* Begins a call with the argument `stream` (NULL or None: not given). Messages begin with the name of the function.
 * Returns 0, or -1 with an exception set. */
int smk_stream_scope_begin(const smk_state *state, const char *function, PyObject *stream, smk_stream_scope *scope);

/* The keyword backend= of a call: as given (NULL: not), or the name of the stream's machine where neither it nor device=
 * is given. A new reference, perhaps NULL. Returns 0, or -1 with an exception set. */
int smk_stream_scope_machine(const smk_stream_scope *scope, PyObject *machine, PyObject *device, PyObject **result);

/* Checks that the stream is one of the call's machine and device; SMK_DEVICE_PRESENT becomes the stream's device.
 * Returns 0, or -1 with an ArgumentError. */
int smk_stream_scope_check(const smk_state *state, const char *function, const smk_stream_scope *scope,
                           const smk_backend *backend, int *device);

void smk_stream_scope_end(smk_stream_scope *scope);

/* The stream on which the thread works on a device of a machine, and what keeps it alive (borrowed, perhaps NULL). */
uint64_t smk_stream_scope_present(const smk_backend *backend, int device);
PyObject *smk_stream_scope_owner(int device);
/* Does a graph capture the work of that stream? */
bool smk_stream_scope_captured(const smk_backend *backend, int device);

/* A with block: takes over the choice. The present device is the stream's meanwhile. Returns 0, or -1 with an exception
 * set. */
int smk_stream_scope_push(const smk_state *state, smk_stream_choice *choice);
/* Ends the innermost block of `owner` in this thread. It may have begun before others that go on: generators and
 * coroutines end their blocks in any order. Returns 0, or -1 with an exception set. */
int smk_stream_scope_pop(const smk_state *state, const PyObject *owner);
/* The choice of the thread's innermost block; NULL without one. */
const smk_stream_choice *smk_stream_scope_innermost(void);

#endif
