/* How many blocks of a kernel a multiprocessor holds, and the block size for most of them. */
#ifndef SMK_PY_RESIDENT_H
#define SMK_PY_RESIDENT_H

#include "py/py.h"

/* Creates the named tuple Occupancy, keeps it in the state and adds it to the module. 0, or -1 with an exception. */
int smk_resident_create(PyObject *module, smk_state *state);

PyObject *smk_resident_occupancy(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords);
PyObject *smk_resident_suggest_block(PyObject *module, PyObject *const *arguments, Py_ssize_t given,
                                     PyObject *keywords);

/* _occupancy(compute_capability, threads, threads_max, registers, barriers, static, dynamic): the arithmetic alone. */
PyObject *smk_resident_door(PyObject *module, PyObject *const *arguments, Py_ssize_t given);

/* _calculator(kernel, threads, shared_bytes): by the CUDA runtime, a list of the resident blocks for each size of a
 * tuple; for () the (grid, block) that it suggests. */
PyObject *smk_resident_calculator(PyObject *module, PyObject *const *arguments, Py_ssize_t given);

#endif
