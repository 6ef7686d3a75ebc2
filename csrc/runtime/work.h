/* Work of streams and graphs: kernels, copies, fills, host functions, events, allocations.
 *
 * Work runs when it is submitted, on the calling thread, and has ended when the call returns: one of the orders that
 * streams and events admit. A stream that is captured adds it to a graph instead.
 */
#ifndef SMK_RUNTIME_WORK_H
#define SMK_RUNTIME_WORK_H

#include "runtime/abi.h"
#include "runtime/binaries.h"
#include "runtime/copy.h"

struct smk_cuda_graph;

/* Numbered as the types of graph nodes. */
typedef enum smk_work_kind {
    SMK_WORK_KERNEL = 0,
    SMK_WORK_COPY = 1,
    SMK_WORK_FILL = 2,
    SMK_WORK_HOST = 3,
    SMK_WORK_GRAPH = 4,
    SMK_WORK_NOTHING = 5,
    SMK_WORK_WAIT = 6,
    SMK_WORK_RECORD = 7,
    SMK_WORK_ALLOCATE = 10,
    SMK_WORK_FREE = 11,
    SMK_WORK_CONDITIONAL = 13
} smk_work_kind;

typedef struct smk_work_launch {
    smk_kernel *kernel;
    smk_dim3 grid, block;
    size_t shared_bytes;
    void **parameters; /* of the caller; of work that is kept: of its own */
    bool cooperative;
} smk_work_launch;

/* Graphs that run as a value of the device says: if, while, or one of several. */
typedef struct smk_work_conditional {
    uint64_t value; /* its address, which is the handle that kernels set it by */
    int kind;       /* smk_work_condition */
    unsigned count;
    struct smk_cuda_graph **bodies; /* of work that is kept; NULL: empty graphs are made */
} smk_work_conditional;

typedef enum smk_work_condition {
    SMK_WORK_IF = 0, /* with a second graph: if not */
    SMK_WORK_WHILE = 1,
    SMK_WORK_SWITCH = 2
} smk_work_condition;

typedef struct smk_work {
    smk_work_kind kind;
    bool disabled; /* a node that a graph leaves out */
    union {
        smk_work_launch launch;
        smk_copy copy;
        smk_fill fill;
        smk_cuda_host_node host;
        smk_cuda_event_handle event;
        struct smk_cuda_graph *graph;
        smk_work_conditional conditional;
        struct {
            void *address;
            size_t bytes;
        } memory;
    } as;
} smk_work;

/* Runs work now. */
smk_cuda smk_work_run(const smk_work *work);

/* A copy of work that lives on: of the values of parameters, and of a child graph. False where there is no memory. */
bool smk_work_keep(const smk_work *work, smk_work *kept);
void smk_work_release(smk_work *kept);

#endif
