/* A matrix product over several devices: each computes a panel of the rows. */
#ifndef SMK_PY_CALLS_PANELS_H
#define SMK_PY_CALLS_PANELS_H

#include "py/calls/family_call.h"

/* What devices= names. */
typedef struct smk_panels_devices {
    int *numbers;
    size_t count;
} smk_panels_devices;

/* Reads devices= and chooses the machine of the call, which backend= (NULL: not given) may only confirm. The numbers are
 * to be freed by smk_heap_free, also where it fails. Returns 0, or -1 with an exception set. */
int smk_panels_choose(smk_family_call *call, PyObject *devices, PyObject *backend, smk_panels_devices *chosen);

/* Runs the call, whose variant and shapes are known, on the devices; the result as of smk_family_run, a new reference, or
 * NULL with an exception set: an `out` on a device may then be written in part. */
PyObject *smk_panels_run(smk_family_call *call, const char *variant, const smk_panels_devices *devices);

#endif
