/* Occupancy: the resources of a multiprocessor of each compute capability, and the resident blocks of a kernel. */
#ifndef SMK_REGISTRY_OCCUPANCY_H
#define SMK_REGISTRY_OCCUPANCY_H

#include "base/launch.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SMK_OCCUPANCY_BLOCK_THREADS_MAX = 1024,
    SMK_OCCUPANCY_REGISTER_UNIT = 256,       /* registers are given to a warp in this unit */
    SMK_OCCUPANCY_SHARED_DEFAULT = 48 * 1024 /* bytes a block has without opting in */
};

/* No limit. */
#define SMK_OCCUPANCY_NONE UINT32_MAX

/* One row of limits.def, in bytes and single registers. */
typedef struct smk_limits {
    int major, minor;
    uint32_t threads_sm, warps_sm, blocks_sm;
    uint32_t barriers_sm; /* 0: does not limit */
    uint32_t registers_sm, registers_block, registers_thread;
    uint32_t partitions; /* of the register file */
    uint32_t shared_sm, shared_optin, shared_reserved, shared_unit;
    const char *carveouts_kb; /* "0 8 16", ascending; "": the one size */
    const char *source;
} smk_limits;

size_t smk_occupancy_limits_count(void);
const smk_limits *smk_occupancy_limits(size_t index);       /* an index below the count */
const smk_limits *smk_occupancy_find(int major, int minor); /* NULL where there is no row */
bool smk_occupancy_has_kernels(const smk_limits *limits);   /* does this package build kernels for it? */

/* The resources that one block of a kernel uses. */
typedef struct smk_block_use {
    uint32_t threads;                       /* of the block, 1 or more */
    uint32_t threads_max;                   /* the most that the kernel accepts (its launch bounds); 0: the machine's
                                             * limit */
    uint32_t registers;                     /* of a thread */
    uint32_t barriers;                      /* named ones */
    uint64_t shared_static, shared_dynamic; /* bytes */
} smk_block_use;

/* Which limits are reached, as a set of bits. */
typedef enum smk_occupancy_limit {
    SMK_OCCUPANCY_THREADS,
    SMK_OCCUPANCY_BLOCKS,
    SMK_OCCUPANCY_REGISTERS,
    SMK_OCCUPANCY_SHARED_MEMORY,
    SMK_OCCUPANCY_BARRIERS,
    SMK_OCCUPANCY_LIMIT_COUNT
} smk_occupancy_limit;

typedef struct smk_occupancy {
    uint32_t blocks, warps, threads;           /* resident on one multiprocessor; 0: a block does not run at all */
    uint32_t limit[SMK_OCCUPANCY_LIMIT_COUNT]; /* blocks that each limit admits; SMK_OCCUPANCY_NONE */
    unsigned limited_by;                       /* bit i: limit[i] equals `blocks` */
    uint64_t registers_block;                  /* registers that a block is given */
    uint64_t shared_block;                     /* bytes of shared memory that a block is given, the reserved included */
    uint64_t shared_spare; /* bytes by which the dynamic part can grow without losing a resident block */
    uint64_t carveout;     /* the smallest shared part of the L1 storage that holds these blocks */
} smk_occupancy;

/* Blocks of that use on one multiprocessor, as the CUDA runtime counts them for a kernel that has opted in to all the
 * shared memory of a block. Errors: ARGUMENT where the block has no thread. */
smk_status smk_occupancy_count(const smk_limits *limits, const smk_block_use *use, smk_occupancy *result,
                               smk_error *error);

/* "threads", "blocks", "registers", "shared_memory", "barriers". */
const char *smk_occupancy_limit_name(smk_occupancy_limit limit);

/* The next block size to try downwards from `threads` (0: from the top): multiples of the warp, and at the top the
 * kernel's own limit as it is. 0 where there is none left. */
uint32_t smk_occupancy_next_block(uint32_t threads, uint32_t threads_max);

#endif
