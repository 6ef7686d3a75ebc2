/* For clock_gettime under -std=c11. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "base/poll.h"

#include <stddef.h>
#include <time.h>

enum { SKIPPED = 64 }; /* polls between two reads of the clock */
#define INTERVAL_NS UINT64_C(20000000)

static _Thread_local smk_poll *present;

uint64_t smk_poll_clock(void)
{
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

void smk_poll_begin(smk_poll *poll, bool (*call)(void *context), void *context)
{
    *poll = (smk_poll){
        .call = call, .context = context, .outer = present, .due = smk_poll_clock() + INTERVAL_NS, .skip = SKIPPED};
    present = poll;
}

void smk_poll_end(smk_poll *poll)
{
    present = poll->outer;
}

bool smk_poll_is_registered(void)
{
    return present != NULL;
}

bool smk_poll_stop(void)
{
    smk_poll *poll = present;
    if (poll == NULL || poll->stopped) {
        return poll != NULL;
    }
    if (--poll->skip > 0) {
        return false;
    }
    poll->skip = SKIPPED;
    return smk_poll_stop_now();
}

bool smk_poll_stop_now(void)
{
    smk_poll *poll = present;
    if (poll != NULL && !poll->stopped && smk_poll_clock() >= poll->due) {
        poll->stopped = poll->call(poll->context);
        poll->due = smk_poll_clock() + INTERVAL_NS;
    }
    return poll != NULL && poll->stopped;
}

void smk_poll_report(uint64_t copied, uint64_t to_copy)
{
    if (present != NULL) {
        present->copied = copied;
        present->to_copy = to_copy;
    }
}

smk_status smk_poll_check(smk_error *error)
{
    return smk_poll_stop() ? smk_status_fail(error, SMK_INTERRUPTED, "interrupted while a kernel was made ready")
                           : SMK_OK;
}
