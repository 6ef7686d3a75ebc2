/* The stream that an argument names: ours, that of another library, or a handle. */
#ifndef SMK_PY_STREAMS_STREAM_CHOICE_H
#define SMK_PY_STREAMS_STREAM_CHOICE_H

#include "py/backends/backend.h"
#include "py/state.h"

typedef struct smk_stream_choice {
    const smk_backend *backend; /* NULL: the default stream, which each machine and device has */
    int device;                 /* of the machine; SMK_DEVICE_PRESENT for the default stream */
    uint64_t handle;            /* SMK_STREAM_DEFAULT on the simulator, too */
    PyObject *owner;            /* owned: as long as it lives, so does the stream; NULL: it is not known */
} smk_stream_choice;

/* Reads a smemkit.Stream, an object with __cuda_stream__, a stream of CuPy (ptr), PyTorch (cuda_stream) or Numba
 * (handle), or an int. Messages begin with `subject`. Returns 0, or -1 with an exception set: ArgumentTypeError where it is
 * none of these, ArgumentError where it is closed or no handle, BackendError where there is no GPU. */
int smk_stream_choice_read(const smk_state *state, const char *subject, PyObject *value, smk_stream_choice *choice);

/* The same for a stream of ours that is open; false for anything else. */
bool smk_stream_choice_take(const smk_state *state, PyObject *value, smk_stream_choice *choice);

void smk_stream_choice_free(smk_stream_choice *choice);

#endif
