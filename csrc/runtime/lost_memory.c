#include "runtime/lost_memory.h"

#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

enum { KEPT = 1024, LINE_BYTES = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static smk_lost_memory kept[KEPT];
static size_t added;

void smk_lost_memory_add(const smk_lost_memory *freed)
{
    (void)pthread_mutex_lock(&lock);
    kept[added++ % KEPT] = *freed;
    (void)pthread_mutex_unlock(&lock);
}

bool smk_lost_memory_find(uint64_t address, smk_lost_memory *found)
{
    bool any = false;
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < added && i < KEPT && !any; i++) {
        const smk_lost_memory *one = &kept[(added - 1 - i) % KEPT];
        any = address - one->address < one->bytes;
        *found = any ? *one : *found;
    }
    (void)pthread_mutex_unlock(&lock);
    return any;
}

/* By the list of what is mapped, one range a line: "55d0c0a00000-55d0c0a21000 rw-p ...". */
bool smk_lost_memory_is_host(uint64_t address)
{
    char line[LINE_BYTES], readable = '-';
    uint64_t first = 0, last = 0;
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %c", &first, &last, &readable) == 3 && readable == 'r' &&
                first <= address && address < last;
    }
    if (maps != NULL) {
        (void)fclose(maps);
    }
    return found;
}
