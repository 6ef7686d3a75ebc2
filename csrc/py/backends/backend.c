#include "py/backends/backend.h"

smk_status smk_backend_device(const smk_backend *backend, int *device, smk_error *error)
{
    *device = 0;
    return backend->current != NULL ? backend->current(device, error) : SMK_OK;
}

smk_status smk_backend_enter(const smk_backend *backend, int device, int *before, smk_error *error)
{
    *before = device;
    return backend->enter != NULL && device != SMK_DEVICE_PRESENT ? backend->enter(device, before, error) : SMK_OK;
}

void smk_backend_leave(const smk_backend *backend, int device, int before)
{
    if (backend->leave != NULL && device != SMK_DEVICE_PRESENT) {
        backend->leave(device, before);
    }
}

smk_status smk_backend_follow(const smk_backend *backend, int waiting, int awaited, smk_error *error)
{
    return backend->follow_device == NULL ? SMK_OK
                                          : backend->follow_device(waiting, backend->present_stream(waiting), awaited,
                                                                   backend->present_stream(awaited), error);
}
