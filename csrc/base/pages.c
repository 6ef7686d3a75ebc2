/* For mmap, and on Linux for memfd_create and mremap, under -std=c11. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "base/pages.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATTERN_BYTES = 1 << 24, HUGE_PAGE_BYTES = 1 << 21, NO_FILE = -1 };

static atomic_int pattern = NO_FILE; /* PATTERN_BYTES of SMK_PAGES_FILL; kept for ever */

static int make_pattern(void)
{
#if defined(MFD_CLOEXEC)
    int file = memfd_create("smemkit", MFD_CLOEXEC);
    if (file < 0) {
        return NO_FILE;
    }
    void *bytes = MAP_FAILED;
    if (ftruncate(file, PATTERN_BYTES) == 0) {
        bytes = mmap(NULL, PATTERN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (bytes == MAP_FAILED) {
        (void)close(file);
        return NO_FILE;
    }
    memset(bytes, SMK_PAGES_FILL, PATTERN_BYTES);
    (void)munmap(bytes, PATTERN_BYTES);
    return file;
#else
    return NO_FILE;
#endif
}

static int get_pattern(void)
{
    int present = atomic_load(&pattern), none = NO_FILE;
    if (present != NO_FILE) {
        return present;
    }
    int made = make_pattern();
    if (made == NO_FILE || atomic_compare_exchange_strong(&pattern, &none, made)) {
        return made;
    }
    (void)close(made); /* another thread was first */
    return none;
}

/* Maps the pattern repeatedly over a block, copy on write. */
static bool show_pattern(unsigned char *block, size_t bytes)
{
    int file = get_pattern();
    bool shown = file != NO_FILE;
    for (size_t at = 0; shown && at < bytes; at += PATTERN_BYTES) {
        size_t part = bytes - at < PATTERN_BYTES ? bytes - at : PATTERN_BYTES;
        void *mapped = mmap(block + at, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0);
        shown = mapped != MAP_FAILED;
    }
    return shown;
}

static void *map(size_t bytes, int flags)
{
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

/* The first multiple of a huge page at or behind an address. */
static uintptr_t round_up(const void *address)
{
    return ((uintptr_t)address + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
}

/* Maps more than `bytes` and cuts off what lies before and behind the aligned block. */
static void *map_aligned(size_t bytes, int flags)
{
    if (bytes == 0 || bytes > SIZE_MAX - 2 * (size_t)HUGE_PAGE_BYTES) {
        return NULL;
    }
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    unsigned char *mapped = map(whole + HUGE_PAGE_BYTES, flags);
    if (mapped == NULL) {
        return NULL;
    }
    const size_t before = round_up(mapped) - (uintptr_t)mapped;
    if (before > 0) {
        (void)munmap(mapped, before);
    }
    if (before < HUGE_PAGE_BYTES) {
        (void)munmap(mapped + before + whole, HUGE_PAGE_BYTES - before);
    }
    return mapped + before;
}

void *smk_pages_allocate(size_t bytes)
{
    unsigned char *block = map_aligned(bytes, 0);
    if (block == NULL || show_pattern(block, bytes)) {
        return block;
    }
    /* no such file, or too many pieces for this system; a piece that could not be replaced may be gone */
    (void)munmap(block, bytes);
    block = map_aligned(bytes, 0);
    return block == NULL ? NULL : memset(block, SMK_PAGES_FILL, bytes);
}

void *smk_pages_allocate_zeros(size_t bytes)
{
    return map_aligned(bytes, MAP_NORESERVE);
}

void smk_pages_use_huge(void *block, size_t bytes)
{
#if defined(MADV_HUGEPAGE)
    (void)madvise(block, bytes, MADV_HUGEPAGE);
#else
    (void)block;
    (void)bytes;
#endif
}

void smk_pages_prepare(void *range, size_t bytes)
{
#if defined(MADV_HUGEPAGE) && defined(MREMAP_FIXED)
    unsigned char *first = (unsigned char *)range + (round_up(range) - (uintptr_t)range);
    const size_t before = (size_t)(first - (unsigned char *)range);
    const size_t whole = bytes < before ? 0 : (bytes - before) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    void *fresh = whole == 0 ? NULL : map(whole, 0);
    if (fresh == NULL) {
        return;
    }
    (void)madvise(fresh, whole, MADV_HUGEPAGE);
    /* mremap replaces the pages in one step. It fails before it unmaps any, while mmap could fail after that. */
    if (mremap(fresh, whole, whole, MREMAP_MAYMOVE | MREMAP_FIXED, first) == MAP_FAILED) {
        (void)munmap(fresh, whole);
    }
#else
    (void)range;
    (void)bytes;
#endif
}

void smk_pages_free(void *block, size_t bytes)
{
    if (block != NULL) {
        (void)munmap(block, bytes);
    }
}

bool smk_pages_is_resident(const void *address)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char resident = 1;
    if (mincore((void *)((uintptr_t)address / page * page), (size_t)page, &resident) != 0) {
        return true;
    }
    return (resident & 1) != 0;
}
