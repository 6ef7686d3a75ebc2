/* Shapes as arguments. */
#ifndef SMK_PY_ARRAYS_SHAPE_H
#define SMK_PY_ARRAYS_SHAPE_H

#include "py/state.h"

/* Reads a length, or a sequence of lengths; the caller frees them with PyDimMem_FREE. `function` is for messages. Returns
 * 0, or -1 with an exception set. */
int smk_shape_read(const smk_state *state, const char *function, PyObject *object, PyArray_Dims *shape);

#endif
