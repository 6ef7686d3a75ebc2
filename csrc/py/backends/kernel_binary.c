#include "py/backends/kernel_binary.h"

#include "py/backends/selection.h"

#include "base/heap.h"
#include "base/mutation.h"
#include "sim/code/coverage.h"

#include <string.h>

smk_status smk_kernel_binary_create(char *ptx, size_t ptx_length, void *fatbin, smk_kernel_binary **binary,
                                    smk_error *error)
{
    bool is_mutant = false;
    smk_status status = smk_mutation_apply(&ptx, &ptx_length, &is_mutant, error);
    smk_kernel_binary *created = status == SMK_OK ? smk_heap_allocate(1, sizeof *created) : NULL;
    if (is_mutant) { /* a GPU runs it too: the driver compiles its PTX */
        smk_heap_free(fatbin);
        fatbin = NULL;
    }
    if (created == NULL) {
        smk_heap_free(ptx);
        smk_heap_free(fatbin);
        return status != SMK_OK ? status : smk_status_fail(error, SMK_MEMORY, "no memory left to load a kernel");
    }
    created->ptx = ptx;
    created->ptx_length = ptx_length;
    created->fatbin = fatbin;
    *binary = created;
    return SMK_OK;
}

void smk_kernel_binary_free(smk_kernel_binary *binary)
{
    if (binary == NULL) {
        return;
    }
    for (int i = 0; i < SMK_BACKEND_COUNT; i++) {
        smk_selection_backend((smk_backend_id)i)->unload(atomic_load(&binary->code[i]));
    }
    smk_module_free(atomic_load(&binary->module));
    smk_heap_free(binary->ptx);
    smk_heap_free(binary->fatbin);
    smk_heap_free(binary->origin);
    smk_heap_free(binary->source);
    smk_heap_free(binary->folder);
    smk_heap_free(binary);
}

static smk_status copy_text(const char *text, char **copy, smk_error *error)
{
    if (text == NULL) {
        return SMK_OK;
    }
    const size_t length = strlen(text);
    *copy = smk_heap_allocate(length + 1, 1);
    if (*copy == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to load a kernel");
    }
    memcpy(*copy, text, length);
    return SMK_OK;
}

smk_status smk_kernel_binary_set_origin(smk_kernel_binary *binary, const char *origin, smk_error *error)
{
    return copy_text(origin, &binary->origin, error);
}

smk_status smk_kernel_binary_set_source(smk_kernel_binary *binary, const char *source, const char *folder,
                                        smk_error *error)
{
    smk_status status = copy_text(source, &binary->source, error);
    return status == SMK_OK ? copy_text(folder, &binary->folder, error) : status;
}

/* Lets coverage know of kernels that nobody launches. */
static smk_status note_coverage(const smk_kernel_binary *binary, const smk_module *module, smk_error *error)
{
    smk_coverage_module *found = NULL;
    return smk_coverage_find(module, binary->source, binary->folder, &found, error);
}

/* Two threads may do the work at once; one result is kept and the other freed. That is cheaper than a lock that a
 * thread would hold without the GIL. */
smk_status smk_kernel_binary_module(smk_kernel_binary *binary, const smk_module **module, smk_error *error)
{
    smk_module *created = NULL, *present = atomic_load(&binary->module);
    if (present == NULL) {
        smk_status status = smk_parse_module(binary->ptx, binary->ptx_length, &created, error);
        if (status != SMK_OK) {
            return status;
        }
        if (atomic_compare_exchange_strong(&binary->module, &present, created)) {
            present = created;
        } else {
            smk_module_free(created);
        }
    }
    *module = present;
    return smk_coverage_is_on() ? note_coverage(binary, present, error) : SMK_OK;
}

smk_status smk_kernel_binary_code(smk_kernel_binary *binary, const smk_backend *backend, const char *entry,
                                  smk_backend_code **code, smk_error *error)
{
    smk_backend_code *created = NULL, *present = atomic_load(&binary->code[backend->id]);
    if (present == NULL) {
        smk_backend_image image = {.ptx = binary->ptx,
                                   .fatbin = binary->fatbin,
                                   .origin = binary->origin,
                                   .source = binary->source,
                                   .folder = binary->folder};
        smk_status status = SMK_OK;
        if (backend->id == SMK_BACKEND_SIM) {
            status = smk_kernel_binary_module(binary, &image.module, error);
        }
        if (status == SMK_OK) {
            status = backend->load(&image, entry, &created, error);
        }
        if (status != SMK_OK) {
            return status;
        }
        if (atomic_compare_exchange_strong(&binary->code[backend->id], &present, created)) {
            present = created;
        } else {
            backend->unload(created);
        }
    }
    *code = present;
    return SMK_OK;
}
