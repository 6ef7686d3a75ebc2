/* A unit of code: a PTX text, perhaps its fatbin, and what each machine has made of it. */
#ifndef SMK_PY_UNIT_H
#define SMK_PY_UNIT_H

#include "py/backends/backend.h"

#include <stdatomic.h>

typedef struct smk_unit {
    char *ptx; /* terminated by a NUL */
    size_t ptx_length;
    void *fatbin;               /* NULL where there is none */
    char *origin;               /* the compiler that made the PTX, for messages; NULL where that is not known */
    smk_module *_Atomic module; /* NULL until it was needed */
    smk_code *_Atomic code[SMK_BACKEND_COUNT]; /* NULL until it was needed */
} smk_unit;

/* Takes both blocks (from base/heap.h), also where it fails. */
smk_status smk_unit_create(char *ptx, size_t ptx_length, void *fatbin, smk_unit **unit, smk_error *error);
void smk_unit_free(smk_unit *unit); /* accepts NULL */

/* Takes a copy; before the unit is used. */
smk_status smk_unit_set_origin(smk_unit *unit, const char *origin, smk_error *error);

/* The text parsed, or loaded on a machine: done at the first call, and kept. Any number of threads may ask at once;
 * none needs the GIL. */
smk_status smk_unit_module(smk_unit *unit, const smk_module **module, smk_error *error);
smk_status smk_unit_code(smk_unit *unit, const smk_backend *backend, const char *entry, smk_code **code,
                         smk_error *error);

#endif
