/* A worker pool: host threads that run a function beside the caller.
 *
 * A pool starts threads for its first work, and keeps them for the next until it is freed: to start and to end a thread
 * takes about 0.1 ms of its process, in which all others wait for each other's memory maps. The caller waits for the
 * threads that work for it, and can be polled meanwhile (base/poll.h). In the child of a fork a pool has no threads.
 */
#ifndef SMK_BASE_WORKERS_H
#define SMK_BASE_WORKERS_H

#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SMK_WORKERS_MAX = 256 };

typedef struct smk_worker {
    struct smk_workers *pool;
    pthread_t thread;
    pthread_cond_t wake;
    bool must_work;
} smk_worker;

typedef struct smk_workers {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t left;
    void (*work)(void *context);
    void *context;
    atomic_uint working; /* threads whose work has not ended */
    unsigned started;    /* threads that there are */
    unsigned generation; /* of the process that has them: base/fork.h */
    bool ends;
    smk_worker *worker; /* SMK_WORKERS_MAX; NULL before the first work */
} smk_workers;

/* The number that SMEMKIT_THREADS asks for, 0 where it is not set. Errors: ARGUMENT. */
smk_status smk_workers_read_environment(uint64_t *threads, smk_error *error);

/* Makes a pool without threads, which must not move; false where there is no memory. */
bool smk_workers_create(smk_workers *workers);

/* Up to `count` threads call work(context), fewer where the system refuses one. Returns their number. The pool must not
 * work for another caller now. */
unsigned smk_workers_run(smk_workers *workers, unsigned count, void (*work)(void *context), void *context);

/* Waits until each thread has returned from its work, and calls poll(context), if any, about every 20 ms. The call polls
 * for `poll_ns` before it sleeps: to wake a thread takes longer than the end of a copy. The child of a fork that `poll` has
 * made does not wait. */
void smk_workers_wait(smk_workers *workers, uint64_t poll_ns, void (*poll)(void *context), void *context);

/* Ends the threads, whose work has been waited for. */
void smk_workers_free(smk_workers *workers);

/* True in the child of a fork that was made since the pool was: it has none of the threads. */
bool smk_workers_are_lost(const smk_workers *workers);

#endif
