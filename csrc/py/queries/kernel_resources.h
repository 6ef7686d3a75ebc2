/* The resources of one block of a kernel: registers, shared memory, barriers and launch bounds, from the best
 * source. */
#ifndef SMK_PY_QUERIES_KERNEL_RESOURCES_H
#define SMK_PY_QUERIES_KERNEL_RESOURCES_H

#include "py/backends/backend.h"
#include "py/calls/raw_module.h"
#include "py/state.h"

#include "registry/occupancy.h"
#include "registry/registry.h"

/* The arguments of a call that select the kernel; NULL for one that was not given. */
typedef struct smk_kernel_query {
    PyObject *kernel; /* RawKernel, "family/variant" or (family, variant[, dtype]) */
    PyObject *compute_capability, *dtype, *choice, *registers;
} smk_kernel_query;

/* A kernel and its resources on the machine asked for. */
typedef struct smk_kernel_resources {
    const smk_state *state;
    const char *function; /* for messages */
    PyObject *kernel;     /* RawKernel, owned */
    const smk_raw_module *module;
    const char *entry;
    const smk_variant *variant; /* of the package; NULL for a user's own kernel */
    const smk_limits *limits;
    const smk_backend *present; /* the machine in use where it has that compute capability, else NULL */
    smk_block_use block;        /* threads is 0; shared_dynamic is that of the variant's plan */
} smk_kernel_resources;

/* Fills all members but state and function, which the caller sets. The caller also calls smk_kernel_resources_release,
 * even after an error. Returns 0, or -1 with an exception set. */
int smk_kernel_resources_read(smk_kernel_resources *resources, const smk_kernel_query *arguments);
void smk_kernel_resources_release(smk_kernel_resources *resources);

#endif
