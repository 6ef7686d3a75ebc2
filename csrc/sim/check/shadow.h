/* What the threads of a block have done to memory lately: cells of one, two or four bytes, 32 of them a line.
 *
 * Everything is stamped with the block's time (happens_before.h), which only grows, from block to block too: what an earlier
 * block has left needs no clearing.
 */
#ifndef SMK_SIM_CHECK_SHADOW_H
#define SMK_SIM_CHECK_SHADOW_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { SMK_SHADOW_CELLS = 32, SMK_SHADOW_WARPS = 32 };

/* wtime of a cell that a cp.async is writing; who and place are the copy's. */
#define SMK_SHADOW_PENDING UINT32_MAX

/* Lanes of a warp that each touch as many neighbouring cells, in order: cell k of [from, to) is that of lane (k +
 * skew) >> step, and of lane + 16 too where the halves of the warp do the same. */
typedef struct smk_shadow_shape {
    uint8_t from, to, step;
    bool twice;
    int32_t skew;
} smk_shadow_shape;

/* Accesses of one warp to the cells of a line: the lanes of its last ones that nothing has ordered since. */
typedef struct smk_shadow_row {
    uint32_t most; /* no time is later, in the rows behind neither */
    uint32_t time[SMK_SHADOW_CELLS];
    uint32_t lanes[SMK_SHADOW_CELLS];
    uint32_t instruction_id[SMK_SHADOW_CELLS];
    struct smk_shadow_row *more; /* of other instructions, or times, on the same cells */
} smk_shadow_row;

/* Accesses of one warp to the cells of a shape; time 0: none. */
typedef struct smk_shadow_batch {
    uint32_t time, instruction_id;
    smk_shadow_shape shape;
} smk_shadow_batch;

enum { SMK_SHADOW_BATCHES = 2 };

/* Loads that are noted as shapes, in place of what rows say of the cells; those of a warp have no cell in common. */
typedef struct smk_shadow_batches {
    smk_shadow_batch of[SMK_SHADOW_BATCHES][SMK_SHADOW_WARPS];
} smk_shadow_batches;

/* What the cells of a line have in common spares a look at each: no time is later than `..._most`; `written` are the
 * cells that were written since `written_since`. */
typedef struct smk_shadow_line {
    uint32_t write_time[SMK_SHADOW_CELLS]; /* the last write that is not atomic */
    uint32_t atomic_time[SMK_SHADOW_CELLS]; /* the last atomic operation */
    uint32_t issue_time[SMK_SHADOW_CELLS]; /* when the copy was issued that wrote or writes the cell */
    uint32_t write_id[SMK_SHADOW_CELLS];
    uint32_t value[SMK_SHADOW_CELLS]; /* what that write stored; of no meaning where a copy wrote */
    uint16_t write_thread[SMK_SHADOW_CELLS];  /* warp * 32 + lane */
    uint32_t varied;                  /* cells in which the block has stored several values, one bit each */
    uint64_t number;                  /* address / bytes of a line */
    uint32_t written, written_since, written_most, atomic_most, read_most;
    uint32_t kept_most;                     /* of weak writes that are among `atomics` (race.c) */
    uint32_t loaders, changers, batch_loaders; /* warps that have rows, or wides: one bit each */
    smk_shadow_batches *batches;                  /* of loads; NULL: none yet */
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
    smk_shadow_pool lines, rows, batches;
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

/* The row at *row, or a new one there; NULL where there is no memory. */
smk_shadow_row *smk_shadow_row_of(smk_shadow *shadow, smk_shadow_row **row);

/* Cells that a block writes, whose first time is `begin`. */
static inline void smk_shadow_note_written(smk_shadow_line *line, uint32_t cells, uint32_t begin)
{
    line->written = cells | (line->written_since == begin ? line->written : 0);
    line->written_since = begin;
}

/* The places of a warp's wides; NULL where there is no memory. */
smk_shadow_batches *smk_shadow_batches_of(smk_shadow *shadow, smk_shadow_line *line, uint32_t warp);

/* Writes a warp's wides into its row. */
void smk_shadow_spread(smk_shadow *shadow, smk_shadow_line *line, uint32_t warp);

static inline void smk_shadow_settle(smk_shadow *shadow, smk_shadow_line *line, uint32_t warp)
{
    if ((line->batch_loaders >> warp & 1) != 0) {
        smk_shadow_spread(shadow, line, warp);
    }
}

/* The i-th line that the block has touched; NULL behind the last. */
smk_shadow_line *smk_shadow_get(const smk_shadow *shadow, uint32_t i);

void *smk_shadow_pool_take(smk_shadow_pool *pool, bool *fresh);
void *smk_shadow_pool_get(const smk_shadow_pool *pool, uint32_t i);
void smk_shadow_pool_free(smk_shadow_pool *pool);

#endif
