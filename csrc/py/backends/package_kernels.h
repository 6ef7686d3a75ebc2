/* The package's own kernels: their files, and the units of code made of them. */
#ifndef SMK_PY_BACKENDS_PACKAGE_KERNELS_H
#define SMK_PY_BACKENDS_PACKAGE_KERNELS_H

#include "py/backends/kernel_binary.h"
#include "py/state.h"

#include "registry/registry.h"

/* One empty place for each variant; 0, or -1 with an exception. */
int smk_package_kernels_create(smk_state *state);
void smk_package_kernels_free(smk_state *state);

/* The file kernels/<family>/<variant>.<kind> ("cu", "ptx", "fatbin") with a NUL behind it; the caller frees it with
 * smk_heap_free. Needs no GIL. Errors: INTERNAL where it is not there, MEMORY. */
smk_status smk_package_kernels_read(const smk_state *state, const smk_variant *variant, const char *kind, char **bytes,
                                    size_t *length, smk_error *error);

/* A binary of the variant's files, the caller's own. Needs no GIL. */
smk_status smk_package_kernels_load(const smk_state *state, const smk_variant *variant, smk_kernel_binary **binary,
                                    smk_error *error);

/* The binary of a variant, loaded at the first call; owned by the state. Needs no GIL. */
smk_status smk_package_kernels_get(const smk_state *state, const smk_variant *variant, smk_kernel_binary **binary,
                                   smk_error *error);

#endif
