#include "base/arena.h"

#include "base/heap.h"

#include <stdint.h>

/* Chunks grow, so that a few objects cost little and many do not need many chunks. */
enum { ALIGNMENT = 16, CHUNK_BYTES_MIN = 1 << 10, CHUNK_BYTES_MAX = 1 << 16 };

typedef struct smk_arena_chunk {
    struct smk_arena_chunk *next;
    size_t used;
    size_t capacity;
    _Alignas(ALIGNMENT) unsigned char bytes[];
} smk_arena_chunk;

static smk_arena_chunk *add_chunk(smk_arena *arena, size_t bytes)
{
    size_t capacity = arena->chunk == NULL ? CHUNK_BYTES_MIN : 4 * arena->chunk->capacity;
    capacity = capacity > CHUNK_BYTES_MAX ? CHUNK_BYTES_MAX : capacity;
    capacity = capacity < bytes ? bytes : capacity;
    smk_arena_chunk *chunk = smk_heap_allocate(1, sizeof *chunk + capacity);
    if (chunk != NULL) {
        chunk->capacity = capacity;
        chunk->next = arena->chunk;
        arena->chunk = chunk;
    }
    return chunk;
}

void *smk_arena_allocate(smk_arena *arena, size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX / 2) / size) {
        return NULL;
    }
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    smk_arena_chunk *chunk = arena->chunk;
    if (chunk == NULL || chunk->capacity - chunk->used < bytes) {
        chunk = add_chunk(arena, bytes);
        if (chunk == NULL) {
            return NULL;
        }
    }
    void *block = chunk->bytes + chunk->used;
    chunk->used += bytes;
    return block;
}

void smk_arena_free(smk_arena *arena)
{
    smk_arena_chunk *chunk = arena->chunk;
    while (chunk != NULL) {
        smk_arena_chunk *next = chunk->next;
        smk_heap_free(chunk);
        chunk = next;
    }
    arena->chunk = NULL;
}
