/* The seam for whoever watches a kernel run: counters and checkers.
 *
 * An observed image is lowered anew, with operations of the observer's before those of the program. An image that is
 * not observed has none of them, and no handler but those of barriers and waits for copies tests for observers.
 * Which ones are emitted says `wants`.
 */
#ifndef SMK_SIM_CODE_OBSERVER_H
#define SMK_SIM_CODE_OBSERVER_H

#include "sim/code/operation.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct smk_block smk_block;
typedef struct smk_pending_copy smk_pending_copy;
struct smk_parked;

typedef enum smk_access_kind {
    SMK_ACCESS_LOAD,
    SMK_ACCESS_STORE,
    SMK_ACCESS_ATOMIC,
    SMK_ACCESS_COPY /* the shared side of cp.async */
} smk_access_kind;

typedef enum smk_observe {
    SMK_OBSERVE_RUNS = 1 << 0, /* straight runs of instructions, and the lanes of guarded ones */
    SMK_OBSERVE_BRANCHES = 1 << 1,
    SMK_OBSERVE_ACCESSES = 1 << 2,       /* loads, stores, atomics, copies */
    SMK_OBSERVE_SYNCHRONIZATION = 1 << 3 /* barriers, warp synchronisation, fences, and when copies land */
} smk_observe;

/* How the addresses of half a warp lie: all at one place, or each lane's behind that of the lane before it. */
typedef enum smk_access_shape { SMK_ACCESS_ANY, SMK_ACCESS_ONE, SMK_ACCESS_ROW } smk_access_shape;

/* A warp-wide access. `space` is as the program has it: GENERIC where the instruction names none. An address of
 * shared memory counts from the block's first byte; of local memory from the thread's. Lanes that are not in `mask`
 * hold nothing of use. */
typedef struct smk_access_event {
    const smk_operation *op; /* op->function and op->instruction say which it is */
    smk_access_kind kind;
    smk_space space;
    unsigned bytes;   /* a lane */
    uint32_t mask;    /* not 0 */
    uint8_t shape[2]; /* smk_access_shape, true of all lanes, those that do not run too; of a copy ANY */
    uint64_t address[SMK_WARP_SIZE];
    const uint8_t *used;    /* of a COPY's source: bytes a lane really reads; NULL: `bytes` */
    const uint64_t *source; /* of a COPY: where each lane copies from; those that read nothing have an address, too */
} smk_access_event;

struct smk_lowering;

/* What comes before an instruction takes effect. `state` is what open made for the block that runs. Those not wanted
 * may be NULL. Blocks of one launch may run on several host threads, each block on one at a time. */
typedef struct smk_observer {
    void *context;
    unsigned wants;   /* smk_observe */
    bool tracks;      /* it notes itself which global memory the launch has written */
    uint32_t padding; /* bytes between shared variables, that are no variable's */

    /* While lowering: false leaves this access unobserved. NULL: all are observed. */
    bool (*selects)(void *context, const smk_function *function, uint32_t instruction);

    /* While lowering, before each instruction: may put operations there (smk_instrument_emit_value, whose handler calls
     * `value`). Both may be NULL, else `wants` is not asked. False after a failure. */
    bool (*emit)(void *context, struct smk_lowering *lowering);
    void (*value)(void *state, const smk_warp *warp, const smk_operation *op);

    /* A host thread makes room for a block that runs again and again, and gives it up; never two at once. */
    smk_status (*open)(void *context, const smk_block *block, void **state, smk_error *error);
    void (*close)(void *context, void *state);

    /* A block starts, and has ended: well, or with block->error (then `failed`). After a failure true lets the launch
     * go on with the other blocks and end well; the observer has noted the error. */
    void (*begin)(void *state, const smk_block *block);
    bool (*end)(void *state, const smk_block *block, bool failed);

    /* A straight run of instructions begins at op->instruction: all up to the next run's beginning are executed by
     * the lanes of `mask`, but for guards. Then for each guarded one that is no branch, the lanes whose guard holds. */
    void (*run)(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask);
    void (*guarded)(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask);

    /* bra with a guard: the lanes that jump, and those that do not; brx.idx: taken are those of the first lane's
     * target. */
    void (*branch)(void *state, const smk_warp *warp, const smk_operation *op, uint32_t taken, uint32_t stayed);

    /* Returns the lanes that may go ahead; the others do nothing, and what they would have loaded is 0. A copy
     * (cp.async) is two events: the LOAD of its source, in `mask` the lanes that read any, then the COPY to its
     * shared target. */
    uint32_t (*access)(void *state, const smk_warp *warp, const smk_access_event *event);

    /* A warp comes to a barrier of the block: bar, barrier; `waits` unless it is an arrive. */
    void (*arrive)(void *state, const smk_warp *warp, const smk_operation *op, uint32_t barrier, bool waits);
    /* All have come: the warps that waited there, one bit each, go on; all that came in `arrived`. */
    void (*release)(void *state, const smk_block *block, uint32_t barrier, uint32_t waited, uint32_t arrived);
    /* bar.warp.sync: the lanes that meet. One call for each set. */
    void (*warp_sync)(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask);
    /* A .sync operation: lanes that had waited for those in `missing` go on without them, for they have exited on
     * another path, or wait at another operation. */
    void (*missing_lanes)(void *state, const smk_warp *warp, const struct smk_parked *parked, uint32_t missing);
    /* fence, membar: the lanes that execute it. The instruction says scope and order. */
    void (*fence)(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask);
    /* cp.async: a lane's copy has landed in shared memory because the lane waited for it. `op` is the wait. */
    void (*copy_done)(void *state, const smk_warp *warp, const smk_operation *op, const smk_pending_copy *copy);
} smk_observer;

#endif
