/* Locks that survive fork(). A child has none of the other threads, so a lock that one of them holds would stay locked
 * there for ever. */
#ifndef SMK_BASE_FORK_H
#define SMK_BASE_FORK_H

#include <pthread.h>
#include <stdbool.h>

/* A lock that outlives a call. A fork waits for it and holds it, so that the child finds it free and the data
 * consistent. It must never be held while a kernel runs, across a fork by its own holder, or by a thread that waits
 * for the GIL: os.fork() holds the GIL while it waits for the lock. */
typedef struct smk_fork_lock {
    pthread_mutex_t mutex;
    struct smk_fork_lock *next, *previous;
} smk_fork_lock;

/* false where there is no memory */
bool smk_fork_lock_create(smk_fork_lock *lock);
void smk_fork_lock_destroy(smk_fork_lock *lock);
void smk_fork_lock_take(smk_fork_lock *lock);
void smk_fork_lock_give(smk_fork_lock *lock);

/* A number that differs between a child and its parent. Threads that were started under another number do not exist
 * here. */
unsigned smk_fork_generation(void);

#endif
