/* What the threads of a block have done to memory lately: cells of one, two or four bytes, 32 of them a line.
 *
 * Everything is stamped with the block's time (order.h), which only grows, from block to block too: what an earlier block has left
 * needs no clearing.
 */
#ifndef SMK_SIM_SHADOW_H
#define SMK_SIM_SHADOW_H

#include "../base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { SMK_SHADOW_CELLS = 32, SMK_SHADOW_WARPS = 32 };

/* wtime of a cell that a cp.async is writing; who and place are the copy's. */
#define SMK_SHADOW_PENDING UINT32_MAX

/* Accesses of one warp to the cells of a line: the lanes of its last ones that nothing has ordered since. */
typedef struct smk_shadow_row {
    uint32_t time[SMK_SHADOW_CELLS];
    uint32_t lanes[SMK_SHADOW_CELLS];
    uint32_t place[SMK_SHADOW_CELLS];
} smk_shadow_row;

typedef struct smk_shadow_line {
    uint32_t wtime[SMK_SHADOW_CELLS]; /* the last write that is not atomic */
    uint32_t rtime[SMK_SHADOW_CELLS]; /* the last load */
    uint32_t stime[SMK_SHADOW_CELLS]; /* the last atomic operation */
    uint32_t itime[SMK_SHADOW_CELLS]; /* when the copy was issued that wrote or writes the cell */
    uint32_t wplace[SMK_SHADOW_CELLS];
    uint16_t wwho[SMK_SHADOW_CELLS]; /* warp * 32 + lane */
    uint64_t number;                 /* address / bytes of a line */
    smk_shadow_row *loads[SMK_SHADOW_WARPS];
    smk_shadow_row *atomics[SMK_SHADOW_WARPS];
} smk_shadow_line;

/* Things of one size that are taken one by one and given back all at once; they stay where they are. */
typedef struct smk_shadow_pool {
    unsigned char **chunk;
    uint32_t chunk_count, chunk_capacity, used;
    uint32_t bytes; /* of a thing */
} smk_shadow_pool;

/* Lines by number. */
typedef struct smk_shadow {
    unsigned shift;          /* a cell has 1 << shift bytes */
    smk_shadow_line *direct; /* of shared memory; NULL: found by `slot` */
    uint32_t direct_count;
    smk_shadow_line **slot;
    uint32_t *slot_use; /* is it of this block? */
    uint32_t slot_count, use;
    smk_shadow_pool lines, rows;
    smk_shadow_line *last; /* found */
    bool failed;           /* there was no memory: what follows is not judged */
} smk_shadow;

/* `direct_bytes` > 0: of addresses 0 to that. Errors: MEMORY. */
smk_status smk_shadow_create(smk_shadow *shadow, unsigned shift, uint64_t direct_bytes, smk_error *error);
void smk_shadow_free(smk_shadow *shadow);

/* Forgets which lines there were (not those of shared memory). */
void smk_shadow_begin(smk_shadow *shadow);

/* The line of that number, or NULL where there is no memory. */
smk_shadow_line *smk_shadow_find(smk_shadow *shadow, uint64_t number);
smk_shadow_row *smk_shadow_row_of(smk_shadow *shadow, smk_shadow_row **row);

/* The i-th line that the block has touched; NULL behind the last. */
smk_shadow_line *smk_shadow_get(const smk_shadow *shadow, uint32_t i);

void *smk_shadow_pool_take(smk_shadow_pool *pool, bool *fresh);
void *smk_shadow_pool_get(const smk_shadow_pool *pool, uint32_t i);
void smk_shadow_pool_free(smk_shadow_pool *pool);

#endif
