/* Named tuples as types of results. */
#ifndef SMK_PY_NAMED_TUPLE_H
#define SMK_PY_NAMED_TUPLE_H

#include "py/api.h"

/* Makes a collections.namedtuple with the fields, a text with blanks between them, and adds it to the module. A new
 * reference, or NULL with an exception set. */
PyObject *smk_named_tuple_create(PyObject *module, const char *name, const char *fields);

#endif
