/* smemkit.Device and smemkit.devices. */
#ifndef SMK_PY_QUERIES_DEVICE_TYPE_H
#define SMK_PY_QUERIES_DEVICE_TYPE_H

#include "py/state.h"

extern PyType_Spec smk_device_type_spec;
extern PyMethodDef smk_device_type_methods[];

/* Creates the named tuple DeviceMemory, keeps it in the state and adds it to the module. Returns 0, or -1 with an
 * exception set. */
int smk_device_type_create(PyObject *module, smk_state *state);

#endif
