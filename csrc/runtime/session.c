#include "runtime/session.h"

#include "base/heap.h"
#include "runtime/outcome.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_FIRST = 4096, KEPT_BYTES = 1 << 25 };

static smk_memory *memory;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static char *text;
static size_t used, capacity;
static _Atomic bool any;

/* Keeps memory that is freed for the next allocation: a checked launch takes a megabyte, and the time of a short one is
 * else that of the faults of its pages. */
static void keep_freed_memory(void)
{
#if defined(__GLIBC__)
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, 8 * KEPT_BYTES);
#endif
}

static void create_memory(void)
{
    smk_error error;
    keep_freed_memory();
    if (smk_memory_create(&memory, &error) != SMK_OK) {
        smk_outcome_say("%s", error.message);
        abort();
    }
}

smk_memory *smk_session_memory(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, create_memory);
    return memory;
}

static _Atomic bool uses_runtime;

void smk_session_use_runtime(void)
{
    atomic_store_explicit(&uses_runtime, true, memory_order_relaxed);
}

bool smk_session_uses_runtime(void)
{
    return atomic_load_explicit(&uses_runtime, memory_order_relaxed);
}

void smk_session_print(void *context, const char *line, size_t length)
{
    (void)context;
    (void)pthread_mutex_lock(&lock);
    if (length > capacity - used) {
        size_t wanted = capacity == 0 ? TEXT_FIRST : 2 * capacity;
        wanted = wanted < used + length ? used + length : wanted;
        char *grown = smk_heap_resize(text, used, wanted);
        if (grown != NULL) {
            text = grown;
            capacity = wanted;
        }
    }
    if (length <= capacity - used) {
        memcpy(text + used, line, length);
        used += length;
    }
    atomic_store(&any, true);
    (void)pthread_mutex_unlock(&lock);
}

void smk_session_flush(void)
{
    if (!atomic_load_explicit(&any, memory_order_relaxed)) {
        return;
    }
    (void)pthread_mutex_lock(&lock);
    (void)fwrite(text, 1, used, stdout);
    used = 0;
    atomic_store(&any, false);
    (void)pthread_mutex_unlock(&lock);
}

size_t smk_session_unprinted(void)
{
    (void)pthread_mutex_lock(&lock);
    const size_t left = used;
    (void)pthread_mutex_unlock(&lock);
    return left;
}
