/* Long work that its caller can end: parsing and lowering of large modules.
 *
 * The caller names a function of its own for this thread; the work asks now and then, from wherever it is, and ends with
 * INTERRUPTED where that function says so. Nobody named, nothing asked. */
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
} smk_poll;

/* From here to the end this thread's work asks `call`. Pairs nest: a call may start work of its own. */
void smk_poll_begin(smk_poll *poll, bool (*call)(void *context), void *context);
void smk_poll_end(smk_poll *poll);

/* Is this thread's work to end? Once true it stays true, so that loops which cannot fail may leave early and whoever
 * called them finds out. Cheap enough for every statement of a text. */
bool smk_poll_stop(void);

/* The same as a status: OK or INTERRUPTED. */
smk_status smk_poll_check(smk_error *error);

#endif
