/* Lanes that wait at a .sync operation (bar.warp.sync, shfl, vote, match, redux) for lanes on other paths.
 *
 * The SIMT stack of a warp runs one path to its meeting point before the next. A path that comes to a .sync whose
 * membermask names lanes elsewhere is parked: its lanes leave the stack, with the entries of it that are theirs, and
 * the others run on, past the places where they would have met. The parked lanes go on when each lane of their mask
 * has come to an operation like theirs with the same mask, maybe elsewhere in the program, or has exited; they then
 * take their places in the stack again. Where no path is left to run before that, the warp has failed. So does an
 * H200: lanes at two exchanges alike but for their operands exchange with each other, lanes at a vote and lanes at a
 * bar.warp.sync wait for ever.
 *
 * A function whose lanes all wait is left for the time being, with a copy of its frame, so that its caller goes on with
 * the other lanes; it is entered again where they can go on, and its caller has no other path to run.
 */
#ifndef SMK_SIM_EXEC_PARK_H
#define SMK_SIM_EXEC_PARK_H

#include "sim/exec/warp.h"

/* A function that has been left while lanes wait in it. */
typedef struct smk_suspended_call {
    struct smk_suspended_call *next;
    struct smk_suspended_call *parent; /* its caller, where that has been left too */
    const smk_code *code;
    const smk_operation *call, *reconvergence; /* of the caller */
    uint32_t level;                            /* of the function: calls deep */
    uint32_t lanes;
    unsigned char *registers, *local; /* of its frame */
    size_t registers_bytes, local_bytes;
    smk_simt_entry *entries; /* their part of the caller's stack */
    uint32_t entry_count;
} smk_suspended_call;

/* A path that waits. */
typedef struct smk_parked {
    const smk_operation *pc;
    const smk_operation *reconvergence;
    const smk_operation *other; /* where lanes in `missing` were when it came; NULL: in no path */
    uint32_t lanes;
    uint32_t members;        /* the mask that all of its lanes brought */
    uint32_t missing;        /* lanes of it that were elsewhere when it came */
    uint32_t level;          /* calls deep */
    smk_simt_entry *entries; /* its part of the stack of this level */
    uint32_t entry_count;
    smk_suspended_call *suspended; /* where it waits, if that has been left */
    bool released;                 /* it goes on as soon as that is entered again */
} smk_parked;

/* Parks the lanes in `executing`, which are active, each with the membermask in its lane of `members`. Returns where
 * the warp goes on: behind `op` with the other active lanes, or on another path, maybe with the same lanes where
 * nobody is missing any more. BARRIER where a lane is not in its own mask. */
const smk_operation *smk_park_lanes(smk_warp *warp, const smk_operation *op, uint32_t executing,
                                    const uint32_t *members);

/* Lets those go on for whom nobody is missing any more: their operation is executed, and they are in the stack.
 * No path is running. False: the warp has failed. */
bool smk_park_release(smk_warp *warp);

typedef enum smk_park_outcome {
    SMK_PARK_NOTHING, /* nobody waits in the present function */
    SMK_PARK_MOVED,   /* to another one: its paths may go on */
    SMK_PARK_FAILED
} smk_park_outcome;

/* No path of the present function is left to run: enters one that was left, leaves the present one where lanes wait in
 * it, or fails the warp where that is the kernel. *next: where the caller goes on at once, with the active lanes. */
smk_park_outcome smk_park_next(smk_warp *warp, const smk_operation **next);

/* Forgets all that are parked. */
void smk_park_clear(smk_warp_control *control);

/* Which lanes came without whom, and where those were. */
void smk_park_describe(const smk_warp *warp, const smk_parked *parked, uint32_t missing, char *text, size_t size);

#endif
