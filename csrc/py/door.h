/* Doors for tests and for our own Python, with a leading underscore there: pieces of the layers below, one at a
 * time. */
#ifndef SMK_PY_DOOR_H
#define SMK_PY_DOOR_H

#include "py/py.h"

PyObject *smk_door_ptx_print(PyObject *module, PyObject *text);
PyObject *smk_door_ptx_equal(PyObject *module, PyObject *const *arguments, Py_ssize_t given);
PyObject *smk_door_registry_plan(PyObject *module, PyObject *const *arguments, Py_ssize_t given);
PyObject *smk_door_flops(PyObject *module, PyObject *const *arguments, Py_ssize_t given);
PyObject *smk_door_signature_bind(PyObject *module, PyObject *const *arguments, Py_ssize_t given);
PyObject *smk_door_fail_after(PyObject *module, PyObject *count);
PyObject *smk_door_quota(PyObject *module, PyObject *root);
PyObject *smk_door_isa(PyObject *module, PyObject *ignored);
PyObject *smk_door_fuse(PyObject *core, PyObject *const *arguments, Py_ssize_t given);
PyObject *smk_door_run_stats(PyObject *module, PyObject *ignored);

#endif
