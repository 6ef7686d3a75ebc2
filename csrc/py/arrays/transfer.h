/* Copies between host and device on request: asarray, empty, asnumpy. */
#ifndef SMK_PY_ARRAYS_TRANSFER_H
#define SMK_PY_ARRAYS_TRANSFER_H

#include "py/arrays/array.h"
#include "py/streams/stream_scope.h"

extern PyMethodDef smk_transfer_methods[];

/* A copy of an array-like of the host on a device, of the type `wanted` (NULL: its own). Messages begin with `subject`.
 * A new reference, or NULL with an exception set. */
smk_array *smk_transfer_upload(const smk_state *state, const char *subject, PyObject *object, PyArray_Descr *wanted,
                               const smk_backend *backend, int device);

/* The elements of a device array of any strides as a new NumPy array, or NULL with an exception set. */
PyArrayObject *smk_transfer_download(const smk_state *state, smk_array *array);

/* The elements of a device array of any strides in `out`, a NumPy array of its type and shape that is held and writeable;
 * NULL: in a new one. A new reference, or NULL with an exception set. */
PyObject *smk_transfer_fetch(const smk_state *state, smk_array *array, PyObject *out);

/* The device array itself, or a copy of another type (NULL: its own) on the same device. A new reference, or NULL with
 * an exception set. */
smk_array *smk_transfer_convert(const smk_state *state, smk_array *array, PyArray_Descr *wanted);

/* The device array itself, or a copy of another type (NULL: its own) or on another device of a machine
 * (SMK_DEVICE_PRESENT: where it lives): from one GPU to another directly, else by way of the host. A new reference, or
 * NULL with an exception set. */
smk_array *smk_transfer_move(const smk_state *state, const char *subject, smk_array *array, PyArray_Descr *wanted,
                             const smk_backend *backend, int device);

/* The device array itself where device= names its device (NULL: not given), else a contiguous copy on the one that it
 * names. `scope` has stream=, and must be one of the device of the result. A new reference, or NULL with an exception
 * set. */
smk_array *smk_transfer_place(const smk_state *state, const char *subject, smk_array *array, PyObject *device,
                              const smk_stream_scope *scope);

/* The native type that a dtype argument names, a new reference. NULL with an exception set. */
PyArray_Descr *smk_transfer_type(const smk_state *state, const char *subject, PyObject *dtype);

#endif
