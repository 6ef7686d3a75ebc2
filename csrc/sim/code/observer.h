/* Observers: the interface of counters and checkers to a running kernel.
 *
 * An observed image is lowered separately, with the observer's operations before those of the program. An image
 * without an observer has no such operations, and only the handlers of barriers and of waits for copies test for an
 * observer. `wants` selects the operations that are emitted.
 */
#ifndef SMK_SIM_CODE_OBSERVER_H
#define SMK_SIM_CODE_OBSERVER_H

#include "sim/code/operation.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct smk_block smk_block;
typedef struct smk_pending_copy smk_pending_copy;
typedef struct smk_bulk_copy smk_bulk_copy;
struct smk_parked;

typedef enum smk_access_kind {
    SMK_ACCESS_LOAD,
    SMK_ACCESS_STORE,
    SMK_ACCESS_ATOMIC,
    SMK_ACCESS_COPY /* the shared side of cp.async */
} smk_access_kind;

typedef enum smk_observe {
    SMK_OBSERVE_RUNS = 1 << 0, /* straight-line runs of instructions, and the lanes of guarded ones */
    SMK_OBSERVE_BRANCHES = 1 << 1,
    SMK_OBSERVE_ACCESSES = 1 << 2,       /* loads, stores, atomics, copies */
    SMK_OBSERVE_SYNCHRONIZATION = 1 << 3 /* barriers, warp synchronisation, fences, and completed copies */
} smk_observe;

/* The pattern of addresses of half a warp: ONE address for all lanes, or a ROW of consecutive elements in lane
 * order. */
typedef enum smk_access_shape { SMK_ACCESS_ANY, SMK_ACCESS_ONE, SMK_ACCESS_ROW } smk_access_shape;

/* What has happened to a bulk copy: its source has been read, which its thread has waited for; the block has ended before
 * its thread has waited; its target is written. */
typedef enum smk_bulk_stage { SMK_BULK_READ, SMK_BULK_LEFT, SMK_BULK_WRITTEN } smk_bulk_stage;

/* A warp-wide access. `space` is that of the instruction: GENERIC where it names none. Addresses of shared memory are
 * relative to the block's first byte, those of local memory to the thread's. Fields of lanes outside `mask` are
 * arbitrary. */
typedef struct smk_access_event {
    const smk_operation *op; /* of the instruction op->instruction of op->function */
    smk_access_kind kind;
    smk_space space;
    unsigned bytes;   /* a lane */
    uint32_t mask;    /* not 0 */
    uint8_t shape[2]; /* smk_access_shape of each half, inactive lanes included; of a copy ANY */
    uint64_t address[SMK_WARP_SIZE];
    const uint8_t *used;    /* of a COPY's source and of padded rows: the bytes that each lane reads; NULL: `bytes` */
    const uint64_t *source; /* of a COPY: source address of each lane, also of those that read nothing */
} smk_access_event;

struct smk_lowering;

/* An observer's functions are called before an instruction executes. `state` is what `open` made for the running
 * block. Functions that `wants` does not select may be NULL. Blocks of one launch may run on several host threads,
 * each block on one at a time. */
typedef struct smk_observer {
    void *context;
    unsigned wants;   /* smk_observe */
    bool tracks;      /* the observer itself marks which global memory the launch has written */
    uint32_t padding; /* bytes between shared variables */

    /* During lowering: false leaves this access unobserved. NULL: all are observed. */
    bool (*selects)(void *context, const smk_function *function, uint32_t instruction);

    /* During lowering, before each instruction: may emit operations (smk_instrument_emit_value, whose handler calls
     * `value`), whatever `wants` says. Both may be NULL. False after a failure. */
    bool (*emit)(void *context, struct smk_lowering *lowering);
    void (*value)(void *state, const smk_warp *warp, const smk_operation *op);

    /* Create and free the state of a block that a host thread reuses; never called by two threads at once. */
    smk_status (*open)(void *context, const smk_block *block, void **state, smk_error *error);
    void (*close)(void *context, void *state);

    /* A block starts, and has ended: normally, or with block->error (`failed`). True after a failure: the observer has
     * recorded the error, and the launch goes on with the other blocks. */
    void (*begin)(void *state, const smk_block *block);
    bool (*end)(void *state, const smk_block *block, bool failed);

    /* A straight-line run begins at op->instruction: the lanes of `mask` execute all instructions up to the next run,
     * except for guards. `guarded` follows for each guarded instruction that is no branch, with the lanes whose guard
     * is true. */
    void (*run)(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask);
    void (*guarded)(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask);

    /* bra with a guard: the lanes that jump, and the others. brx.idx: taken are the lanes with the first lane's
     * target. */
    void (*branch)(void *state, const smk_warp *warp, const smk_operation *op, uint32_t taken, uint32_t stayed);

    /* Returns the lanes that execute the access; the others do not, and a load gives them 0. A copy (cp.async) is two
     * events: the LOAD of its source, with the lanes that read at least one byte in `mask`, then the COPY to its
     * shared target. */
    uint32_t (*access)(void *state, const smk_warp *warp, const smk_access_event *event);

    /* With SMK_OBSERVE_SYNCHRONIZATION none of these is NULL.
     * A warp arrives at a barrier of the block (bar, barrier); `waits` is false for bar.arrive. */
    void (*arrive)(void *state, const smk_warp *warp, const smk_operation *op, uint32_t barrier, bool waits);
    /* A barrier is complete: the warps in `waited`, one bit each, go on. */
    void (*release)(void *state, const smk_block *block, uint32_t barrier, uint32_t waited);
    /* bar.warp.sync: the lanes that synchronise. One call for each set. */
    void (*warp_sync)(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask);
    /* A .sync operation: parked lanes go on without those in `missing`, which have exited on another path or wait at
     * another operation. */
    void (*missing_lanes)(void *state, const smk_warp *warp, const struct smk_parked *parked, uint32_t missing);
    /* fence, membar: the lanes that execute it. The instruction has scope and semantics. */
    void (*fence)(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask);
    /* cp.async: a lane's copy is complete, because the lane has waited for it. `op` is the wait. */
    void (*copy_done)(void *state, const smk_warp *warp, const smk_operation *op, const smk_pending_copy *copy);

    /* cp.async.bulk; both may be NULL. A copy is issued: false leaves it out, though it counts as completed. */
    bool (*bulk_issue)(void *state, const smk_warp *warp, smk_bulk_copy *copy);
    void (*bulk_done)(void *state, const smk_bulk_copy *copy, smk_bulk_stage stage);
} smk_observer;

#endif
