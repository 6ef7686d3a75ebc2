#include "base/heap.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static _Atomic uint64_t countdown;

static int must_fail(void)
{
    uint64_t left = atomic_load_explicit(&countdown, memory_order_relaxed);
    while (left != 0) {
        if (atomic_compare_exchange_weak(&countdown, &left, left - 1)) {
            return left == 1;
        }
    }
    return 0;
}

void *smk_heap_allocate(size_t count, size_t size)
{
    return smk_heap_allocate_filled(count, size, 0);
}

void *smk_heap_allocate_filled(size_t count, size_t size, unsigned char fill)
{
    if (must_fail() || (size != 0 && count > (SIZE_MAX - ALIGNMENT) / size)) {
        return NULL;
    }
    /* aligned_alloc wants a multiple of the alignment, and never zero bytes */
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    bytes = bytes == 0 ? ALIGNMENT : bytes;
    void *block = aligned_alloc(ALIGNMENT, bytes);
    return block == NULL ? NULL : memset(block, fill, bytes);
}

void *smk_heap_resize(void *block, size_t old_bytes, size_t new_bytes)
{
    void *grown = smk_heap_allocate(new_bytes, 1);
    if (grown == NULL) {
        return NULL;
    }
    if (block != NULL) {
        memcpy(grown, block, old_bytes < new_bytes ? old_bytes : new_bytes);
        free(block);
    }
    return grown;
}

void smk_heap_free(void *block)
{
    free(block);
}

void smk_heap_fail_after(uint64_t after)
{
    atomic_store(&countdown, after);
}
