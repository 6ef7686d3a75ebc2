/* The type smemkit.Stream. */
#ifndef SMK_PY_STREAMS_STREAM_TYPE_H
#define SMK_PY_STREAMS_STREAM_TYPE_H

#include "py/streams/stream_object.h"

extern PyType_Spec smk_stream_type_spec;

#endif
