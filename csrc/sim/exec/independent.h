/* Independent thread scheduling: lanes of a warp may wait for each other, as on GPUs since Volta.
 *
 * A path of the SIMT stack (warp.h) that spins until a word of memory changes would run for ever where other lanes of
 * its warp are to change the word: they wait at the reconvergence point behind its loop, on the other side of a branch,
 * or in a caller. So a path that has run for a while beside waiting lanes is watched (livelock.h). If it spins, its warp
 * ends its turn, for other warps may change the word. If that has not helped after a few turns, the path steps aside
 * (park.h), and the other paths run; it goes on when they have ended, wait at barriers, or step aside themselves, in the
 * order in which they did. A path beside which others have stepped aside gives way after PREEMPTION_STEPS, too, spinning
 * or not.
 *
 * Warps whose paths never spin beside waiting lanes diverge and reconverge as the stack says. */
#ifndef SMK_SIM_EXEC_INDEPENDENT_H
#define SMK_SIM_EXEC_INDEPENDENT_H

#include "sim/exec/warp.h"

#include <stdbool.h>

/* At the start of a warp. */
void smk_independent_start(smk_warp_control *control);

/* Are there lanes that could run in place of the running path? Always false where the launch runs in lock step. */
bool smk_independent_has_other_paths(const smk_warp *warp);

/* Called when control->watch_at has come, with the warp READY: watches the running path, and lets it step aside. False:
 * the turn of the warp ends. */
bool smk_independent_look(smk_warp *warp);

#endif
