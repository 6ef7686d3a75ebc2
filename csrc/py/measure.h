/* For smemkit.bench, with a leading underscore in Python: CUDA events, and work of a known size on device arrays. */
#ifndef SMK_PY_MEASURE_H
#define SMK_PY_MEASURE_H

#include "py/py.h"

PyObject *smk_measure_create(PyObject *module, PyObject *ignored);
PyObject *smk_measure_start(PyObject *module, PyObject *timer);
PyObject *smk_measure_stop(PyObject *module, PyObject *timer);
PyObject *smk_measure_synchronize(PyObject *module, PyObject *ignored);
PyObject *smk_measure_clear(PyObject *module, PyObject *array);
PyObject *smk_measure_copy(PyObject *module, PyObject *const *arguments, Py_ssize_t given);

#endif
