/* Arguments that are arrays of other libraries. */
#ifndef SMK_PY_ARRAYS_FOREIGN_H
#define SMK_PY_ARRAYS_FOREIGN_H

#include "py/arrays/array.h"

/* True for numbers, sequences, NumPy's objects and ours: smk_foreign_take gives these as they are. */
bool smk_foreign_is_own(const smk_state *state, PyObject *object);

/* The array that an argument of another library is, for as long as the call holds the argument: memory of a GPU as a
 * DeviceArray, memory of the host as a NumPy array over the same bytes. The object itself for anything else. Our default
 * stream waits for the work of the library's stream. A new reference, or NULL with an exception set. Messages begin with
 * `subject`. */
PyObject *smk_foreign_take(const smk_state *state, const char *subject, PyObject *object);

/* The same for an array that stays: it keeps the memory alive by itself. */
PyObject *smk_foreign_keep(const smk_state *state, const char *subject, PyObject *object);

/* Makes the stream of the argument's library wait for our default stream, after the launch. A library without a table
 * of C functions has no such stream, and orders its work itself. Returns 0, or -1 with an exception set. */
int smk_foreign_finish(const smk_state *state, PyObject *object, const smk_array *array);

/* What is kept of the types that were met, as a part of the state. Returns 0, or -1 with an exception set. */
int smk_foreign_create(smk_state *state);
int smk_foreign_traverse(const smk_state *state, visitproc visit, void *arg);
void smk_foreign_clear(smk_state *state);
void smk_foreign_free(smk_state *state);

#endif
