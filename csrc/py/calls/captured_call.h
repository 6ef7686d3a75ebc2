/* Calls of Python functions whose launches are captured; smemkit.profile and smemkit.check are made of them. Each
 * launch becomes a dict at the end of the execution that it belongs to. */
#ifndef SMK_PY_CALLS_CAPTURED_CALL_H
#define SMK_PY_CALLS_CAPTURED_CALL_H

#include "py/state.h"

#include <stdbool.h>

/* Makes dicts of this thread's new records (`keep`) or drops them; those of a watch go to its listener, which may raise.
 * Called with the GIL at the end of each execution. Returns 0, or -1 with an exception set. */
int smk_captured_call_collect(const smk_state *state, bool keep);

/* Notes beside the launches that a launch of that kernel has failed. The captured function may hide the error, and a
 * report of the other launches alone would be wrong. Returns 0, or -1 with an exception set. */
int smk_captured_call_note_refusal(const char *kernel, const char *message);

extern PyMethodDef smk_captured_call_methods[];

#endif
