/* Device arrays for other libraries, by DLPack: __dlpack__, and the table of C functions of the type. */
#ifndef SMK_PY_ARRAYS_DLPACK_EXPORT_H
#define SMK_PY_ARRAYS_DLPACK_EXPORT_H

#include "py/arrays/array.h"

/* __dlpack__ and __dlpack_device__, rows of the type's methods. */
extern const char smk_dlpack_export_doc[];
extern const char smk_dlpack_export_device_doc[];
PyObject *smk_dlpack_export_capsule(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords);
PyObject *smk_dlpack_export_device(PyObject *self, PyObject *ignored);

/* Adds __dlpack_c_exchange_api__ to the type, unless a living instance of the module has it. Returns 0, or -1 with an
 * exception set. */
int smk_dlpack_export_add_table(const smk_state *state);
void smk_dlpack_export_drop_table(const smk_state *state); /* when the instance of the module ends */

#endif
