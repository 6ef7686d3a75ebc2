/* The package's own kernels: their files, and the binaries loaded from them. */
#ifndef SMK_PY_BACKENDS_PACKAGE_KERNELS_H
#define SMK_PY_BACKENDS_PACKAGE_KERNELS_H

#include "py/backends/kernel_binary.h"
#include "py/state.h"

#include "registry/registry.h"

/* Prepares the state for one binary of each variant. Returns 0, or -1 with an exception set. */
int smk_package_kernels_create(smk_state *state);
void smk_package_kernels_free(smk_state *state);

/* Reads the file kernels/<family>/<variant>.<kind> ("cu", "ptx", "fatbin") and adds a NUL; the caller frees it with
 * smk_heap_free. Needs no GIL. Errors: INTERNAL where there is no such file, MEMORY. */
smk_status smk_package_kernels_read(const smk_state *state, const smk_variant *variant, const char *kind, char **bytes,
                                    size_t *length, smk_error *error);

/* Loads a binary from the variant's files; the caller owns it. Needs no GIL. */
smk_status smk_package_kernels_load(const smk_state *state, const smk_variant *variant, smk_kernel_binary **binary,
                                    smk_error *error);

/* The binary of a variant, loaded at the first call; the state owns it. Needs no GIL. */
smk_status smk_package_kernels_get(const smk_state *state, const smk_variant *variant, smk_kernel_binary **binary,
                                   smk_error *error);

#endif
