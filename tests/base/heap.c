/* What smk_heap_allocate and smk_heap_resize say to sizes at the edges. Exit status: the line that fails, or 0. */
#include "base/heap.h"

#include <stdint.h>
#include <string.h>

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            return __LINE__;                                                                                           \
        }                                                                                                              \
    } while (0)

int main(void)
{
    static const unsigned char zeros[200] = {0};
    unsigned char *block = smk_heap_allocate(50, 4);
    WANT(block != NULL && (uintptr_t)block % 64 == 0 && memcmp(block, zeros, 200) == 0);
    memset(block, 7, 200);
    block = smk_heap_resize(block, 200, 300);
    WANT(block != NULL && block[199] == 7 && memcmp(block + 200, zeros, 100) == 0);
    smk_heap_free(block);

    void *nothing[] = {smk_heap_allocate(0, 8), smk_heap_allocate(8, 0)};
    WANT(nothing[0] != NULL && nothing[1] != NULL && nothing[0] != nothing[1]);
    smk_heap_free(nothing[0]);
    smk_heap_free(nothing[1]);

    WANT(smk_heap_allocate(SIZE_MAX, 2) == NULL); /* the product has no 64 bits */
    WANT(smk_heap_allocate(SIZE_MAX / 2 + 2, 2) == NULL);
    WANT(smk_heap_allocate(SIZE_MAX - 3, 1) == NULL); /* no room for the alignment */
    return 0;
}
