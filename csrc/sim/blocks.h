/* What the blocks of a launch have done to global memory: races between blocks.
 *
 * Where blocks cannot wait for each other, two of them that touch a byte race, whatever the order in which they ran:
 * for each cell the two lowest blocks that read, wrote and changed it atomically are kept, which does not depend on
 * that order, and judged at the end. Where they can (the image is ordered: one host thread), each access is judged
 * when it happens.
 */
#ifndef SMK_SIM_BLOCKS_H
#define SMK_SIM_BLOCKS_H

#include "finding.h"
#include "order.h"
#include "shadow.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { SMK_BLOCKS_READ, SMK_BLOCKS_WRITE, SMK_BLOCKS_ATOMIC, SMK_BLOCKS_CLASSES };

/* Of each cell, two blocks: the lowest ones, or the latest ones where blocks are ordered. */
typedef struct smk_blocks_set {
    uint32_t block[2][SMK_SHADOW_CELLS]; /* number + 1; 0: none */
    uint32_t place[2][SMK_SHADOW_CELLS];
    uint32_t time[2][SMK_SHADOW_CELLS];
    uint16_t who[2][SMK_SHADOW_CELLS];
    uint32_t value[SMK_SHADOW_CELLS]; /* of writes: what was stored, where `varied` has no bit */
    uint32_t varied;                  /* cells in which different values were stored */
} smk_blocks_set;

typedef struct smk_blocks_line {
    uint64_t number;
    smk_blocks_set *set[SMK_BLOCKS_CLASSES];
    uint32_t done; /* later blocks that only read can change nothing */
} smk_blocks_line;

typedef struct smk_blocks {
    pthread_mutex_t lock;
    unsigned shift;
    smk_shadow_pool lines, sets;
    uint32_t *slot; /* index + 1 */
    uint32_t slot_count;
    bool failed;
} smk_blocks;

typedef struct smk_blocks_access {
    const smk_order *order;
    unsigned class; /* SMK_BLOCKS_... */
    uint32_t warp, lane, place;
    uint8_t flags; /* of the place */
} smk_blocks_access;

smk_status smk_blocks_create(smk_blocks *blocks, unsigned shift, smk_error *error);
void smk_blocks_free(smk_blocks *blocks);

/* A block of an unordered launch has ended; `begin` is its first stamp. */
void smk_blocks_merge(smk_blocks *blocks, smk_shadow *shadow, uint64_t block, uint32_t begin);

/* Ordered: notes an access to a cell. True where it races with another block's: `other` says which. */
bool smk_blocks_note(smk_blocks *blocks, uint64_t cell, const smk_blocks_access *access, const uint8_t *flags,
                     smk_blocks_access *other, uint64_t *other_block);
/* Ordered: has any block written the cell? */
bool smk_blocks_written(smk_blocks *blocks, uint64_t cell);

/* The i-th line, or NULL. */
const smk_blocks_line *smk_blocks_get(const smk_blocks *blocks, uint32_t i);

#endif
