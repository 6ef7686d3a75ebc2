/* Detects livelocks: blocks whose warps all spin until a word of memory changes that no warp will ever change, or
 * without reading any.
 *
 * A warp is watched instruction by instruction for a slice. If it comes back to the instruction and the state in which
 * it started (registers, SIMT stack, local memory), and no instruction in between has changed shared or global memory
 * or had another visible effect, it repeats this for ever unless another warp changes what it reads. If that is true
 * of every warp that can run, the block never ends. Clocks stand still meanwhile. Where a wait reads one, as a wait
 * with a time limit does and one that sleeps longer and longer, the clock is put far ahead and the block is tested
 * again: only who waits on then waits for ever. Loops that count for ever are not detected; the step budget ends them.
 */
#ifndef SMK_SIM_EXEC_LIVELOCK_H
#define SMK_SIM_EXEC_LIVELOCK_H

#include "sim/exec/block.h"

#include <stdbool.h>
#include <stdint.h>

/* Steps of a block before the first test. Further tests follow whenever the number has doubled, so their cost is
 * negligible. */
#define SMK_LIVELOCK_STEPS_FIRST (UINT64_C(1) << 22)

/* What a warp did while it was watched. */
typedef enum smk_livelock_wait {
    SMK_LIVELOCK_NO_WAIT,
    SMK_LIVELOCK_TIMED,  /* it read memory as threads do that wait again and again, without a visible effect */
    SMK_LIVELOCK_FOREVER /* it came back to its first state: only others can end its wait, if it reads memory */
} smk_livelock_wait;

/* Does it read shared or global memory by an atomic or a strong load, by which threads wait for each other? */
bool smk_livelock_is_strong_read(const smk_instruction *instruction);

/* Runs a ready warp for some `steps` and watches it. */
smk_livelock_wait smk_livelock_watch(smk_warp *warp, uint64_t steps);

/* Runs each ready warp of a block for a slice. *livelocked: all of them spin. `alone`: only this block, and blocks
 * that are tested with it, can change global memory. FAILED as of smk_block_run. */
smk_block_state smk_livelock_find(smk_block *block, bool alone, bool *livelocked);

/* Behind a test that found all warps waiting: puts the clock of the block ahead and returns true, where a wait reads
 * one. The test is repeated then, as turn 1, 2, ...; after some turns no time limit is believed in, and the answer is
 * false. */
bool smk_livelock_pass_time(smk_block *block, unsigned turn);

/* Fails the block with DEADLOCK, naming a warp and its location. `later` blocks have not started. */
void smk_livelock_fail(smk_block *block, uint64_t later);

#endif
