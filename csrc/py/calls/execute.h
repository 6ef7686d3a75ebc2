/* Launches from beginning to end, without the GIL: load, allocate, copy in, run, copy out, free. */
#ifndef SMK_PY_CALLS_EXECUTE_H
#define SMK_PY_CALLS_EXECUTE_H

#include "py/backends/backend.h"
#include "py/backends/kernel_binary.h"
#include "py/state.h"

/* Host memory that the kernel sees as a buffer of its own for the time of the execution. */
typedef struct smk_transfer {
    void *host; /* C-contiguous; must stay alive and where it is */
    uint64_t bytes;
    uint64_t address;  /* on the device, while the execution runs; a kernel parameter may point here */
    bool in, out;      /* copied before, copied after a run without error */
    bool fresh;        /* nobody else knows the host memory: to copy out may end before all is there */
    const char *fixed; /* not NULL: the name of what the kernel must leave as it is, where it is not copied back */
} smk_transfer;

typedef struct smk_execution_step {
    const char *entry;
    smk_launch launch;
} smk_execution_step;

/* Device memory whose address is known when the execution runs. */
typedef struct smk_execution_range {
    const uint64_t *address; /* NULL: none */
    uint64_t bytes;
} smk_execution_range;

/* A place in the workspace; a kernel parameter may point to `address`, which the execution writes. */
typedef struct smk_workspace_address {
    uint64_t offset, address;
} smk_workspace_address;

typedef struct smk_execution_workspace {
    uint64_t bytes;
    bool restored; /* 0 before each step, which leaves it so */
    smk_workspace_address *addresses;
    size_t address_count;
} smk_execution_workspace;

typedef struct smk_execution {
    const smk_backend *backend;
    int device; /* of it, or SMK_DEVICE_PRESENT */
    smk_kernel_binary *binary;
    smk_execution_step *steps; /* one after the other */
    size_t step_count;
    smk_transfer *transfers;
    size_t transfer_count;
    smk_execution_workspace workspace;
    smk_execution_range cleared; /* 0 before the first step */
    const char *symbol;          /* a variable of the binary's module that takes symbol_value; NULL: none */
    smk_execution_range symbol_value;
    uint64_t max_steps;
    bool wait; /* for the kernels' end; implied by a transfer */
} smk_execution;

/* Called with the GIL, which it gives up. Signals are handled meanwhile, but not while results are copied to memory that
 * others know: all of it is written, or none. What the kernel prints goes to sys.stdout. 0, or -1 with an exception;
 * then no host memory was written but what is fresh. */
int smk_execute_run(const smk_state *state, smk_execution *execution);

#endif
