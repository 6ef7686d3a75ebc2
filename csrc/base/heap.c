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

/* The bytes of `count` items, a multiple of the alignment and never zero, as aligned_alloc wants them; 0: too many. */
static size_t round_bytes(size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX - ALIGNMENT) / size) {
        return 0;
    }
    const size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return bytes == 0 ? ALIGNMENT : bytes;
}

void *smk_heap_allocate_bare(size_t count, size_t size)
{
    const size_t bytes = round_bytes(count, size);
    return must_fail() || bytes == 0 ? NULL : aligned_alloc(ALIGNMENT, bytes);
}

void *smk_heap_allocate_filled(size_t count, size_t size, unsigned char fill)
{
    void *block = smk_heap_allocate_bare(count, size);
    return block == NULL ? NULL : memset(block, fill, round_bytes(count, size));
}

void *smk_heap_allocate(size_t count, size_t size)
{
    return smk_heap_allocate_filled(count, size, 0);
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
