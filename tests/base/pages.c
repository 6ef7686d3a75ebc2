/* What smk_pages_prepare replaces and what it leaves. Exit status: the line that fails, or 0. */
#include "base/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            return __LINE__;                                                                                           \
        }                                                                                                              \
    } while (0)

enum { HUGE_BYTES = 1 << 21, BLOCK_BYTES = (1 << 25) + 4096 + 5 };

static bool is_filled(const unsigned char *bytes, size_t count, unsigned char value)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != value) {
            return false;
        }
    }
    return true;
}

/* Writes a range as the simulator's memory does; the bytes before and behind it must stay. */
static int overwrite(size_t offset, size_t bytes)
{
    unsigned char *block = smk_pages_allocate(BLOCK_BYTES);
    WANT(block != NULL && (uintptr_t)block % HUGE_BYTES == 0);
    WANT(is_filled(block, BLOCK_BYTES, SMK_PAGES_FILL));
    block[0] = 1;
    block[BLOCK_BYTES - 1] = 2;
    smk_pages_prepare(block + offset, bytes);
    memset(block + offset, 7, bytes);
    WANT(is_filled(block + offset, bytes, 7));
    WANT(offset == 0 || (block[0] == 1 && is_filled(block + 1, offset - 1, SMK_PAGES_FILL)));
    const size_t end = offset + bytes;
    WANT(end == BLOCK_BYTES ||
         (block[BLOCK_BYTES - 1] == 2 && is_filled(block + end, BLOCK_BYTES - 1 - end, SMK_PAGES_FILL)));
    smk_pages_free(block, BLOCK_BYTES);
    return 0;
}

int main(void)
{
    const size_t edges[] = {0, 1, HUGE_BYTES - 1, HUGE_BYTES, HUGE_BYTES + 1, 3 * HUGE_BYTES, BLOCK_BYTES};
    const size_t count = sizeof edges / sizeof edges[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            const int line = overwrite(edges[i], edges[j] - edges[i]);
            if (line != 0) {
                return line;
            }
        }
    }
    unsigned char *zeros = smk_pages_allocate_zeros(BLOCK_BYTES);
    WANT(zeros != NULL && (uintptr_t)zeros % HUGE_BYTES == 0 && is_filled(zeros, BLOCK_BYTES, 0));
    zeros[BLOCK_BYTES - 1] = 2;
    smk_pages_use_huge(zeros, BLOCK_BYTES);
    WANT(zeros[BLOCK_BYTES - 1] == 2 && is_filled(zeros, BLOCK_BYTES - 1, 0));
    smk_pages_free(zeros, BLOCK_BYTES);
    WANT(smk_pages_allocate(0) == NULL && smk_pages_allocate(SIZE_MAX) == NULL);
    WANT(smk_pages_allocate(SIZE_MAX - 4096) == NULL && smk_pages_allocate(SIZE_MAX / 2) == NULL);
    smk_pages_free(NULL, 0);
    return 0;
}
