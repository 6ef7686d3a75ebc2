/* Arguments that are arrays of other libraries. */
#ifndef SMK_PY_ARRAYS_FOREIGN_H
#define SMK_PY_ARRAYS_FOREIGN_H

#include "py/arrays/array.h"

/* True for numbers, sequences, NumPy's objects and ours: smk_foreign_take gives these as they are. */
bool smk_foreign_is_own(const smk_state *state, PyObject *object);

/* The array that an argument of another library is, for as long as the call holds the argument: memory of a GPU as a
 * DeviceArray, memory of the host as a NumPy array over the same bytes. The object itself for anything else. The stream
 * on which the thread works waits for the library's. A new reference, or NULL with an exception set. Messages begin with
 * `subject`. */
PyObject *smk_foreign_take(const smk_state *state, const char *subject, PyObject *object);

/* The same for an array that stays: it keeps the memory alive by itself. */
PyObject *smk_foreign_keep(const smk_state *state, const char *subject, PyObject *object);

/* Makes the stream of the argument's library wait for the thread's, after the launch: CuPy's, or that of a library with a
 * table of C functions. Others order their work themselves. Returns 0, or -1 with an exception set. */
int smk_foreign_finish(const smk_state *state, PyObject *object, const smk_array *array);

/* Where an array lies on a GPU, for a launch that needs no more. */
typedef struct smk_foreign_view {
    uint64_t address;
    int device;
    char kind; /* of the elements, as numpy.dtype.kind has it */
    size_t item_bytes;
    bool contiguous; /* in C order */
} smk_foreign_view;

/* Reads an array on a GPU of a type that smk_foreign_take has met, if calls of C functions tell, or CuPy's attributes.
 * False without an exception for all else. */
bool smk_foreign_read(const smk_state *state, PyObject *object, smk_foreign_view *view);

/* The stream on which the library of such an array works; the default one for all else. Returns 0, or -1 with an
 * exception set. */
int smk_foreign_stream(const smk_state *state, PyObject *object, int device, uint64_t *stream);

/* What is kept of the types that were met, as a part of the state. Returns 0, or -1 with an exception set. */
int smk_foreign_create(smk_state *state);
int smk_foreign_traverse(const smk_state *state, visitproc visit, void *arg);
void smk_foreign_clear(smk_state *state);
void smk_foreign_free(smk_state *state);

#endif
