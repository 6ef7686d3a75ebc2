/* What the blocks of a launch have done to global memory: races between blocks.
 *
 * Where blocks cannot wait for each other, two of them that touch a byte race, whatever the order in which they ran:
 * for each cell the two lowest blocks that read, wrote and changed it atomically are kept, which does not depend on
 * that order, and judged at the end. All accesses of a class are of one kind there: no atomic operation is near.
 *
 * Where they can (the image is ordered: one host thread), each access is judged when it happens, against records of
 * all accesses to the cell that no later one makes superfluous: one that comes after it and conflicts with whatever it
 * conflicts with. A cell that has too many records keeps the first ones and the last; an access that may have raced
 * with one that is gone is counted (`unsure`).
 */
#ifndef SMK_SIM_CHECK_RACE_GRID_H
#define SMK_SIM_CHECK_RACE_GRID_H

#include "sim/check/finding.h"
#include "sim/check/happens_before.h"
#include "sim/check/shadow.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { SMK_RACE_GRID_READ, SMK_RACE_GRID_WRITE, SMK_RACE_GRID_ATOMIC, SMK_RACE_GRID_CLASSES };

/* Of each cell, the two lowest blocks. */
typedef struct smk_race_grid_set {
    uint32_t block[2][SMK_SHADOW_CELLS]; /* number + 1; 0: none */
    uint32_t instruction_id[2][SMK_SHADOW_CELLS];
    uint16_t thread[2][SMK_SHADOW_CELLS];
    uint32_t value[SMK_SHADOW_CELLS]; /* of writes: what was stored, where `varied` has no bit */
    uint32_t varied;                  /* cells in which different values were stored */
} smk_race_grid_set;

/* Kinds of accesses, by bits. Strong: with a scope beyond the block. */
enum { SMK_RACE_GRID_STORES = 1, SMK_RACE_GRID_STRONG = 2, SMK_RACE_GRID_KINDS = 4 };

/* Lanes of a warp that accessed a cell by one instruction at one time. */
typedef struct smk_race_grid_record {
    uint32_t next; /* index + 1; 0: none */
    uint32_t block, time, instruction_id, lanes;
    uint32_t value; /* of a weak store */
    uint8_t warp, kind;
    bool varied; /* the block had stored another value before */
} smk_race_grid_record;

/* Records of a kind, of the cells of a line. */
typedef struct smk_race_grid_list {
    uint32_t first[SMK_SHADOW_CELLS]; /* index + 1; 0: none */
    uint16_t count[SMK_SHADOW_CELLS];
    uint32_t lost; /* cells of which a record had to go, one bit each */
} smk_race_grid_list;

typedef struct smk_race_grid_line {
    uint64_t number;
    smk_race_grid_set *set[SMK_RACE_GRID_CLASSES];
    smk_race_grid_list *list[SMK_RACE_GRID_KINDS]; /* in place of sets where blocks are ordered; NULL: none yet */
    uint32_t written;                        /* cells, one bit each; of lists */
    uint32_t done; /* later blocks that only read can change nothing */
} smk_race_grid_line;

typedef struct smk_race_grid {
    pthread_mutex_t lock;
    unsigned shift;
    const uint8_t *flags; /* of accesses, by place (race.h) */
    smk_shadow_pool lines, sets, lists, records;
    smk_race_grid_line *last; /* found */
    uint32_t free;   /* records that are not in use: index + 1 of the first */
    uint64_t unsure; /* accesses that were judged where records had been lost, and nothing was found */
    uint32_t *slot; /* index + 1 */
    uint32_t slot_count;
    bool failed;
} smk_race_grid;

typedef struct smk_race_grid_access {
    const smk_happens_before *order;
    unsigned kind;
    uint32_t warp, lane, instruction_id;
    bool strong; /* of whatever scope */
    bool plain;  /* a store that is weak: `value` is what it writes */
    uint32_t value;
} smk_race_grid_access;

smk_status smk_race_grid_create(smk_race_grid *grid, unsigned shift, const uint8_t *flags, smk_error *error);
void smk_race_grid_free(smk_race_grid *grid);

/* The same by a thread of its own: to give some gigabytes back takes longer than who interrupts wants to wait. */
void smk_race_grid_free_later(smk_race_grid *grid);

/* A block of an unordered launch has ended; `begin` is its first stamp. */
void smk_race_grid_merge(smk_race_grid *grid, smk_shadow *shadow, uint64_t block, uint32_t begin);

/* Ordered: notes an access to a cell. True where it races with one of another block: `other` is that, `lanes` those
 * that race. */
bool smk_race_grid_note(smk_race_grid *grid, uint64_t cell, const smk_race_grid_access *access, smk_race_grid_record *other);
/* Ordered: has any block written the cell? */
bool smk_race_grid_written(smk_race_grid *grid, uint64_t cell);
/* The same of the i-th cell of a line, ordered or not. */
bool smk_race_grid_line_written(const smk_race_grid_line *line, unsigned i);

/* The i-th line, or NULL. */
const smk_race_grid_line *smk_race_grid_get(const smk_race_grid *grid, uint32_t i);

#endif
