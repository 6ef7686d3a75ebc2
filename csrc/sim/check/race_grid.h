/* Data races between the blocks of a launch, in global memory.
 *
 * Where blocks cannot wait for each other, any two blocks with conflicting accesses to a byte race, whatever order
 * they ran in. For each cell the set keeps the two lowest blocks that read it, wrote it, and changed it atomically,
 * which does not depend on that order. Races are reported when the last block has ended. In such launches no strong
 * access has block scope.
 *
 * Where blocks can wait for each other (the image is ordered: one host thread), each access is checked when it
 * happens, against records of earlier accesses to the cell. A record is dropped when a later access happens after it
 * and conflicts with everything that it conflicts with. A cell with too many records drops its latest one for each new
 * one; accesses that are checked later against such a cell are counted (`unsure`).
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

/* For each cell, the two lowest blocks. */
typedef struct smk_race_grid_set {
    uint32_t block[2][SMK_SHADOW_CELLS]; /* block number + 1; 0: none */
    uint32_t instruction_id[2][SMK_SHADOW_CELLS];
    uint16_t thread[2][SMK_SHADOW_CELLS];
    uint32_t value[SMK_SHADOW_CELLS]; /* of writes: the value stored, where `varied` has no bit */
    uint32_t varied;                  /* cells in which different values were stored */
} smk_race_grid_set;

/* Kinds of accesses, as bits. Strong: with a scope wider than the block. */
enum { SMK_RACE_GRID_STORES = 1, SMK_RACE_GRID_STRONG = 2, SMK_RACE_GRID_KINDS = 4 };

/* Lanes of a warp that accessed a cell in one instruction at one time. */
typedef struct smk_race_grid_record {
    uint32_t next; /* index + 1; 0: none */
    uint32_t block, time, instruction_id, lanes;
    uint32_t value; /* of a weak store */
    uint8_t warp, kind;
    bool varied; /* the block had stored other values before */
} smk_race_grid_record;

/* Records of one kind, for the cells of a line. */
typedef struct smk_race_grid_list {
    uint32_t first[SMK_SHADOW_CELLS]; /* index + 1; 0: none */
    uint16_t count[SMK_SHADOW_CELLS];
    uint32_t lost; /* cells that have dropped a record, one bit each */
} smk_race_grid_list;

typedef struct smk_race_grid_line {
    uint64_t number;
    smk_race_grid_set *set[SMK_RACE_GRID_CLASSES];
    smk_race_grid_list *list[SMK_RACE_GRID_KINDS]; /* used in place of sets where blocks are ordered; NULL: none yet */
    uint32_t written;                              /* written cells, one bit each, where blocks are ordered */
    uint32_t done;                                 /* blocks above this one that only read change nothing; 0: none */
} smk_race_grid_line;

typedef struct smk_race_grid {
    pthread_mutex_t lock;
    unsigned shift;
    const uint8_t *flags; /* by instruction id (race.h) */
    smk_shadow_pool lines, sets, lists, records;
    smk_race_grid_line *last; /* found */
    uint32_t free;            /* records that are not in use: index + 1 of the first */
    uint64_t unsure;          /* accesses without a finding that were checked against a cell with dropped records */
    uint32_t *slot;           /* index + 1 */
    uint32_t slot_count;
    bool failed;
} smk_race_grid;

typedef struct smk_race_grid_access {
    const smk_happens_before *order;
    unsigned kind;
    uint32_t warp, lane, instruction_id;
    bool strong; /* of any scope */
    bool plain;  /* a weak store, which writes `value` */
    uint32_t value;
} smk_race_grid_access;

smk_status smk_race_grid_create(smk_race_grid *grid, unsigned shift, const uint8_t *flags, smk_error *error);
void smk_race_grid_free(smk_race_grid *grid);

/* The same in a thread of its own, so that an interrupted launch does not wait while gigabytes are freed. */
void smk_race_grid_free_later(smk_race_grid *grid);

/* Adds the accesses of a block of an unordered launch that has ended; `begin` is the time at which it started. */
void smk_race_grid_merge(smk_race_grid *grid, smk_shadow *shadow, uint64_t block, uint32_t begin);

/* Ordered launches: records an access to a cell. True where it races with an access of another block, which *other
 * becomes, with the lanes that race. */
bool smk_race_grid_note(smk_race_grid *grid, uint64_t cell, const smk_race_grid_access *access,
                        smk_race_grid_record *other);
/* Ordered launches: has any block written the cell? */
bool smk_race_grid_written(smk_race_grid *grid, uint64_t cell);
/* The same for the i-th cell of a line, in any launch. */
bool smk_race_grid_line_written(const smk_race_grid_line *line, unsigned i);

/* The i-th line, or NULL. */
const smk_race_grid_line *smk_race_grid_get(const smk_race_grid *grid, uint32_t i);

#endif
