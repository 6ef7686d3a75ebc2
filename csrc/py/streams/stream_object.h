/* The object behind smemkit.Stream: an order of work on one device. */
#ifndef SMK_PY_STREAMS_STREAM_OBJECT_H
#define SMK_PY_STREAMS_STREAM_OBJECT_H

#include "py/backends/backend.h"
#include "py/state.h"

typedef struct smk_stream {
    PyObject_HEAD const smk_backend *backend;
    int device; /* of the machine */
    uint64_t handle;
    bool owns;            /* the handle is to be destroyed */
    _Atomic(bool) closed; /* no more work; the handle lives on for arrays that it worked on */
    PyObject *original;   /* the stream of another library that this one is; NULL: none */
    PyObject *weak_references;
} smk_stream;

/* NULL where the object is no stream of ours. */
smk_stream *smk_stream_object_cast(const smk_state *state, PyObject *object);

bool smk_stream_object_is_closed(const smk_stream *stream);

#endif
