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
 * Limit: lanes parked in a function that was called wait in vain for lanes that are still in its caller.
 */
#ifndef SMK_SIM_PARK_H
#define SMK_SIM_PARK_H

#include "warp.h"

/* A path that waits. */
typedef struct smk_parked {
    const smk_operation *pc;
    const smk_operation *meet;
    const smk_operation *other; /* where lanes in `missing` were when it came; NULL: in no path */
    uint32_t lanes;
    uint32_t members; /* the mask that all of its lanes brought */
    uint32_t missing; /* lanes of it that were elsewhere when it came */
    uint32_t level;   /* calls deep */
    smk_path *path;   /* its part of the stack of this level */
    uint32_t path_count;
} smk_parked;

/* Parks the lanes in `executing`, which are active, each with the membermask in its lane of `members`. Returns where
 * the warp goes on: behind `op` with the other active lanes, or on another path, maybe with the same lanes where
 * nobody is missing any more. BARRIER where a lane is not in its own mask. */
const smk_operation *smk_park_lanes(smk_warp *warp, const smk_operation *op, uint32_t executing,
                                    const uint32_t *members);

/* Lets those go on for whom nobody is missing any more: their operation is executed, and they are in the stack.
 * No path is running. False: the warp has failed. */
bool smk_park_release(smk_warp *warp);

/* No path is left to run: fails the warp where lanes are parked in the present function. False: none are. */
bool smk_park_fail(smk_warp *warp);

/* Forgets all that are parked. */
void smk_park_clear(smk_warp_control *control);

/* Which lanes came without whom, and where those were. */
void smk_park_describe(const smk_warp *warp, const smk_parked *parked, uint32_t missing, char *text, size_t size);

#endif
