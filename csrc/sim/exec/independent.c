#include "sim/exec/independent.h"

#include "sim/exec/block.h"
#include "sim/exec/livelock.h"
#include "sim/exec/park.h"

enum {
    FIRST_STEPS = 1024,         /* before a path is watched for the first time */
    APART_STEPS = 256,          /* the same where paths of the block have stepped aside */
    MOST_STEPS = 1 << 16,       /* between two times where the path did not spin */
    MOST_APART_STEPS = 2048,    /* the same where paths have stepped aside */
    WATCHED_STEPS = 2048,       /* for which a path is watched at most */
    WATCHED_APART_STEPS = 256,  /* the same where paths of the block have stepped aside */
    PREEMPTION_STEPS = 1 << 18, /* of one path while others have stepped aside */
    WAIT_COUNT = 3              /* before a path steps aside where other warps can run */
};

void smk_independent_start(smk_warp_control *control)
{
    const smk_run *run = control->block->run;
    control->watch_steps = run->image->may_wait ? FIRST_STEPS : SMK_WARP_SLICE_STEPS;
    control->watch_at = run->options->lockstep ? UINT64_MAX : control->watch_steps;
    control->switched_at = 0;
    control->wait_count = 0;
    control->aside_count = 0;
    control->apart = false;
}

bool smk_independent_has_other_paths(const smk_warp *warp)
{
    const smk_warp_control *control = warp->control;
    uint32_t others = control->live & ~warp->active;
    for (uint32_t i = 0; i < control->parked_count; i++) {
        others &= control->parked[i].kind == SMK_PARKED_ASIDE ? UINT32_MAX : ~control->parked[i].lanes;
    }
    return others != 0 && !control->block->run->options->lockstep;
}

static void look_again(smk_warp_control *control, uint32_t steps)
{
    control->watch_steps = steps;
    control->watch_at = control->steps + steps;
}

/* Doubles the time until the path is watched again. */
static void look_later(smk_warp_control *control)
{
    const uint32_t most = control->block->apart ? MOST_APART_STEPS : MOST_STEPS, steps = 2 * control->watch_steps;
    look_again(control, steps < most ? steps : most);
}

static smk_livelock_wait watch(smk_warp *warp)
{
    return smk_livelock_watch(warp, warp->control->block->apart ? WATCHED_APART_STEPS : WATCHED_STEPS);
}

/* Lets one path after the other step aside until one does not wait; false where all of them do. */
static bool find_path(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    for (unsigned paths = 0; paths <= SMK_WARP_SIZE; paths++) {
        smk_park_step_aside(warp);
        control->switched_at = control->steps;
        if (control->state != SMK_WARP_READY || watch(warp) == SMK_LIVELOCK_NO_WAIT) {
            return true;
        }
        if (!smk_independent_has_other_paths(warp)) {
            return false;
        }
    }
    return false;
}

/* Can no other warp of the block run? */
static bool is_only_warp(const smk_warp_control *control)
{
    return control->block->ready == UINT32_C(1) << control->index;
}

/* The running path spins. */
static bool give_way(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    if (!control->block->apart && !is_only_warp(control) && ++control->wait_count < WAIT_COUNT) {
        control->watch_at = control->steps;
        return false;
    }
    control->wait_count = 0;
    if (!find_path(warp)) {
        look_later(control); /* all wait for other warps */
        return false;
    }
    look_again(control, APART_STEPS);
    return control->state == SMK_WARP_READY && control->steps < control->turn_end;
}

bool smk_independent_look(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    const bool others = smk_independent_has_other_paths(warp);
    if (!others && (!control->block->apart || is_only_warp(control))) {
        control->watch_at = control->steps + control->watch_steps;
        return control->steps < control->turn_end;
    }
    if (others && control->aside_count > 0 && control->steps - control->switched_at >= PREEMPTION_STEPS) {
        smk_park_step_aside(warp);
        control->switched_at = control->steps;
        look_again(control, APART_STEPS);
        return control->state == SMK_WARP_READY && control->steps < control->turn_end;
    }
    const smk_livelock_wait wait = watch(warp);
    if (control->state != SMK_WARP_READY) {
        return false;
    }
    if (wait != SMK_LIVELOCK_NO_WAIT && others) {
        return give_way(warp);
    }
    if (wait != SMK_LIVELOCK_NO_WAIT) { /* it waits for another warp */
        look_again(control, APART_STEPS);
        return false;
    }
    control->wait_count = 0;
    look_later(control);
    return control->steps < control->turn_end;
}
