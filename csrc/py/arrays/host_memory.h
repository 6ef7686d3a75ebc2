/* managed_empty and mapped: device arrays whose memory the host reaches, too. */
#ifndef SMK_PY_ARRAYS_HOST_MEMORY_H
#define SMK_PY_ARRAYS_HOST_MEMORY_H

#include "py/arrays/array.h"
#include "py/state.h"

extern PyMethodDef smk_host_memory_methods[];

/* The elements of an array on a GPU as a NumPy array, when its device has done all work. A new reference, or NULL with a
 * BufferError where the host does not reach them. */
PyArrayObject *smk_host_memory_view(const smk_state *state, smk_array *array);

#endif
