/* The CUDA Array Interface, version 3, both ways. */
#ifndef SMK_PY_ARRAYS_CUDA_INTERFACE_H
#define SMK_PY_ARRAYS_CUDA_INTERFACE_H

#include "py/arrays/array.h"

/* The property __cuda_array_interface__ of an array; AttributeError where it does not lie on a GPU. */
PyObject *smk_cuda_interface_get(PyObject *self, void *closure);

/* A DeviceArray over the memory of an object whose __cuda_array_interface__ is `interface`; our default stream waits for
 * the stream that it names. A new reference, or NULL with an exception set. Messages begin with `subject`. */
smk_array *smk_cuda_interface_import(const smk_state *state, const char *subject, PyObject *object,
                                     PyObject *interface);

#endif
