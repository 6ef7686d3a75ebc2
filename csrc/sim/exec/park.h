/* Parking: lanes wait at a .sync operation (bar.warp.sync, shfl, vote, match, redux) for lanes on other paths.
 *
 * A SIMT stack (warp.h) runs one path to its reconvergence point before the next. A path that comes to a .sync
 * operation whose membermask names lanes elsewhere is parked: its lanes leave the stack together with their entries,
 * and the other lanes run on, past their reconvergence points. Parked lanes go on when each lane of their mask has
 * come to a matching operation with the same mask, possibly elsewhere in the program, or has exited; their entries
 * then return to the stack. If no path is left to run before that, the warp fails. An H200 behaves alike: lanes at two
 * exchanges that differ in their operands alone exchange with each other, while lanes at a vote and lanes at a
 * bar.warp.sync wait for ever.
 *
 * A call whose lanes all wait is suspended with a copy of its frame, so that its caller goes on with the other lanes.
 * It is resumed when its lanes can go on and its caller has no other path to run.
 */
#ifndef SMK_SIM_EXEC_PARK_H
#define SMK_SIM_EXEC_PARK_H

#include "sim/exec/warp.h"

/* A suspended call: its frame, and the lanes that wait in it. */
typedef struct smk_suspended_call {
    struct smk_suspended_call *next;
    struct smk_suspended_call *parent; /* its caller, where that is suspended, too */
    const smk_code *code;
    const smk_operation *call, *reconvergence; /* in the caller */
    uint32_t level;                            /* call depth of the function */
    uint32_t lanes;
    unsigned char *registers, *local; /* contents of its frame */
    size_t registers_bytes, local_bytes;
    smk_simt_entry *entries; /* the lanes' entries of the caller's part of the stack */
    uint32_t entry_count;
} smk_suspended_call;

/* Why a path is parked. */
typedef enum smk_parked_kind {
    SMK_PARKED_SYNC,  /* at a .sync operation of its warp */
    SMK_PARKED_BLOCK, /* at a barrier of its block, which lanes that stepped aside have not reached */
    SMK_PARKED_ASIDE  /* it has stepped aside (independent.h), and goes on at `pc` when no other path runs */
} smk_parked_kind;

/* A parked path. */
typedef struct smk_parked {
    smk_parked_kind kind;
    const smk_operation *pc;
    const smk_operation *reconvergence;
    const smk_operation *other; /* where a lane of `missing` was when the path came; NULL: on no path */
    uint32_t lanes;
    uint32_t members;        /* the membermask, the same in all of its lanes */
    uint32_t missing;        /* lanes of the mask that were elsewhere when the path came */
    uint32_t level;          /* calls deep */
    smk_simt_entry *entries; /* its entries of this level's part of the stack */
    uint32_t entry_count;
    smk_suspended_call *suspended; /* the call in which it waits, where that is suspended */
    bool released;                 /* its operation has executed; it goes on when that call is resumed */
} smk_parked;

/* Parks the active lanes in `executing`, each with its membermask in `members`. Returns where the warp goes on: behind
 * `op` with the other active lanes, or on another path, possibly with the same lanes where none is missing any more.
 * Fails with BARRIER where a lane is not in its own mask. */
const smk_operation *smk_park_lanes(smk_warp *warp, const smk_operation *op, uint32_t executing,
                                    const uint32_t *members);

/* Parks the active lanes in `executing` at a barrier of the block, until all lanes of the warp have come to it; then they
 * execute it together. Returns where the warp goes on. */
const smk_operation *smk_park_at_barrier(smk_warp *warp, const smk_operation *op, uint32_t executing);

/* Parks the running path of a READY warp at control->pc until no other path can run, and moves control->pc to the next
 * path. The state of the warp tells whether there is one. */
void smk_park_step_aside(smk_warp *warp);

/* Executes the operations of parked lanes of which none is missing any more, and returns them to the stack. No path is
 * running. False: the warp has failed. */
bool smk_park_release(smk_warp *warp);

typedef enum smk_park_outcome {
    SMK_PARK_NOTHING, /* no lane waits in the present function */
    SMK_PARK_MOVED,   /* to another function, whose paths may go on */
    SMK_PARK_FAILED
} smk_park_outcome;

/* Called when no path of the present function is left to run: resumes a suspended call, suspends the present call
 * where lanes wait in it, or fails the warp where that is the kernel. *next: where the caller goes on with the active
 * lanes. */
smk_park_outcome smk_park_next(smk_warp *warp, const smk_operation **next);

/* Drops all parked paths and suspended calls. */
void smk_park_clear(smk_warp_control *control);

/* Describes which lanes came without which, and where the missing ones were. */
void smk_park_describe(const smk_warp *warp, const smk_parked *parked, uint32_t missing, char *text, size_t size);

#endif
