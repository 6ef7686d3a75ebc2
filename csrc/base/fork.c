/* For threads under -std=c11. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "base/fork.h"

#include <stdatomic.h>
#include <stddef.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool watching;
static atomic_uint generation;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static smk_fork_lock *first; /* under list_lock */

static void take_all(void)
{
    (void)pthread_mutex_lock(&list_lock);
    for (smk_fork_lock *lock = first; lock != NULL; lock = lock->next) {
        (void)pthread_mutex_lock(&lock->mutex);
    }
}

static void give_all(void)
{
    for (smk_fork_lock *lock = first; lock != NULL; lock = lock->next) {
        (void)pthread_mutex_unlock(&lock->mutex);
    }
    (void)pthread_mutex_unlock(&list_lock);
}

static void begin_child(void)
{
    atomic_fetch_add(&generation, 1);
    give_all();
}

static void watch_forks(void)
{
    watching = pthread_atfork(take_all, give_all, begin_child) == 0;
}

bool smk_fork_lock_create(smk_fork_lock *lock)
{
    (void)pthread_once(&once, watch_forks);
    if (!watching || pthread_mutex_init(&lock->mutex, NULL) != 0) {
        return false;
    }
    (void)pthread_mutex_lock(&list_lock);
    lock->previous = NULL;
    lock->next = first;
    if (first != NULL) {
        first->previous = lock;
    }
    first = lock;
    (void)pthread_mutex_unlock(&list_lock);
    return true;
}

void smk_fork_lock_destroy(smk_fork_lock *lock)
{
    (void)pthread_mutex_lock(&list_lock);
    if (lock->next != NULL) {
        lock->next->previous = lock->previous;
    }
    if (lock->previous != NULL) {
        lock->previous->next = lock->next;
    } else {
        first = lock->next;
    }
    (void)pthread_mutex_unlock(&list_lock);
    (void)pthread_mutex_destroy(&lock->mutex);
}

void smk_fork_lock_take(smk_fork_lock *lock)
{
    (void)pthread_mutex_lock(&lock->mutex);
}

void smk_fork_lock_give(smk_fork_lock *lock)
{
    (void)pthread_mutex_unlock(&lock->mutex);
}

unsigned smk_fork_generation(void)
{
    (void)pthread_once(&once, watch_forks);
    return atomic_load(&generation);
}
