/* For POSIX threads and clocks under -std=c11. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "base/workers.h"

#include "base/fork.h"
#include "base/heap.h"
#include "base/poll.h"

#include <stdlib.h>
#include <time.h>

enum { POLL_MS = 20 };

smk_status smk_workers_read_environment(uint64_t *threads, smk_error *error)
{
    const char *text = getenv("SMEMKIT_THREADS");
    char *end = NULL;
    *threads = 0;
    if (text == NULL || text[0] == '\0') {
        return SMK_OK;
    }
    unsigned long long asked = strtoull(text, &end, 10); /* a number that is too large gives the largest */
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || asked == 0) {
        return smk_status_fail(
            error, SMK_ARGUMENT,
            "the environment variable SMEMKIT_THREADS is '%.100s'; a whole number from 1 up is needed", text);
    }
    *threads = asked;
    return SMK_OK;
}

bool smk_workers_create(smk_workers *workers)
{
    *workers = (smk_workers){.generation = smk_fork_generation()};
    if (pthread_mutex_init(&workers->lock, NULL) != 0) {
        return false;
    }
    if (pthread_cond_init(&workers->left, NULL) != 0) {
        (void)pthread_mutex_destroy(&workers->lock);
        return false;
    }
    return true;
}

static void *run_worker(void *context)
{
    smk_worker *worker = context;
    smk_workers *workers = worker->pool;
    (void)pthread_mutex_lock(&workers->lock);
    while (worker->must_work || !workers->ends) {
        if (!worker->must_work) {
            (void)pthread_cond_wait(&worker->wake, &workers->lock);
            continue;
        }
        worker->must_work = false;
        (void)pthread_mutex_unlock(&workers->lock);
        workers->work(workers->context);
        (void)pthread_mutex_lock(&workers->lock);
        workers->working--;
        (void)pthread_cond_signal(&workers->left);
    }
    (void)pthread_mutex_unlock(&workers->lock);
    return NULL;
}

/* Under the lock. The new thread finds its work when it has that. */
static bool start_worker(smk_workers *workers)
{
    smk_worker *worker = &workers->worker[workers->started];
    worker->pool = workers;
    if (pthread_cond_init(&worker->wake, NULL) != 0) {
        return false;
    }
    if (pthread_create(&worker->thread, NULL, run_worker, worker) != 0) {
        (void)pthread_cond_destroy(&worker->wake);
        return false;
    }
    workers->started++;
    return true;
}

unsigned smk_workers_run(smk_workers *workers, unsigned count, void (*work)(void *context), void *context)
{
    unsigned given = 0;
    if (count > 0 && workers->worker == NULL) {
        workers->worker = smk_heap_allocate(SMK_WORKERS_MAX, sizeof *workers->worker);
        count = workers->worker == NULL ? 0 : count;
    }
    (void)pthread_mutex_lock(&workers->lock);
    workers->work = work;
    workers->context = context;
    while (given < count && given < SMK_WORKERS_MAX && (given < workers->started || start_worker(workers))) {
        workers->worker[given].must_work = true;
        workers->working++;
        (void)pthread_cond_signal(&workers->worker[given].wake);
        given++;
    }
    (void)pthread_mutex_unlock(&workers->lock);
    return given;
}

bool smk_workers_are_lost(const smk_workers *workers)
{
    return smk_fork_generation() != workers->generation;
}

static void wait_once(smk_workers *workers)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += POLL_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    (void)pthread_cond_timedwait(&workers->left, &workers->lock, &until);
}

void smk_workers_wait(smk_workers *workers, uint64_t poll_ns, void (*poll)(void *context), void *context)
{
    if (smk_workers_are_lost(workers)) {
        return; /* one of the threads may have held the lock */
    }
    for (const uint64_t until = smk_poll_clock() + poll_ns; atomic_load(&workers->working) > 0;) {
        if (smk_poll_clock() >= until) {
            break;
        }
    }
    (void)pthread_mutex_lock(&workers->lock);
    while (workers->working > 0) {
        wait_once(workers);
        if (workers->working > 0 && poll != NULL) { /* without the lock: a fork would leave it locked in the child */
            (void)pthread_mutex_unlock(&workers->lock);
            poll(context);
            if (smk_workers_are_lost(workers)) {
                return;
            }
            (void)pthread_mutex_lock(&workers->lock);
        }
    }
    (void)pthread_mutex_unlock(&workers->lock);
}

void smk_workers_free(smk_workers *workers)
{
    if (!smk_workers_are_lost(workers)) { /* else one of the threads may have held the lock */
        (void)pthread_mutex_lock(&workers->lock);
        workers->ends = true;
        for (unsigned i = 0; i < workers->started; i++) {
            (void)pthread_cond_signal(&workers->worker[i].wake);
        }
        (void)pthread_mutex_unlock(&workers->lock);
        for (unsigned i = 0; i < workers->started; i++) {
            (void)pthread_join(workers->worker[i].thread, NULL);
            (void)pthread_cond_destroy(&workers->worker[i].wake);
        }
        (void)pthread_cond_destroy(&workers->left);
        (void)pthread_mutex_destroy(&workers->lock);
    }
    smk_heap_free(workers->worker);
}
