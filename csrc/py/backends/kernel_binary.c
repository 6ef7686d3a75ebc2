#include "py/backends/kernel_binary.h"

#include "base/heap.h"

#include <string.h>

static const smk_backend *const machines[SMK_BACKEND_COUNT] = {&smk_backend_sim, &smk_backend_cuda};

smk_status smk_unit_create(char *ptx, size_t ptx_length, void *fatbin, smk_unit **unit, smk_error *error)
{
    smk_unit *fresh = smk_heap_allocate(1, sizeof *fresh);
    if (fresh == NULL) {
        smk_heap_free(ptx);
        smk_heap_free(fatbin);
        return smk_status_fail(error, SMK_MEMORY, "no memory left to load a kernel");
    }
    fresh->ptx = ptx;
    fresh->ptx_length = ptx_length;
    fresh->fatbin = fatbin;
    *unit = fresh;
    return SMK_OK;
}

void smk_unit_free(smk_unit *unit)
{
    if (unit == NULL) {
        return;
    }
    for (size_t i = 0; i < SMK_BACKEND_COUNT; i++) {
        machines[i]->unload(atomic_load(&unit->code[i]));
    }
    smk_module_free(atomic_load(&unit->module));
    smk_heap_free(unit->ptx);
    smk_heap_free(unit->fatbin);
    smk_heap_free(unit->origin);
    smk_heap_free(unit);
}

smk_status smk_unit_set_origin(smk_unit *unit, const char *origin, smk_error *error)
{
    const size_t length = strlen(origin);
    unit->origin = smk_heap_allocate(length + 1, 1);
    if (unit->origin == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to load a kernel");
    }
    memcpy(unit->origin, origin, length);
    return SMK_OK;
}

/* Two threads that come first at once both do the work; one result is kept and the other thrown away. That is
 * cheaper than a lock that a thread without the GIL would hold. */
smk_status smk_unit_module(smk_unit *unit, const smk_module **module, smk_error *error)
{
    smk_module *fresh = NULL, *present = atomic_load(&unit->module);
    if (present == NULL) {
        smk_status status = smk_module_parse(unit->ptx, unit->ptx_length, &fresh, error);
        if (status != SMK_OK) {
            return status;
        }
        if (atomic_compare_exchange_strong(&unit->module, &present, fresh)) {
            present = fresh;
        } else {
            smk_module_free(fresh);
        }
    }
    *module = present;
    return SMK_OK;
}

smk_status smk_unit_code(smk_unit *unit, const smk_backend *backend, const char *entry, smk_code **code,
                         smk_error *error)
{
    smk_code *fresh = NULL, *present = atomic_load(&unit->code[backend->id]);
    if (present == NULL) {
        smk_image image = {.ptx = unit->ptx, .fatbin = unit->fatbin, .origin = unit->origin};
        smk_status status = SMK_OK;
        if (backend->id == SMK_BACKEND_SIM) {
            status = smk_unit_module(unit, &image.module, error);
        }
        if (status == SMK_OK) {
            status = backend->load(&image, entry, &fresh, error);
        }
        if (status != SMK_OK) {
            return status;
        }
        if (atomic_compare_exchange_strong(&unit->code[backend->id], &present, fresh)) {
            present = fresh;
        } else {
            backend->unload(fresh);
        }
    }
    *code = present;
    return SMK_OK;
}
