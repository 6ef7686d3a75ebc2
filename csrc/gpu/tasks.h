/* A queue of tasks, numbers, that one thread pushes and several take; private to csrc/gpu.
 *
 * Threads take tasks without a lock. One that finds none polls for a while before it sleeps, since the next task of a copy
 * is microseconds away, and to wake a thread takes longer than that. Head and tail count tasks, and a task lies at its
 * number modulo the length of the array.
 */
#ifndef SMK_GPU_TASKS_H
#define SMK_GPU_TASKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SMK_TASKS_MAX = 1024, SMK_TASKS_LINE_BYTES = 64 };

typedef struct smk_tasks {
    _Alignas(SMK_TASKS_LINE_BYTES) _Atomic uint64_t head; /* tasks that were taken */
    _Alignas(SMK_TASKS_LINE_BYTES) _Atomic uint64_t tail; /* tasks that were pushed */
    atomic_uint sleeping;                                 /* threads */
    atomic_bool closed;
    uint64_t poll_ns;
    pthread_mutex_t lock; /* of the sleep */
    pthread_cond_t pushed;
    _Atomic uint64_t task[SMK_TASKS_MAX];
} smk_tasks;

/* Makes an empty queue, which must not move. Threads that find no task poll for `poll_ns` before they sleep. False where
 * there is no memory. */
bool smk_tasks_create(smk_tasks *tasks, uint64_t poll_ns);

/* No thread may use the queue any more. */
void smk_tasks_free(smk_tasks *tasks);

/* Pushes the numbers first, first + 1, ... At most SMK_TASKS_MAX tasks may be in the queue. */
void smk_tasks_push(smk_tasks *tasks, uint64_t first, unsigned count);

/* Takes the oldest task. Where there is none the call waits for one, if `waits`. False where there is none, or the queue
 * was closed. */
bool smk_tasks_take(smk_tasks *tasks, bool waits, uint64_t *task);

/* From now on no task is taken. */
void smk_tasks_close(smk_tasks *tasks);

#endif
