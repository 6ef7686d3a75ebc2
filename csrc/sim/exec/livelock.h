/* Blocks that wait for ever without a barrier: warps that go round and round until a word of memory changes.
 *
 * A warp is watched instruction by instruction for a slice. Where it comes back to the place and the state in which
 * it began (registers, paths, local memory) and no instruction between has changed shared or global memory, or done
 * anything else that could be seen outside, it does the same again for ever, unless another one changes what it
 * reads. Where that holds of every warp that can run, nobody ever will. Loops that read no memory are no waiting;
 * they end with the step budget.
 */
#ifndef SMK_SIM_EXEC_LIVELOCK_H
#define SMK_SIM_EXEC_LIVELOCK_H

#include "sim/exec/block.h"

#include <stdbool.h>
#include <stdint.h>

/* Steps of a block before it is looked at first; then whenever they have doubled, so that looking costs nothing. */
#define SMK_LIVELOCK_STEPS_FIRST (UINT64_C(1) << 22)

/* Lets every warp of a running block that can run have a slice. *stuck: all go round in that way. `alone`: nobody
 * but this block (or blocks that are asked too) changes global memory. FAILED as of smk_block_run. */
smk_block_state smk_livelock_find(smk_block *block, bool alone, bool *livelocked);

/* Fails the block: DEADLOCK, with who waits where. `later` blocks have not begun. */
void smk_livelock_fail(smk_block *block, uint64_t later);

#endif
