/* Arguments of a builtin by position and by name. */
#ifndef SMK_PY_KEYWORDS_H
#define SMK_PY_KEYWORDS_H

#include "py/state.h"

typedef struct smk_keywords {
    const char *function;
    const char *const *names;
    Py_ssize_t count;      /* number of names */
    Py_ssize_t positional; /* so many names may be given by position */
    Py_ssize_t required;   /* so many names must be given */
} smk_keywords;

/* Fills values[count] with borrowed references; NULL for an argument that was not given. Returns 0, or -1 with a
 * TypeError worded as CPython words it. */
int smk_keywords_bind(const smk_keywords *accepted, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords,
                      PyObject **values);

/* Maps None to NULL, for an argument whose default is None. */
PyObject *smk_keywords_optional(PyObject *value);

/* Converts a value with __index__ to an int, a new reference. A bool is refused. NULL without an exception set where
 * the value is no whole number, so that the caller names the argument; with an exception set where __index__ raised
 * another error than TypeError, such as KeyboardInterrupt. */
PyObject *smk_keywords_index(PyObject *value);

/* The UTF-8 text of a str, or NULL with an exception set that names the argument: TypeError, or ArgumentError for a
 * text with a NUL or without an encoding. */
const char *smk_keywords_text(const smk_state *state, const char *function, const char *name, PyObject *value);

#endif
