/* Items of dicts that are being built. */
#ifndef SMK_PY_DICT_H
#define SMK_PY_DICT_H

#include "py/api.h"

/* Sets an item and steals the reference to value. Returns 0, or -1 with an exception set, as where value is NULL. */
int smk_dict_set(PyObject *dict, const char *key, PyObject *value);

#endif
