/* Launches from beginning to end, without the GIL: load, allocate, copy in, run, copy out, free. */
#ifndef SMK_PY_CALLS_EXECUTE_H
#define SMK_PY_CALLS_EXECUTE_H

#include "py/backends/backend.h"
#include "py/backends/kernel_binary.h"
#include "py/state.h"

enum { SMK_EXECUTION_OPERANDS_MAX = 8, SMK_EXECUTION_LOOPS_MAX = 9 };

/* Host memory for which the kernel sees a buffer on the device. */
typedef struct smk_transfer {
    void *host;                    /* must neither be freed nor move; C-contiguous, but where `layout` says otherwise */
    const smk_pack_layout *layout; /* of what is copied in; NULL: C-contiguous */
    uint64_t bytes;
    uint64_t address; /* of the buffer, set while the execution runs; a kernel parameter may point here */
    bool in, out;     /* copied before, copied after a run without error */
    bool fresh;       /* no one else uses the host memory: an interrupted copy may leave a part of it */
    /* Not NULL: the kernel must leave the buffer unchanged, and it is not copied back. Its name in messages. */
    const char *fixed;
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

/* An address in the workspace; a kernel parameter may point to `address`, which the execution sets. */
typedef struct smk_workspace_address {
    uint64_t offset, address;
} smk_workspace_address;

typedef struct smk_execution_workspace {
    uint64_t bytes;
    bool restored; /* zeroed before each step, which leaves it zeroed */
    smk_workspace_address *addresses;
    size_t address_count;
} smk_execution_workspace;

/* A part of a transfer, for one slab; its address is an offset in the transfer's buffer. */
typedef struct smk_execution_piece {
    size_t transfer;
    smk_staged_range range;
} smk_execution_piece;

/* What computes a part of the result from parts of the operands. The execution sets the address of the slab's part of
 * each transfer's buffer, from its offset. */
typedef struct smk_execution_slab {
    const struct smk_execution *work; /* steps, workspace, cleared memory and symbol: no transfers */
    uint64_t *address, *offset;       /* of each transfer */
} smk_execution_slab;

/* Loops around all steps, each of which moves the operands on; the last one is the innermost. */
typedef struct smk_execution_loops {
    size_t rank;
    int64_t count[SMK_EXECUTION_LOOPS_MAX];
    int64_t step[SMK_EXECUTION_OPERANDS_MAX][SMK_EXECUTION_LOOPS_MAX]; /* bytes */
    const uint64_t *first[SMK_EXECUTION_OPERANDS_MAX];                 /* addresses of the operands */
    uint64_t address[SMK_EXECUTION_OPERANDS_MAX];                      /* now, where the parameters point to */
    size_t operand_count;
} smk_execution_loops;

typedef struct smk_execution {
    const smk_backend *backend;
    int device; /* of the machine, or SMK_DEVICE_PRESENT */
    smk_kernel_binary *binary;
    smk_execution_step *steps; /* run in this order */
    size_t step_count;
    smk_execution_loops *loops; /* NULL: the steps run once */
    smk_transfer *transfers;
    size_t transfer_count;
    smk_execution_workspace workspace;
    smk_execution_range cleared; /* zeroed before the first step */
    const char *symbol;          /* a variable of the module, set to symbol_value; NULL: none */
    smk_execution_range symbol_value;
    /* Where there are slabs, they run in the place of the steps, each while others are copied in and out. */
    smk_execution_slab *slabs;
    size_t slab_count;
    smk_execution_piece *up, *down; /* in the order of their slabs */
    size_t up_count, down_count;
    uint64_t max_steps;
    bool lockstep; /* no independent thread scheduling */
    bool wait;     /* waits for the end of the kernels; implied by a transfer */
} smk_execution;

/* Called with the GIL, which it releases. Signals are handled meanwhile, but not while results are copied to memory
 * that others use: that is written wholly or not at all. Text that the kernel prints goes to sys.stdout. Returns 0, or
 * -1 with an exception set; then no host memory has been written, except where it is `fresh`. */
int smk_execute_run(const smk_state *state, smk_execution *execution);

#endif
