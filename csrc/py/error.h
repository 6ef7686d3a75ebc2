/* Exceptions: one class for each row of status.def, and how an smk_error becomes one. */
#ifndef SMK_PY_ERROR_H
#define SMK_PY_ERROR_H

#include "py/state.h"

/* Creates the classes, keeps them in the state and adds them to the module. 0, or -1 with an exception. */
int smk_error_create(PyObject *module, smk_state *state);

/* Raises what a function below reported, with its position as attributes and behind the text.
 * Where the status is INTERRUPTED and an exception is set already, that one stays. Always NULL. */
PyObject *smk_error_raise(const smk_state *state, const smk_error *error);

/* Raises the class of a status with a text formatted as PyUnicode_FromFormat does. Always NULL. */
PyObject *smk_error_fail(const smk_state *state, smk_status status, const char *format, ...);

#endif
