/* The package's own kernels: their files, and the units of code made of them. */
#ifndef SMK_PY_SHELF_H
#define SMK_PY_SHELF_H

#include "py/backends/kernel_binary.h"
#include "py/state.h"

#include "registry/registry.h"

/* One empty place for each variant; 0, or -1 with an exception. */
int smk_shelf_create(smk_state *state);
void smk_shelf_free(smk_state *state);

/* The file kernels/<family>/<variant>.<kind> ("cu", "ptx", "fatbin") with a NUL behind it; the caller frees it with
 * smk_heap_free. Needs no GIL. Errors: INTERNAL where it is not there, MEMORY. */
smk_status smk_shelf_read(const smk_state *state, const smk_variant *variant, const char *kind, char **bytes,
                          size_t *length, smk_error *error);

/* A unit of the variant's files, the caller's own. Needs no GIL. */
smk_status smk_shelf_load(const smk_state *state, const smk_variant *variant, smk_unit **unit, smk_error *error);

/* The unit of a variant, loaded at the first call; owned by the state. Needs no GIL. */
smk_status smk_shelf_unit(const smk_state *state, const smk_variant *variant, smk_unit **unit, smk_error *error);

#endif
