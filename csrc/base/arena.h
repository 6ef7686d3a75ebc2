/* Bump allocator: many small objects that are freed together. */
#ifndef SMK_BASE_ARENA_H
#define SMK_BASE_ARENA_H

#include <stddef.h>

typedef struct smk_arena {
    struct smk_arena_chunk *chunk; /* newest first; zero-initialise to start */
} smk_arena;

/* Zero-filled memory for `count` items of `size` bytes, aligned to 16; NULL where there is none. */
void *smk_arena_allocate(smk_arena *arena, size_t count, size_t size);

/* Frees everything at once; the arena is empty and usable afterwards. */
void smk_arena_free(smk_arena *arena);

#endif
