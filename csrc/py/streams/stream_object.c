#include "py/streams/stream_object.h"

#include <stdatomic.h>

smk_stream *smk_stream_object_cast(const smk_state *state, PyObject *object)
{
    return object != NULL && Py_TYPE(object) == state->stream_type ? (smk_stream *)(void *)object : NULL;
}

bool smk_stream_object_is_closed(const smk_stream *stream)
{
    return atomic_load(&stream->closed);
}
