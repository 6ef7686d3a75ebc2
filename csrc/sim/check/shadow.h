/* Shadow memory: the recent accesses of a block's threads to each cell of one, two or four bytes; 32 cells make a line.
 *
 * Every record has the block's logical time (happens_before.h), which grows from block to block, so the records of an
 * earlier block need no clearing.
 */
#ifndef SMK_SIM_CHECK_SHADOW_H
#define SMK_SIM_CHECK_SHADOW_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { SMK_SHADOW_CELLS = 32, SMK_SHADOW_WARPS = 32 };

/* write_time of a cell that a cp.async is writing; write_thread and write_id are those of the copy. */
#define SMK_SHADOW_PENDING UINT32_MAX

/* A regular pattern: each lane touches 1 << step neighbouring cells, in lane order. Cell k of [from, to) belongs to
 * lane (k + skew) >> step; with `mirrored` also to the lane 16 above. */
typedef struct smk_shadow_shape {
    uint8_t from, to, step;
    bool mirrored;
    int32_t skew;
} smk_shadow_shape;

/* Accesses of one warp to the cells of a line: for each cell the lanes of its last unordered accesses. */
typedef struct smk_shadow_row {
    uint32_t latest; /* the latest time in this row and in those behind it */
    uint32_t time[SMK_SHADOW_CELLS];
    uint32_t lanes[SMK_SHADOW_CELLS];
    uint32_t instruction_id[SMK_SHADOW_CELLS];
    struct smk_shadow_row *more; /* accesses of other instructions or times to the same cells */
} smk_shadow_row;

/* Accesses of one warp to the cells of a shape, recorded at once; time 0: none. */
typedef struct smk_shadow_batch {
    uint32_t time, instruction_id;
    smk_shadow_shape shape;
} smk_shadow_batch;

enum { SMK_SHADOW_BATCHES = 2 };

/* Loads that are recorded as batches and not in rows; the batches of a warp have no cell in common. */
typedef struct smk_shadow_batches {
    smk_shadow_batch batch[SMK_SHADOW_BATCHES][SMK_SHADOW_WARPS];
} smk_shadow_batches;

/* The cells of a line, and a summary that spares a test of each cell: no time is later than `latest_...`; `written` are
 * the cells written since `written_since`. */
typedef struct smk_shadow_line {
    uint32_t write_time[SMK_SHADOW_CELLS];  /* of the last weak write */
    uint32_t atomic_time[SMK_SHADOW_CELLS]; /* of the last atomic operation or strong store */
    uint32_t issue_time[SMK_SHADOW_CELLS];  /* at which the cp.async was issued that writes the cell; 0: none */
    uint32_t write_id[SMK_SHADOW_CELLS];
    uint32_t value[SMK_SHADOW_CELLS];        /* stored by that write; of a bulk copy the number of its landing, or 0 */
    uint16_t write_thread[SMK_SHADOW_CELLS]; /* warp * 32 + lane */
    uint32_t varied;                         /* cells to which the block has stored several values, one bit each */
    uint64_t number;                         /* address / bytes of a line */
    uint32_t written, written_since, latest_write, latest_atomic, latest_read;
    uint32_t latest_kept;                      /* of weak writes that have moved to `atomics` (race_note.c) */
    uint32_t loaders, changers, batch_loaders; /* warps that have rows, or batches: one bit each */
    smk_shadow_batches *batches;               /* of loads; NULL: none yet */
    smk_shadow_row *loads[SMK_SHADOW_WARPS];
    smk_shadow_row *atomics[SMK_SHADOW_WARPS];
} smk_shadow_line;

/* A pool of items of one size, which are allocated one by one, freed all at once, and never move. */
typedef struct smk_shadow_pool {
    unsigned char **chunk;
    uint32_t chunk_count, chunk_capacity, used;
    uint32_t bytes; /* of an item */
} smk_shadow_pool;

/* Lines by number: an array for shared memory, a hash table for global memory. */
typedef struct smk_shadow {
    unsigned shift;          /* a cell has 1 << shift bytes */
    smk_shadow_line *direct; /* of shared memory; NULL: use `slot` */
    uint32_t direct_count;
    smk_shadow_line **slot;
    uint32_t *slot_use; /* equal to `use`: the slot belongs to this block */
    uint32_t slot_count, use;
    smk_shadow_pool lines, rows, batches;
    smk_shadow_line *last; /* found */
    bool failed;           /* there was no memory: later accesses are not checked */
} smk_shadow;

/* `direct_bytes` > 0: for addresses below that number, as of shared memory. Errors: MEMORY. */
smk_status smk_shadow_create(smk_shadow *shadow, unsigned shift, uint64_t direct_bytes, smk_error *error);
void smk_shadow_free(smk_shadow *shadow);

/* Starts a block: drops all lines of global memory. */
void smk_shadow_begin(smk_shadow *shadow);

/* The line of that number, or NULL where there is no memory. */
smk_shadow_line *smk_shadow_find(smk_shadow *shadow, uint64_t number);

/* The row at *row, or a new one there; NULL where there is no memory. */
smk_shadow_row *smk_shadow_row_of(smk_shadow *shadow, smk_shadow_row **row);

/* Marks cells as written by the block that started at time `begin`. */
static inline void smk_shadow_note_written(smk_shadow_line *line, uint32_t cells, uint32_t begin)
{
    line->written = cells | (line->written_since == begin ? line->written : 0);
    line->written_since = begin;
}

/* The batches of a line, empty at first for each warp; NULL where there is no memory. */
smk_shadow_batches *smk_shadow_batches_of(smk_shadow *shadow, smk_shadow_line *line, uint32_t warp);

/* Writes the batches of a warp out into its row. */
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
