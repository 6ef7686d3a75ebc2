/* Polling of long work (parsing, lowering, simulation, copies, waits for a GPU), so that its caller can end it.
 *
 * The caller registers a function for this thread. The work polls from time to time, from any depth, and ends with
 * INTERRUPTED where that function returns true. Without a registered function a poll does nothing. */
#ifndef SMK_BASE_POLL_H
#define SMK_BASE_POLL_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct smk_poll {
    bool (*call)(void *context); /* true: end the work. About every 20 ms */
    void *context;
    struct smk_poll *outer;
    uint64_t due; /* ns: when to call next */
    uint32_t skip;
    bool stopped;
    uint64_t copied, to_copy; /* bytes of the copy that is under way; to_copy is 0 where none is */
} smk_poll;

/* Register and remove `call` for this thread. Pairs nest: `call` may start work of its own. */
void smk_poll_begin(smk_poll *poll, bool (*call)(void *context), void *context);
void smk_poll_end(smk_poll *poll);

/* Is a function registered for this thread? A wait may be uninterruptible where there is none. */
bool smk_poll_is_registered(void);

/* Must this thread's work end? Once true it stays true, so that loops which cannot fail may leave early and their
 * callers still see it. Cheap enough for every statement of a text. */
bool smk_poll_stop(void);

/* The same for work between whose polls a microsecond or more passes: it reads the clock each time. */
bool smk_poll_stop_now(void);

/* The same as a status: OK or INTERRUPTED. */
smk_status smk_poll_check(smk_error *error);

/* Says how far a copy is, for `call` to read; 0 of 0 bytes at its end. */
void smk_poll_report(uint64_t copied, uint64_t to_copy);

/* Monotonic clock, ns. */
uint64_t smk_poll_clock(void);

#endif
