/* Calls of Python functions whose launches are captured: smemkit.profile and smemkit.check are made of them. Each launch
 * that the thread makes meanwhile becomes a dict as soon as the execution that it is a part of ends. */
#ifndef SMK_PY_CALLS_CAPTURED_CALL_H
#define SMK_PY_CALLS_CAPTURED_CALL_H

#include "py/state.h"

#include <stdbool.h>

/* With the GIL, at the end of each execution: the new records of this thread become dicts (`keep`) or are dropped. 0, or
 * -1 with an exception. */
int smk_captured_call_collect(const smk_state *state, bool keep);

/* A launch of that kernel has ended with an error, which the captured function may hide: it is noted beside the launches,
 * so that no report is made of the other launches alone. 0, or -1 with an exception. */
int smk_captured_call_note_refusal(const char *kernel, const char *message);

extern PyMethodDef smk_captured_call_methods[];

#endif
