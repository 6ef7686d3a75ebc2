/* Exceptions: one class for each row of status.def, and the conversion of an smk_error to one. */
#ifndef SMK_PY_ERROR_H
#define SMK_PY_ERROR_H

#include "py/state.h"

/* Creates the classes, keeps them in the state and adds them to the module. Returns 0, or -1 with an exception set. */
int smk_error_create(PyObject *module, smk_state *state);

/* Raises the error that a function of the layers below reported, with its position as attributes and at the end of the
 * text. Where the status is INTERRUPTED and an exception is set already, that exception stays. Always returns NULL. */
PyObject *smk_error_raise(const smk_state *state, const smk_error *error);

/* Raises the class of a status with a text formatted as by PyUnicode_FromFormat. Always returns NULL. */
PyObject *smk_error_fail(const smk_state *state, smk_status status, const char *format, ...);

/* Clears what a conversion raises for a value that it does not take: a TypeError, ValueError or OverflowError. Returns
 * false, with the exception set, for any other: no memory, an interrupt, or what an object's own method raised. */
bool smk_error_clear_conversion(void);

#endif
