/* The streams that have work with some memory, and the order behind that work. */
#ifndef SMK_PY_STREAMS_STREAM_WORK_H
#define SMK_PY_STREAMS_STREAM_WORK_H

#include "py/backends/backend.h"
#include "py/state.h"

struct smk_stream_uses;

/* Memory of a device, as the object that has it describes it for a call. */
typedef struct smk_stream_memory {
    PyObject *object; /* whose lock guards the list where Python has no GIL */
    const smk_backend *backend;
    int device;
    _Atomic(struct smk_stream_uses *) *uses; /* of the object; NULL in it: the default stream alone */
} smk_stream_memory;

/* Makes a stream of the device wait for the work so far of another one; without the GIL. Does nothing where a graph
 * captures the work of one of them alone. Returns 0, or -1 with an exception set. */
int smk_stream_work_follow(const smk_state *state, const smk_backend *backend, int device, uint64_t waiting,
                           uint64_t awaited);

/* Notes that the stream on which the thread works uses the memory; before the work. `fresh`: no stream has used it before.
 * Returns 0, or -1 with an exception set. */
int smk_stream_work_note(const smk_state *state, const smk_stream_memory *memory, bool fresh);

/* Makes a stream wait for all work with the memory. Returns 0, or -1 with an exception set. */
int smk_stream_work_order(const smk_state *state, const smk_stream_memory *memory, uint64_t waiting);

/* One stream behind which all work with the memory is: the only one that has used it, or one that nobody else uses. Returns
 * 0, or -1 with an exception set. */
int smk_stream_work_join(const smk_state *state, const smk_stream_memory *memory, uint64_t *stream);

/* Around the release of the memory, while its device is the present one: the thread works on a stream that is behind all
 * work with it. They need no GIL, and ignore errors. */
typedef struct smk_stream_release {
    uint64_t stream;
    bool suspended;
} smk_stream_release;

void smk_stream_work_enter(const smk_stream_memory *memory, smk_stream_release *release);
void smk_stream_work_leave(const smk_stream_memory *memory, const smk_stream_release *release);

/* Forgets all uses. */
void smk_stream_work_free(const smk_stream_memory *memory);

#endif
