/* The machine in use and its properties: set_backend, get_backend, device_info, and the facts of show_config. */
#ifndef SMK_PY_QUERIES_CONFIG_H
#define SMK_PY_QUERIES_CONFIG_H

#include "py/api.h"

PyObject *smk_config_device_info(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords);

extern PyMethodDef smk_config_methods[];

#endif
