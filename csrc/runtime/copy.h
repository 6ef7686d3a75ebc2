/* Copies and fills of boxes of bytes, between host and device memory. */
#ifndef SMK_RUNTIME_COPY_H
#define SMK_RUNTIME_COPY_H

#include "runtime/abi.h"

#include <stddef.h>

/* `depth` slices of `height` rows of `width` bytes; pitches and slices in bytes. */
typedef struct smk_copy {
    void *target;
    const void *source;
    size_t target_pitch, source_pitch, target_slice, source_slice;
    size_t width, height, depth;
    int kind; /* SMK_COPY_... */
} smk_copy;

typedef struct smk_fill {
    void *target;
    size_t pitch, slice;
    size_t width, height, depth; /* width in elements */
    unsigned value, element_bytes;
} smk_fill;

/* Where an address points: SMK_MEMORY_DEVICE where kernels alone reach it, SMK_MEMORY_MANAGED where the host does too,
 * else SMK_MEMORY_UNKNOWN. */
int smk_copy_find_memory(const void *address);

smk_cuda smk_copy_run(const smk_copy *copy);
smk_cuda smk_copy_fill(const smk_fill *fill);

#endif
