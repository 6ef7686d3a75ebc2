/* A worker pool for one piece of work: host threads that run one function beside the caller, and end with it.
 *
 * The threads live as long as the work, so a process has none of them while it does not compute: a fork loses none, and
 * nothing is left at exit. The caller waits for all of them, and can be polled meanwhile (base/poll.h).
 */
#ifndef SMK_BASE_WORKERS_H
#define SMK_BASE_WORKERS_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { SMK_WORKERS_MAX = 256 };

typedef struct smk_workers {
    void (*work)(void *context);
    void *context;
    pthread_mutex_t lock; /* guards `working` */
    pthread_cond_t left;
    unsigned working;
    unsigned started;
    unsigned generation; /* of the process that has the threads: base/fork.h */
    pthread_t thread[SMK_WORKERS_MAX];
} smk_workers;

/* The number that SMEMKIT_THREADS asks for, 0 where it is not set. Errors: ARGUMENT. */
smk_status smk_workers_read_environment(uint64_t *threads, smk_error *error);

/* Prepares a pool; false where there is no memory. */
bool smk_workers_create(smk_workers *workers, void (*work)(void *context), void *context);

/* Starts up to `count` threads that call work(context); where the system refuses one, fewer do the work. */
void smk_workers_start(smk_workers *workers, unsigned count);

/* Waits until each thread has returned, and calls poll(context), if any, about every 20 ms. The child of a fork that
 * `poll` has made has none of the threads, and does not wait. */
void smk_workers_wait(smk_workers *workers, void (*poll)(void *context), void *context);

/* Frees a pool whose threads have been waited for, or were never started. */
void smk_workers_free(smk_workers *workers);

/* True in the child of a fork that was made since the threads were started: it has none of them. */
bool smk_workers_are_lost(const smk_workers *workers);

#endif
