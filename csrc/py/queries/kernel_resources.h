/* What one block of a kernel takes: its registers, shared memory, barriers and launch bounds, from the best source. */
#ifndef SMK_PY_USE_H
#define SMK_PY_USE_H

#include "py/calls/raw.h"
#include "py/queries/limits.h"

#include "registry/registry.h"

/* Arguments of a call that concern the kernel; NULL for what was not given. */
typedef struct smk_use_arguments {
    PyObject *kernel; /* RawKernel, "family/variant" or (family, variant[, dtype]) */
    PyObject *compute_capability, *dtype, *choice, *registers;
} smk_use_arguments;

/* A kernel and what is known of it on the machine asked for. */
typedef struct smk_use {
    const smk_state *state;
    const char *function; /* for messages */
    PyObject *kernel;     /* RawKernel, owned */
    const smk_raw_module *module;
    const char *entry;
    const smk_variant *variant; /* of the package; NULL: somebody's own */
    const smk_limits *limits;
    const smk_backend *present; /* the machine in use where it has that compute capability, else NULL */
    smk_block_use block;        /* threads are still 0; shared_dynamic is what the variant's plan asks for */
} smk_use;

/* Fills all but state and function, which the caller sets; smk_use_close in any case. 0, or -1 with an exception. */
int smk_use_open(PyObject *module, smk_use *use, const smk_use_arguments *arguments);
void smk_use_close(smk_use *use);

#endif
