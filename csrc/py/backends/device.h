/* Devices as calls name them: by device=, or by the block of a smemkit.Device around them. All functions need the GIL. */
#ifndef SMK_PY_BACKENDS_DEVICE_H
#define SMK_PY_BACKENDS_DEVICE_H

#include "py/backends/backend.h"
#include "py/state.h"

/* smemkit.Device. */
typedef struct smk_device {
    PyObject_HEAD const smk_backend *backend;
    int number;
} smk_device;

/* Text of a device, "sim" or "cuda:1". */
enum { SMK_DEVICE_TEXT_BYTES = 32 };
void smk_device_write(const smk_backend *backend, int number, char text[SMK_DEVICE_TEXT_BYTES]);

/* Reads what device= may be (NULL: nothing was given): a number, a text as above, a smemkit.Device, or a GPU as
 * other libraries have it. *backend is NULL
 * where that names no machine, *number SMK_DEVICE_PRESENT where it names no device. Messages begin with `subject`. Returns
 * 0, or -1 with an exception set. */
int smk_device_read(const smk_state *state, const char *subject, PyObject *object, const smk_backend **backend,
                    int *number);

/* Returns 0 where the machine has such a device (SMK_DEVICE_PRESENT too), -1 with an ArgumentError where not. */
int smk_device_check(const smk_state *state, const char *subject, const smk_backend *backend, int number);

/* The machine and the device of a call without device arrays, by device= and backend= (NULL: not given): as they say,
 * and else as for every call. Returns 0, or -1 with an exception set. */
int smk_device_choose(const smk_state *state, const char *subject, PyObject *object, PyObject *machine,
                      const smk_backend **backend, int *number);

/* Returns 0 where device= (NULL: not given) names the device on which the array `name` lives, -1 with an ArgumentError
 * where it names another one. */
int smk_device_confirm(const smk_state *state, const char *subject, PyObject *object, const char *name,
                       const smk_backend *backend, int number);

/* Begins a block in which the thread's calls run on the device unless they or their arrays say otherwise; leave ends the
 * innermost one. Return 0, or -1 with an exception set. */
int smk_device_enter(const smk_state *state, const smk_device *device);
int smk_device_leave(const smk_state *state);

#endif
