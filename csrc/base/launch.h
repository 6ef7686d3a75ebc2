/* A launch: what both machines need to run a kernel. */
#ifndef SMK_BASE_LAUNCH_H
#define SMK_BASE_LAUNCH_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SMK_WARP_SIZE = 32 }; /* lanes of a warp, on every GPU of NVIDIA */

typedef struct smk_dim3 {
    uint32_t x, y, z;
} smk_dim3;

/* What messages call the array that an argument points to. */
typedef struct smk_launch_array {
    smk_text name;          /* of the parameter; empty where it is not known */
    char kind;              /* of the elements, as numpy.dtype.kind has it */
    uint64_t element_bytes; /* 0: the argument is no array */
    unsigned rank;
    const uint64_t *shape; /* C-contiguous */
    bool operand;          /* of a call by name, as gemm(a, b): its name alone says which, without args[i] */
} smk_launch_array;

typedef struct smk_launch {
    smk_dim3 grid;       /* blocks */
    smk_dim3 block;      /* threads */
    size_t shared_bytes; /* dynamic shared memory a block */
    void **parameters;   /* one pointer to each parameter's value, in order */
    size_t parameter_count;
    const void *packed; /* the same values as they lie in the parameter space of a kernel, which a driver reads faster;
                         * NULL: not made */
    size_t packed_bytes;
    const smk_launch_array *arrays; /* for messages, one for each parameter; NULL: not known */
    const uint64_t *workspace;      /* for messages, where a family's call has memory of its own; NULL: it has none */
    const char *family;             /* of that call */
    bool cooperative;               /* all blocks are there at once, and may wait for each other */
    bool begins_early; /* its blocks may be on a GPU before the launch before it in the stream has ended: each waits for
                        * that (griddepcontrol.wait) before it accesses any memory */
    bool prefers_carveout; /* carveout_percent is set; a hint to a GPU alone */
    int carveout_percent;  /* of the L1 storage, for shared memory: 0 to 100 */
} smk_launch;

#endif
