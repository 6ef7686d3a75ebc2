/* The machine in use and its properties: set_backend, get_backend, device_info, and the facts of show_config. */
#ifndef SMK_PY_QUERIES_CONFIG_H
#define SMK_PY_QUERIES_CONFIG_H

#include "py/backends/backend.h"
#include "py/state.h"

/* smemkit.device_info(device, backend), each NULL where not given. A new reference, or NULL with an exception set. */
PyObject *smk_config_device_info(const smk_state *state, PyObject *device, PyObject *backend);

/* The same of a device that exists, or of SMK_DEVICE_PRESENT. */
PyObject *smk_config_describe(const smk_state *state, const smk_backend *backend, int device);

extern PyMethodDef smk_config_methods[];

#endif
