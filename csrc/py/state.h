/* The state of one import of smemkit._core: what its functions and types share. */
#ifndef SMK_PY_STATE_H
#define SMK_PY_STATE_H

#include "py/api.h"

#include "base/status.h"

struct smk_foreign_types;
struct smk_kernel_binary;

typedef struct smk_state {
    PyObject *root;                         /* smemkit.Error */
    PyObject *exceptions[SMK_STATUS_COUNT]; /* by status; [0] is unused */
    PyTypeObject *array_type;
    PyTypeObject *device_type;
    PyTypeObject *stream_type;
    PyTypeObject *event_type;
    PyTypeObject *texture_type;
    PyTypeObject *raw_module_type;
    PyTypeObject *raw_kernel_type;
    vectorcallfunc raw_kernel_call;              /* of its instances */
    struct smk_foreign_types *foreign_types;     /* what is known of other libraries' array types */
    PyObject *device_memory;                     /* the named tuple DeviceMemory */
    PyObject *bank_access;                       /* the named tuple BankAccess */
    PyObject *occupancy;                         /* the named tuple Occupancy */
    PyObject *folder;                            /* bytes: the folder of the package, as the file system spells it */
    struct smk_kernel_binary *_Atomic *binaries; /* one for each variant of the registry, loaded when first used */
} smk_state;

static inline smk_state *smk_state_of_module(PyObject *module)
{
    return (smk_state *)PyModule_GetState(module);
}

/* The state of the module that an instance of one of our types belongs to; these types have no subclasses. */
static inline smk_state *smk_state_of_instance(PyObject *object)
{
    return (smk_state *)PyType_GetModuleState(Py_TYPE(object));
}

#endif
