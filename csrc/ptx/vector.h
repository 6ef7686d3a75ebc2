/* Growing arrays. */
#ifndef SMK_PTX_VECTOR_H
#define SMK_PTX_VECTOR_H

#include "base/arena.h"

#include <stddef.h>

/* Items of one size, which the caller passes to each function. Zero-initialise to start. */
typedef struct smk_vector {
    void *items;
    size_t count;
    size_t capacity;
} smk_vector;

/* A new zero-filled item at the end; NULL where there is no memory, or where 2^31 items are reached. */
void *smk_vector_push(smk_vector *vector, size_t size);

/* A copy of the items in an arena; NULL where there is no memory, or where smk_poll_stop ends the work. */
void *smk_vector_copy(const smk_vector *vector, size_t size, smk_arena *arena);

void smk_vector_free(smk_vector *vector);

#endif
