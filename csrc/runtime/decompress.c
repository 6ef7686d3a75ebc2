#include "runtime/decompress.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

/* The functions of the libraries, as their documentation declares them. */
typedef size_t zstd_decompress(void *target, size_t bytes, const void *packed, size_t packed_bytes);
typedef int lz4_decompress(const char *packed, char *target, int packed_bytes, int bytes);

static const struct {
    const char *name, *file, *function, *package;
} libraries[] = {
    [SMK_DECOMPRESS_LZ4] = {"LZ4", "liblz4.so.1", "LZ4_decompress_safe", "liblz4-1"},
    [SMK_DECOMPRESS_ZSTD] = {"Zstandard", "libzstd.so.1", "ZSTD_decompress", "libzstd1"},
};

static void *find_function(smk_decompress_format format)
{
    void *library = dlopen(libraries[format].file, RTLD_NOW | RTLD_LOCAL);
    return library == NULL ? NULL : dlsym(library, libraries[format].function);
}

smk_status smk_decompress_run(smk_decompress_format format, const void *packed, size_t packed_bytes, void *target,
                              size_t bytes, smk_error *error)
{
    void *found = find_function(format);
    size_t written = 0;
    if (found == NULL) {
        return smk_status_fail(
            error, SMK_UNSUPPORTED,
            "the program's PTX is compressed with %s, and this system has no %s: install the package "
            "%s, or compile with nvcc -Xfatbinary=-no-compress",
            libraries[format].name, libraries[format].file, libraries[format].package);
    }
    if (format == SMK_DECOMPRESS_ZSTD) {
        zstd_decompress *run = NULL;
        memcpy(&run, &found, sizeof run); /* ISO C has no conversion of an object pointer to a function */
        written = run(target, bytes, packed, packed_bytes);
    } else if (packed_bytes <= INT_MAX && bytes <= INT_MAX) {
        lz4_decompress *run = NULL;
        memcpy(&run, &found, sizeof run);
        const int result = run(packed, target, (int)packed_bytes, (int)bytes);
        written = result < 0 ? 0 : (size_t)result;
    }
    if (written != bytes) {
        return smk_status_fail(error, SMK_PTX, "the program's PTX is damaged: its %s data does not hold %zu bytes",
                               libraries[format].name, bytes);
    }
    return SMK_OK;
}
