/* cp.async.bulk: copies of any number of bytes between global and shared memory, and reductions.
 *
 * A copy is pending from the instruction on, and reads its source and writes its target as late as it may. A copy with
 * an mbarrier is completed when a thread of the block waits (at a nanosleep, which a test of an mbarrier that fails
 * stands for), whatever it waits for; one of a bulk group when its thread waits for the group, or when the block has
 * ended. So a kernel that does not wait gets what was in memory before. */
#ifndef SMK_SIM_EXEC_BULK_H
#define SMK_SIM_EXEC_BULK_H

#include "sim/exec/warp.h"

enum { SMK_BULK_CHUNK = 16 }; /* bytes: addresses and sizes are multiples */

typedef struct smk_bulk_copy {
    const smk_operation *op;
    unsigned char *to;
    const unsigned char *from;
    uint64_t to_address, from_address; /* in the spaces of target and source */
    uint64_t group;                    /* of a copy without an mbarrier: the bulk group of its thread */
    uint32_t bytes;
    uint32_t barrier; /* address of the mbarrier in shared memory */
    uint32_t warp, lane;
    uint32_t issued; /* for the observer */
    uint16_t mask;   /* bytes of each chunk that are written */
    bool to_global, from_global;
    bool done; /* it has read its source and written its target, but its thread has not waited for the write */
} smk_bulk_copy;

/* The copies of a block. */
typedef struct smk_bulk {
    smk_bulk_copy *copy;
    uint32_t count, capacity;
    uint64_t *group; /* bulk groups that each thread has committed */
} smk_bulk;

/* Fields: `a` row of 64-bit target addresses and u.detail->offset, `b` of source addresses and second_offset, `c` row of
 * sizes of 32 bits, `d` row of 64-bit addresses of mbarriers, slot of smk_bulk_flags; u.detail->row a row of masks of 16
 * bits where source_bits is not 0; element the smk_type and count the smk_modifier of a reduction, or MODIFIER_COUNT. */
enum smk_bulk_flags { SMK_BULK_TO_GLOBAL = 1, SMK_BULK_FROM_GLOBAL = 2, SMK_BULK_MULTICAST = 4 };

const smk_operation *smk_bulk_issue(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_bulk_commit(smk_warp *warp, const smk_operation *op);
/* u.immediate: groups that may stay; `count`: only the sources must have been read (.read) */
const smk_operation *smk_bulk_wait(smk_warp *warp, const smk_operation *op);

/* A thread waits: completes the copies that have an mbarrier. False: the warp has failed, at `op`. */
bool smk_bulk_land(smk_warp *warp, const smk_operation *op);

/* The block starts, has ended without an error, and is freed. */
void smk_bulk_begin(struct smk_block *block);
void smk_bulk_end(struct smk_block *block);
void smk_bulk_free(struct smk_block *block);

#endif
