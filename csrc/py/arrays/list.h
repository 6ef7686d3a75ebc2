/* Large lists of Python numbers as NumPy arrays. NumPy converts a list in one call, which takes long and does not look
 * at signals. The usual lists are converted here instead, with a look at signals between pieces. */
#ifndef SMK_PY_ARRAYS_LIST_H
#define SMK_PY_ARRAYS_LIST_H

#include "py/state.h"

/* Converts a large list, or lists of lists of equal lengths, whose items are all float or all int, to the array that
 * NumPy would make of it: float64 or int64. Where `wanted` (NULL: any type) is a float type, float64 takes both. The
 * caller converts on to `wanted`. `*array` becomes a new reference, or NULL where NumPy must convert: also where the two
 * steps could differ from NumPy's conversion of each item. Returns 0, or -1 with the exception of a signal's handler. */
int smk_list_convert(PyObject *object, const PyArray_Descr *wanted, PyArrayObject **array);

#endif
