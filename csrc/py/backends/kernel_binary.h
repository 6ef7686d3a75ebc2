/* The code of one or more kernels: a PTX text, perhaps its fatbin, and what each machine has loaded from them. */
#ifndef SMK_PY_BACKENDS_KERNEL_BINARY_H
#define SMK_PY_BACKENDS_KERNEL_BINARY_H

#include "py/backends/backend.h"

#include <stdatomic.h>

typedef struct smk_kernel_binary {
    char *ptx; /* terminated by a NUL */
    size_t ptx_length;
    void *fatbin;               /* NULL where there is none */
    char *source, *folder;      /* what coverage reports of them (smk_program_set_source); NULL: not known */
    char *origin;               /* the compiler that made the PTX, for messages; NULL where that is not known */
    smk_module *_Atomic module; /* NULL until it was needed */
    smk_backend_code *_Atomic code[SMK_BACKEND_COUNT]; /* NULL until it was needed */
} smk_kernel_binary;

/* Takes ownership of both blocks (of base/heap.h), also where it fails. A mutant may take the place of the text
 * (base/mutation.h). */
smk_status smk_kernel_binary_create(char *ptx, size_t ptx_length, void *fatbin, smk_kernel_binary **binary,
                                    smk_error *error);
void smk_kernel_binary_free(smk_kernel_binary *binary); /* accepts NULL */

/* Copy the texts, each of which may be NULL. To be called before the binary is used. */
smk_status smk_kernel_binary_set_origin(smk_kernel_binary *binary, const char *origin, smk_error *error);
smk_status smk_kernel_binary_set_source(smk_kernel_binary *binary, const char *source, const char *folder,
                                        smk_error *error);

/* The parsed text, and the code that a machine has loaded: made at the first call, then kept. Any number of threads may
 * call at once; none needs the GIL. */
smk_status smk_kernel_binary_module(smk_kernel_binary *binary, const smk_module **module, smk_error *error);
smk_status smk_kernel_binary_code(smk_kernel_binary *binary, const smk_backend *backend, const char *entry,
                                  smk_backend_code **code, smk_error *error);

#endif
