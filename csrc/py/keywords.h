/* Arguments of a builtin by position and by name. */
#ifndef SMK_PY_KEYWORDS_H
#define SMK_PY_KEYWORDS_H

#include "py/state.h"

typedef struct smk_keywords {
    const char *function;
    const char *const *names;
    Py_ssize_t count;      /* of the names */
    Py_ssize_t positional; /* the first so many may be given by position */
    Py_ssize_t required;   /* the first so many must be given */
} smk_keywords;

/* Fills values[count] with borrowed references, NULL where an argument was not given.
 * 0, or -1 with a TypeError in Python's own words. */
int smk_keywords_bind(const smk_keywords *accepted, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords,
                      PyObject **values);

/* "argument" of a keyword that may be None: NULL for both. */
PyObject *smk_keywords_optional(PyObject *value);

/* The int of what counts as a whole number, a new reference; a bool does not. NULL where it is none: without an
 * exception, so that the caller says what is needed, but for what its own __index__ raised (KeyboardInterrupt, too). */
PyObject *smk_keywords_index(PyObject *value);

/* The UTF-8 text of a str, or NULL with a TypeError that names the argument. */
const char *smk_keywords_text(const smk_state *state, const char *function, const char *name, PyObject *value);

#endif
