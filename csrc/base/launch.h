/* A launch: what both machines need to run a kernel. */
#ifndef SMK_BASE_LAUNCH_H
#define SMK_BASE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SMK_WARP_SIZE = 32 }; /* lanes of a warp, on every GPU of NVIDIA */

typedef struct smk_dim3 {
    uint32_t x, y, z;
} smk_dim3;

typedef struct smk_launch {
    smk_dim3 grid;       /* blocks */
    smk_dim3 block;      /* threads */
    size_t shared_bytes; /* dynamic shared memory a block */
    void **parameters;   /* one pointer to each parameter's value, in order */
    size_t parameter_count;
    bool prefers_carveout; /* carveout_percent is set; a hint to a GPU alone */
    int carveout_percent;  /* of the L1 storage, for shared memory: 0 to 100 */
} smk_launch;

#endif
