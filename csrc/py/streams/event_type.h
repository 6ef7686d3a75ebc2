/* smemkit.Event: a place in the work of a stream. */
#ifndef SMK_PY_STREAMS_EVENT_TYPE_H
#define SMK_PY_STREAMS_EVENT_TYPE_H

#include "py/streams/stream_choice.h"

typedef struct smk_event {
    PyObject_HEAD const smk_backend *backend; /* of the stream in which it was recorded; NULL: in none so far */
    int device;
    bool timing;
    void *event;     /* of the machine; NULL on the simulator */
    double ended_ms; /* on the simulator: the host's clock when it was recorded */
} smk_event;

extern PyType_Spec smk_event_type_spec;

/* NULL where the object is no event of ours. */
smk_event *smk_event_type_cast(const smk_state *state, PyObject *object);

/* Makes a stream wait for the event. Returns 0, or -1 with an exception set. */
int smk_event_type_delay(const smk_state *state, const smk_event *event, const smk_stream_choice *stream);

#endif
