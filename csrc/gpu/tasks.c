#include "gpu/tasks.h"

#include "base/poll.h"

enum { CLOCK_POLLS = 32 };

bool smk_tasks_create(smk_tasks *tasks, uint64_t poll_ns)
{
    atomic_init(&tasks->head, 0);
    atomic_init(&tasks->tail, 0);
    atomic_init(&tasks->sleeping, 0);
    atomic_init(&tasks->closed, false);
    tasks->poll_ns = poll_ns;
    if (pthread_mutex_init(&tasks->lock, NULL) != 0) {
        return false;
    }
    if (pthread_cond_init(&tasks->pushed, NULL) != 0) {
        (void)pthread_mutex_destroy(&tasks->lock);
        return false;
    }
    return true;
}

void smk_tasks_free(smk_tasks *tasks)
{
    (void)pthread_cond_destroy(&tasks->pushed);
    (void)pthread_mutex_destroy(&tasks->lock);
}

/* A thread that goes to sleep counts itself first and reads the tail then; here the tail is written first. So one of the
 * two sees what the other one did. */
void smk_tasks_push(smk_tasks *tasks, uint64_t first, unsigned count)
{
    const uint64_t tail = atomic_load(&tasks->tail);
    for (unsigned i = 0; i < count; i++) {
        atomic_store_explicit(&tasks->task[(tail + i) % SMK_TASKS_MAX], first + i, memory_order_relaxed);
    }
    atomic_store(&tasks->tail, tail + count);
    const unsigned sleeping = atomic_load(&tasks->sleeping);
    if (sleeping == 0) {
        return;
    }
    (void)pthread_mutex_lock(&tasks->lock);
    for (unsigned i = 0; i < count && i < sleeping; i++) {
        (void)pthread_cond_signal(&tasks->pushed);
    }
    (void)pthread_mutex_unlock(&tasks->lock);
}

static bool is_empty(smk_tasks *tasks)
{
    return atomic_load(&tasks->head) == atomic_load(&tasks->tail);
}

/* The number is read before the head moves: as long as it has not, no push can have written another one there. */
static bool take_next(smk_tasks *tasks, uint64_t *task)
{
    uint64_t head = atomic_load(&tasks->head);
    while (head != atomic_load(&tasks->tail)) {
        const uint64_t found = atomic_load_explicit(&tasks->task[head % SMK_TASKS_MAX], memory_order_relaxed);
        if (atomic_compare_exchange_weak(&tasks->head, &head, head + 1)) {
            *task = found;
            return true;
        }
    }
    return false;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void wait_polling(smk_tasks *tasks)
{
    const uint64_t until = tasks->poll_ns == 0 ? 0 : smk_poll_clock() + tasks->poll_ns;
    for (unsigned i = 0; until != 0 && is_empty(tasks) && !atomic_load(&tasks->closed); i++) {
        relax();
        if (i % CLOCK_POLLS == 0 && smk_poll_clock() >= until) {
            return;
        }
    }
}

static void sleep_until_pushed(smk_tasks *tasks)
{
    (void)pthread_mutex_lock(&tasks->lock);
    atomic_fetch_add(&tasks->sleeping, 1);
    while (is_empty(tasks) && !atomic_load(&tasks->closed)) {
        (void)pthread_cond_wait(&tasks->pushed, &tasks->lock);
    }
    atomic_fetch_sub(&tasks->sleeping, 1);
    (void)pthread_mutex_unlock(&tasks->lock);
}

bool smk_tasks_take(smk_tasks *tasks, bool waits, uint64_t *task)
{
    while (!atomic_load(&tasks->closed)) {
        if (take_next(tasks, task)) {
            return true;
        }
        if (!waits) {
            return false;
        }
        wait_polling(tasks);
        if (is_empty(tasks)) {
            sleep_until_pushed(tasks);
        }
    }
    return false;
}

void smk_tasks_close(smk_tasks *tasks)
{
    (void)pthread_mutex_lock(&tasks->lock);
    atomic_store(&tasks->closed, true);
    (void)pthread_cond_broadcast(&tasks->pushed);
    (void)pthread_mutex_unlock(&tasks->lock);
}
