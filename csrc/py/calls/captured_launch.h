/* The record of a captured launch as Python objects. */
#ifndef SMK_PY_CALLS_CAPTURED_LAUNCH_H
#define SMK_PY_CALLS_CAPTURED_LAUNCH_H

#include "py/backends/capture.h"
#include "py/state.h"

/* A dict, a new reference; NULL with an exception set. `text` is the PTX of the kernel's module as a str. */
PyObject *smk_captured_launch_describe(const smk_state *state, const smk_capture_record *record, PyObject *text);

#endif
