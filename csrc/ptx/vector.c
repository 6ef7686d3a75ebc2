#include "ptx/vector.h"

#include "base/heap.h"
#include "base/poll.h"

#include <string.h>

enum { COPIED_AT_ONCE = 1 << 16 };
#define ITEMS_MAX ((size_t)1 << 31)

void *smk_vector_push(smk_vector *vector, size_t size)
{
    if (vector->count == vector->capacity) {
        size_t capacity = vector->capacity == 0 ? 8 : vector->capacity * 2;
        if (capacity > ITEMS_MAX) {
            return NULL;
        }
        void *grown = smk_heap_resize(vector->items, vector->capacity * size, capacity * size);
        if (grown == NULL) {
            return NULL;
        }
        vector->items = grown;
        vector->capacity = capacity;
    }
    void *item = (char *)vector->items + vector->count * size;
    memset(item, 0, size); /* a vector can be emptied and used again */
    vector->count++;
    return item;
}

void *smk_vector_copy(const smk_vector *vector, size_t size, smk_arena *arena)
{
    unsigned char *copy = smk_arena_allocate(arena, vector->count, size);
    size_t part = 0, bytes = copy == NULL ? 0 : vector->count * size;
    for (size_t done = 0; done < bytes; done += part) { /* a large copy takes long */
        if (done != 0 && smk_poll_stop()) {
            return NULL;
        }
        part = bytes - done < COPIED_AT_ONCE ? bytes - done : COPIED_AT_ONCE;
        memcpy(copy + done, (const unsigned char *)vector->items + done, part);
    }
    return copy;
}

void smk_vector_free(smk_vector *vector)
{
    smk_heap_free(vector->items);
    *vector = (smk_vector){0};
}
