/* Addresses that were used up to the last are given again, between allocations that have stayed. Exit status: the line
 * that fails, or 0. */
#include "sim/code/memory.h"

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            return __LINE__;                                                                                           \
        }                                                                                                              \
    } while (0)

enum { KEPT = 3 };

/* Memory is filled when something first reaches it; what is written whole first is never filled. */
static void check_fills(smk_memory *memory)
{
    enum { BYTES = 1 << 16, FRESH = 0xA5 };
    static unsigned char bytes[BYTES];
    uint64_t part = 0, whole = 0, freed = 0, shown = 0;
    void *host = NULL;
    smk_error error = {0};
    WANT(smk_memory_allocate(memory, BYTES, &part, &error) == SMK_OK);
    WANT(smk_memory_allocate(memory, BYTES, &whole, &error) == SMK_OK);
    WANT(smk_memory_allocate(memory, BYTES, &freed, &error) == SMK_OK);
    WANT(smk_memory_allocate(memory, BYTES, &shown, &error) == SMK_OK);
    WANT(smk_memory_free(memory, freed, &error) == SMK_OK);
    bytes[0] = 1;
    WANT(smk_memory_write(memory, whole, bytes, BYTES, &error) == SMK_OK);
    WANT(smk_memory_write(memory, part + 2, bytes, 1, &error) == SMK_OK);
    WANT(smk_memory_read(memory, part, bytes, BYTES, &error) == SMK_OK);
    WANT(bytes[1] == FRESH && bytes[2] == 1 && bytes[3] == FRESH && bytes[BYTES - 1] == FRESH);
    WANT(smk_memory_read(memory, whole, bytes, BYTES, &error) == SMK_OK && bytes[0] == 1 && bytes[BYTES - 1] == 0);
    WANT(smk_memory_host(memory, shown, BYTES, true, &host, &error) == SMK_OK);
    WANT(((unsigned char *)host)[BYTES - 1] == FRESH);
    WANT(smk_memory_free(memory, part, &error) == SMK_OK && smk_memory_free(memory, whole, &error) == SMK_OK);
    WANT(smk_memory_free(memory, shown, &error) == SMK_OK);
}

int main(void)
{
    const uint64_t most = UINT64_C(0x400000000000); /* more than half of all addresses */
    static unsigned char host[1];
    smk_memory *memory = NULL;
    smk_error error = {0};
    uint64_t kept[KEPT] = {0}, large = 0, again = 0;
    WANT(smk_memory_create(&memory, &error) == SMK_OK);
    check_fills(memory);
    for (int i = 0; i < KEPT; i++) {
        unsigned char value = (unsigned char)(10 + i);
        WANT(smk_memory_allocate(memory, 1, &kept[i], &error) == SMK_OK);
        WANT(smk_memory_write(memory, kept[i], &value, 1, &error) == SMK_OK);
        if (i == 0) { /* the others lie behind it; its bytes are never touched */
            WANT(smk_memory_adopt(memory, host, most, &large, &error) == SMK_OK);
        }
    }
    WANT(large > kept[0] && large < kept[1]);
    WANT(smk_memory_adopt(memory, host, most, &again, &error) == SMK_MEMORY);
    WANT(smk_memory_free(memory, large, &error) == SMK_OK);
    WANT(smk_memory_adopt(memory, host, most, &again, &error) == SMK_OK && again == large);
    for (int i = 0; i < KEPT; i++) {
        unsigned char value = 0;
        WANT(smk_memory_read(memory, kept[i], &value, 1, &error) == SMK_OK && value == 10 + i);
    }
    WANT(smk_memory_free(memory, again, &error) == SMK_OK);
    WANT(smk_memory_allocate_again(memory, kept[1], 1, &error) == SMK_MEMORY);
    WANT(smk_memory_free(memory, kept[1], &error) == SMK_OK);
    WANT(smk_memory_allocate_again(memory, kept[1], 1, &error) == SMK_OK);
    uint64_t shared = 0, start = 0, bytes = 0;
    bool is_shared = false;
    WANT(smk_memory_allocate_shared(memory, 5000, &shared, &error) == SMK_OK);
    ((unsigned char *)(uintptr_t)shared)[4999] = 7; /* the host finds it at its address */
    WANT(smk_memory_find(memory, shared + 4999, &start, &bytes, &is_shared) && start == shared && bytes == 5000);
    WANT(is_shared && smk_memory_find(memory, kept[0], &start, &bytes, &is_shared) && !is_shared);
    WANT(smk_memory_free(memory, shared, &error) == SMK_OK);
    for (int i = 0; i < KEPT; i++) {
        WANT(smk_memory_free(memory, kept[i], &error) == SMK_OK);
    }
    smk_memory_destroy(memory);
    return 0;
}
