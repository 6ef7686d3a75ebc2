#include "py/backends/package_kernels.h"

#include "base/heap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { READ_BYTES_FIRST = 1 << 16 };

int smk_package_kernels_create(smk_state *state)
{
    state->binaries = smk_heap_allocate(smk_registry_variant_count(), sizeof *state->binaries);
    if (state->binaries == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

void smk_package_kernels_free(smk_state *state)
{
    for (size_t i = 0; state->binaries != NULL && i < smk_registry_variant_count(); i++) {
        smk_kernel_binary_free(atomic_load(&state->binaries[i]));
    }
    smk_heap_free((void *)state->binaries);
    state->binaries = NULL;
}

/* Reads a stream to its end, and adds a NUL. */
static smk_status read_stream(FILE *stream, const char *path, char **bytes, size_t *length, smk_error *error)
{
    size_t used = 0, capacity = READ_BYTES_FIRST;
    char *text = smk_heap_allocate(capacity, 1);
    while (text != NULL) {
        used += fread(text + used, 1, capacity - used - 1, stream);
        if (used < capacity - 1) {
            break; /* end of the stream, or an error */
        }
        char *grown = smk_heap_resize(text, used, capacity * 2);
        if (grown == NULL) {
            smk_heap_free(text);
        }
        text = grown;
        capacity *= 2;
    }
    if (text == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to read %s", path);
    }
    if (ferror(stream)) {
        smk_heap_free(text);
        return smk_status_fail(error, SMK_INTERNAL, "%s cannot be read", path);
    }
    text[used] = '\0';
    *bytes = text;
    *length = used;
    return SMK_OK;
}

smk_status smk_package_kernels_read(const smk_state *state, const smk_variant *variant, const char *kind, char **bytes,
                                    size_t *length, smk_error *error)
{
    static const char format[] = "%s/kernels/%s/%s.%s";
    const char *folder = PyBytes_AS_STRING(state->folder);
    size_t path_bytes = strlen(folder) + strlen(variant->family) + strlen(variant->name) + strlen(kind) + sizeof format;
    char *path = smk_heap_allocate(path_bytes, 1);
    if (path == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left for a file name");
    }
    (void)snprintf(path, path_bytes, format, folder, variant->family, variant->name, kind);
    FILE *stream = fopen(path, "rb");
    smk_status status = SMK_OK;
    if (stream == NULL) {
        status = smk_status_fail(error, SMK_INTERNAL, "the installation of smemkit is incomplete: %s: %s", path,
                                 strerror(errno));
    } else {
        status = read_stream(stream, path, bytes, length, error);
        (void)fclose(stream);
    }
    smk_heap_free(path);
    return status;
}

/* The files of the kernel, for coverage. */
static smk_status set_folder(const smk_state *state, const smk_variant *variant, smk_kernel_binary *binary,
                             smk_error *error)
{
    char folder[4096];
    const int length =
        snprintf(folder, sizeof folder, "%s/kernels/%s", PyBytes_AS_STRING(state->folder), variant->family);
    const bool fits = length > 0 && (size_t)length < sizeof folder;
    return fits ? smk_kernel_binary_set_source(binary, NULL, folder, error) : SMK_OK;
}

smk_status smk_package_kernels_load(const smk_state *state, const smk_variant *variant, smk_kernel_binary **binary,
                                    smk_error *error)
{
    char *ptx = NULL, *fatbin = NULL;
    size_t ptx_length = 0, fatbin_length = 0;
    smk_error absence = {0};
    smk_status status = smk_package_kernels_read(state, variant, "ptx", &ptx, &ptx_length, error);
    if (status != SMK_OK) {
        return status;
    }
    /* a build without fatbins is complete: the driver compiles the PTX */
    status = smk_package_kernels_read(state, variant, "fatbin", &fatbin, &fatbin_length, &absence);
    if (status == SMK_MEMORY) {
        smk_heap_free(ptx);
        *error = absence;
        return status;
    }
    status = smk_kernel_binary_create(ptx, ptx_length, fatbin, binary, error);
    return status == SMK_OK ? set_folder(state, variant, *binary, error) : status;
}

smk_status smk_package_kernels_get(const smk_state *state, const smk_variant *variant, smk_kernel_binary **binary,
                                   smk_error *error)
{
    size_t index = 0;
    while (index < smk_registry_variant_count() && smk_registry_variant(index) != variant) {
        index++;
    }
    if (index == smk_registry_variant_count()) {
        return smk_status_fail(error, SMK_INTERNAL, "variant %s is in no table", variant->name);
    }
    smk_kernel_binary *created = NULL, *present = atomic_load(&state->binaries[index]);
    if (present == NULL) {
        smk_status status = smk_package_kernels_load(state, variant, &created, error);
        if (status != SMK_OK) {
            return status;
        }
        if (atomic_compare_exchange_strong(&state->binaries[index], &present, created)) {
            present = created;
        } else {
            smk_kernel_binary_free(created);
        }
    }
    *binary = present;
    return SMK_OK;
}
