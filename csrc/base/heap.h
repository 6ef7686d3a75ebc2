/* The heap. All allocations go through it, so that a test can make the n-th one fail. */
#ifndef SMK_BASE_HEAP_H
#define SMK_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* Zero-filled memory for `count` items of `size` bytes, aligned to 64 bytes; NULL where there is none or the product
 * overflows. A count of 0 gives a valid pointer. */
void *smk_heap_allocate(size_t count, size_t size);

/* The same, filled with another byte. */
void *smk_heap_allocate_filled(size_t count, size_t size, unsigned char fill);

/* The same, not filled: what the bytes are is undefined. */
void *smk_heap_allocate_bare(size_t count, size_t size);

/* Grows or shrinks a block from smk_heap_allocate, keeping min(old, new) bytes; the rest is zero.
 * NULL where there is no memory; the old block is then still valid. */
void *smk_heap_resize(void *block, size_t old_bytes, size_t new_bytes);

/* Accepts NULL. */
void smk_heap_free(void *block);

/* Test hook: the `after`-th allocation from now (1 = the next) fails, once; 0 switches it off. */
void smk_heap_fail_after(uint64_t after);

#endif
