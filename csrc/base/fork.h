/* fork() in a process whose other threads are at work: a child has none of them, and whatever lock they held stays
 * locked there for ever. */
#ifndef SMK_BASE_FORK_H
#define SMK_BASE_FORK_H

#include <pthread.h>
#include <stdbool.h>

/* A lock that outlives a call. A fork waits for it and holds it, so that a child finds it free and what it guards
 * whole; it must never be held while a kernel runs, across a fork of one's own, or by a thread that waits for the GIL:
 * os.fork() holds the GIL while it waits for the lock. */
typedef struct smk_fork_lock {
    pthread_mutex_t mutex;
    struct smk_fork_lock *next, *previous;
} smk_fork_lock;

/* false where there is no memory */
bool smk_fork_lock_create(smk_fork_lock *lock);
void smk_fork_lock_destroy(smk_fork_lock *lock);
void smk_fork_lock_take(smk_fork_lock *lock);
void smk_fork_lock_give(smk_fork_lock *lock);

/* Another number in a child than in its parent: threads that were started under another one do not exist here. */
unsigned smk_fork_generation(void);

#endif
