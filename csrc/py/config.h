/* Which machine, and what it is: set_backend, get_backend, device_info, and the facts behind show_config. */
#ifndef SMK_PY_CONFIG_H
#define SMK_PY_CONFIG_H

#include "py/py.h"

PyObject *smk_config_set_backend(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords);
PyObject *smk_config_get_backend(PyObject *module, PyObject *ignored);
PyObject *smk_config_device_info(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords);
PyObject *smk_config_facts(PyObject *module, PyObject *ignored); /* _config() */

#endif
