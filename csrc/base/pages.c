/* For mmap, and on Linux for memfd_create, under -std=c11. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "base/pages.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATTERN_BYTES = 1 << 24, NO_FILE = -1 };

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

static void *map(size_t bytes)
{
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

void *smk_pages_allocate(size_t bytes)
{
    unsigned char *block = bytes == 0 ? NULL : map(bytes);
    if (block == NULL || show_pattern(block, bytes)) {
        return block;
    }
    /* no such file, or too many pieces for this system; a piece that could not be replaced may be gone */
    (void)munmap(block, bytes);
    block = map(bytes);
    return block == NULL ? NULL : memset(block, SMK_PAGES_FILL, bytes);
}

void smk_pages_free(void *block, size_t bytes)
{
    if (block != NULL) {
        (void)munmap(block, bytes);
    }
}
