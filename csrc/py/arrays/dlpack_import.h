/* Arrays of other libraries as device arrays or NumPy arrays, by DLPack. */
#ifndef SMK_PY_ARRAYS_DLPACK_IMPORT_H
#define SMK_PY_ARRAYS_DLPACK_IMPORT_H

#include "py/arrays/array.h"

#include <dlpack/dlpack.h>

#define SMK_DLPACK_PLAIN "dltensor"
#define SMK_DLPACK_VERSIONED "dltensor_versioned"
#define SMK_DLPACK_TABLE "dlpack_exchange_api"
#define SMK_DLPACK_TABLE_ATTRIBUTE "__dlpack_c_exchange_api__"

/* Takes a tensor and its ownership, also where it fails: memory of a GPU, or of the host for the simulator. A new
 * reference to a DeviceArray, or NULL with an exception set. Messages begin with `subject`. */
PyObject *smk_dlpack_import_managed(const smk_state *state, const char *subject, DLManagedTensorVersioned *tensor);

/* An array of an object with __dlpack__ whose work our default stream awaits: a DeviceArray for memory of a GPU; for
 * memory of the host a DeviceArray of the simulator, or a NumPy array where `as_numpy`. A new reference, or NULL with an
 * exception set. */
PyObject *smk_dlpack_import_object(const smk_state *state, const char *subject, PyObject *object, bool as_numpy);

/* Whether the elements are the negatives of those in memory, as in x.conj().imag of PyTorch, of which DLPack says nothing.
 * Such a tensor is one half of complex elements: it costs nothing where several elements lie side by side. Returns 0 or
 * 1, or -1 with an exception set. */
int smk_dlpack_import_is_negative(PyObject *object, const DLTensor *tensor);

/* The array of an object whose type has a table of C functions, for as long as a call lasts that holds the object: no
 * ownership moves. Our default stream waits for the stream on which its library works. A new reference as above, with
 * NumPy arrays for the host's memory, or NULL with an exception set. */
PyObject *smk_dlpack_import_borrowed(const smk_state *state, const char *subject, const DLPackExchangeAPI *table,
                                     PyObject *object);

/* An uninitialized array of the device, type and shape of a tensor; NULL with an exception set. */
smk_array *smk_dlpack_import_like(const smk_state *state, const DLTensor *prototype);

#endif
