/* Judges the accesses of one block: bounds, initialisation, and order. */
#ifndef SMK_SIM_CHECK_RACE_H
#define SMK_SIM_CHECK_RACE_H

#include "sim/check/race_grid.h"
#include "sim/check/finding.h"
#include "sim/check/barrier_site.h"
#include "sim/code/observer.h"
#include "sim/check/happens_before.h"
#include "sim/check/provenance.h"
#include "sim/check/shadow.h"
#include "sim/check/undefined.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a place. Strong: atomic, volatile, relaxed, acquire, release. */
enum {
    SMK_RACE_STRONG = 1,
    SMK_RACE_ATOMIC = 2,
    SMK_RACE_VOLATILE = 4,
    SMK_RACE_ACQUIRE = 8,
    SMK_RACE_RELEASE = 16,
    SMK_RACE_BLOCK_SCOPE = 32 /* scope: the block (or its cluster, which is the block alone) */
};

/* Two strong accesses of one block do not race. But lanes of a warp that share memory and count on volatile alone (`in_step`)
 * count on running in step, which nothing promises: their order is by luck. */
static inline bool smk_race_excuses(uint8_t a, uint8_t b, bool in_step)
{
    bool both = (a & b & SMK_RACE_STRONG) != 0;
    return both && !(in_step && (a & b & SMK_RACE_VOLATILE) != 0);
}

/* What is the same for all blocks of a launch. */
typedef struct smk_race_launch {
    smk_instruction_ids ids;
    uint8_t *flags; /* by place */
    smk_finding_sink sink;
    smk_race_grid grid;
    smk_happens_before_launch order;
    smk_provenance provenance;
    smk_undefined_plan undefined;
    bool ordered;
    bool synchronizes; /* there are fences, or accesses that acquire or release */
    bool padded; /* shared variables do not lie side by side */
    unsigned shared_shift, global_shift;
} smk_race_launch;

enum { SMK_RACE_ALLOCATIONS = 4, SMK_RACE_REPEATS = 16 };

/* Strays of one instruction that are counted and not told yet. */
typedef struct smk_bounds_repeats {
    uint32_t instruction_id; /* NOWHERE: none */
    smk_finding_kind kind;
    uint64_t unreported;
} smk_bounds_repeats;

/* Of a block that runs. */
typedef struct smk_race {
    smk_race_launch *launch;
    const smk_block *block;
    smk_happens_before order;
    smk_shadow shared, global;
    smk_undefined undefined;
    uint64_t sequence;                     /* of findings */
    const smk_allocation *allocation;                  /* met last */
    bool allocation_initialized;                       /* the host, or an earlier launch, has written all of it */
    const smk_allocation *allocations[SMK_RACE_ALLOCATIONS]; /* met lately */
    bool allocations_initialized[SMK_RACE_ALLOCATIONS];
    unsigned allocation_next;
    smk_barrier_site barrier[SMK_BLOCK_BARRIERS]; /* that the first has come to */
    uint32_t barrier_thread[SMK_BLOCK_BARRIERS];
    smk_bounds_repeats repeats[SMK_RACE_REPEATS]; /* by place */
} smk_race;

/* One warp-wide access to one memory. */
typedef struct smk_warp_access {
    smk_race *race;
    const smk_warp *warp;
    const smk_access_event *event;
    smk_shadow *shadow;
    const uint64_t *address;
    smk_space space;
    uint32_t index; /* of the warp */
    uint32_t instruction_id;
    uint8_t flags;
    uint32_t mask;
    uint32_t blamed; /* lanes of which something was reported: once an access and lane is enough */
} smk_warp_access;

/* An observer's; `state` is a smk_race. */
uint32_t smk_race_check(void *state, const smk_warp *warp, const smk_access_event *event);
void smk_race_complete_copy(smk_race *race, uint32_t warp, const smk_pending_copy *copy);

/* What a lane's store is about to put into a cell. */
uint32_t smk_race_value(const smk_warp_access *access, unsigned lane, uint64_t cell);

/* race_note.c: a lane's access to the i-th cell of a line is remembered: a load or what changes atomically among its
 * warp's rows, a weak write as the line's last (`time` PENDING: a copy that has not landed). */
void smk_race_note_row(smk_warp_access *access, unsigned lane, smk_shadow_row *first, unsigned i);
void smk_race_note_write(const smk_warp_access *access, unsigned lane, uint64_t cell, smk_shadow_line *line, unsigned i,
                         uint32_t time);
void smk_race_note_change(smk_warp_access *access, unsigned lane, smk_shadow_line *line, unsigned i);
void smk_race_note_previous_write(smk_warp_access *access, unsigned lane, smk_shadow_line *line, unsigned i);

/* A former access to a cell, as far as it is remembered. */
smk_finding_event smk_race_report_event(const smk_race_launch *launch, uint32_t instruction_id, bool loads, smk_space space,
                                  uint64_t address, uint64_t block, uint32_t thread);

/* After the last block of an unordered launch: races between blocks. */
void smk_race_report_blocks(smk_race_launch *launch);

/* race_warp.c: accesses of a full warp whose lanes go about their cells in a simple way and do no wrong, judged many
 * cells at a time. Returns the lanes that are still to be judged one by one; 0: all is well and noted. */
uint32_t smk_race_warp_judge(smk_warp_access *access);

/* bounds.c: the allocation that holds an address becomes race->span; false where there is none. */
bool smk_bounds_find_allocation(smk_race *race, uint64_t address);

/* bounds.c: a block begins, and has ended. */
void smk_bounds_begin(smk_race *race);
void smk_bounds_end(smk_race *race);

/* bounds.c: finds lanes that have left the variable or allocation by way of which they go, with good addresses or with
 * wrong ones, which are *refused; they go no further. Returns all of them. */
uint32_t smk_bounds_check_origin(smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space,
                           const uint64_t *address, uint32_t mask, uint32_t *refused);

/* bounds.c: finds lanes whose address is wrong; returns those that may go ahead. */
uint32_t smk_bounds_check(smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space,
                         const uint64_t *address, uint32_t mask);

#endif
