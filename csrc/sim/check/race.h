/* Checks the accesses of one block: bounds, initialisation, and data races by happens-before. */
#ifndef SMK_SIM_CHECK_RACE_H
#define SMK_SIM_CHECK_RACE_H

#include "sim/check/barrier_site.h"
#include "sim/check/finding.h"
#include "sim/check/happens_before.h"
#include "sim/check/provenance.h"
#include "sim/check/race_grid.h"
#include "sim/check/shadow.h"
#include "sim/check/undefined.h"
#include "sim/code/observer.h"

#include <stdbool.h>
#include <stdint.h>

/* Flags of an instruction. Strong: atomic, volatile, relaxed, acquire or release. */
enum {
    SMK_RACE_STRONG = 1,
    SMK_RACE_ATOMIC = 2,
    SMK_RACE_VOLATILE = 4,
    SMK_RACE_ACQUIRE = 8,
    SMK_RACE_RELEASE = 16,
    SMK_RACE_LANDS = 64,      /* a bulk copy that an mbarrier counts */
    SMK_RACE_BLOCK_SCOPE = 32 /* scope: the block (or its cluster, which is the block alone) */
};

/* Two strong accesses of one block do not race. An exception are volatile accesses of lanes of one warp to shared
 * memory (`in_step`): such code relies on lock step, which no rule guarantees. */
static inline bool smk_race_excuses(uint8_t a, uint8_t b, bool in_step)
{
    bool both = (a & b & SMK_RACE_STRONG) != 0;
    return both && !(in_step && (a & b & SMK_RACE_VOLATILE) != 0);
}

/* What the blocks of a launch share. */
typedef struct smk_race_launch {
    smk_instruction_ids ids;
    const smk_program *program;
    uint8_t *flags; /* by instruction id */
    smk_finding_sink sink;
    smk_race_grid grid;
    smk_happens_before_launch order;
    smk_provenance provenance;
    smk_undefined_plan undefined;
    bool ordered;
    bool synchronizes; /* there are fences, or accesses that acquire or release */
    bool copies;       /* there are bulk copies that an mbarrier counts */
    bool padded;       /* there are padding bytes between shared variables */
    unsigned shared_shift, global_shift;
} smk_race_launch;

enum { SMK_RACE_ALLOCATIONS = 4, SMK_RACE_REPEATS = 16 };

/* Bad accesses of one instruction that are counted and not reported yet. */
typedef struct smk_bounds_repeats {
    uint32_t instruction_id; /* NO_INSTRUCTION: none */
    smk_finding_kind kind;
    uint64_t unreported;
} smk_bounds_repeats;

/* Bulk copies that have landed, and where they were counted. */
typedef struct smk_race_landing {
    uint32_t time, barrier;
} smk_race_landing;

typedef struct smk_race_landings {
    smk_race_landing *landing;
    uint32_t count, capacity;
} smk_race_landings;

/* The state of a running block. */
typedef struct smk_race {
    smk_race_launch *launch;
    const smk_block *block;
    smk_happens_before order;
    smk_shadow shared, global;
    smk_undefined undefined;
    smk_race_landings landings;
    uint64_t sequence;                                       /* of findings */
    const smk_allocation *allocation;                        /* of the last access */
    bool allocation_initialized;                             /* the host, or an earlier launch, has written all of it */
    const smk_allocation *allocations[SMK_RACE_ALLOCATIONS]; /* of recent accesses */
    bool allocations_initialized[SMK_RACE_ALLOCATIONS];
    unsigned allocation_next;
    uint64_t heap; /* the address of the allocation that malloc of kernels gives pieces of; 0: none */
    smk_barrier_site barrier[SMK_BLOCK_BARRIERS]; /* at which the first warp has arrived */
    uint32_t barrier_thread[SMK_BLOCK_BARRIERS];
    smk_bounds_repeats repeats[SMK_RACE_REPEATS]; /* by instruction id */
} smk_race;

/* A warp-wide access to one state space. */
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
    uint32_t reported_lanes; /* lanes with a report: an access is reported once a lane */
} smk_warp_access;

/* The `access` of an observer; `state` is a smk_race. */
uint32_t smk_race_check(void *state, const smk_warp *warp, const smk_access_event *event);
void smk_race_complete_copy(smk_race *race, uint32_t warp, const smk_pending_copy *copy);

/* race_bulk.c: the `bulk_issue` and `bulk_done` of an observer; and whether the lane has acquired the completion of the
 * bulk copy that wrote the i-th cell of a line of shared memory. */
bool smk_race_bulk_issue(void *state, const smk_warp *warp, smk_bulk_copy *copy);
void smk_race_bulk_done(void *state, const smk_bulk_copy *copy, smk_bulk_stage stage);
bool smk_race_bulk_has_landed(const smk_race *race, const smk_shadow_line *line, unsigned i, uint32_t warp,
                              uint32_t lane);

/* The value that a lane's store is about to write to a cell. */
uint32_t smk_race_value(const smk_warp_access *access, unsigned lane, uint64_t cell);

/* race_note.c: record a lane's access to the i-th cell of a line: a load, atomic operation or strong store in the rows
 * of its warp, a weak write as the last write of the cell (`time` PENDING: of a copy that is not complete). */
void smk_race_note_row(smk_warp_access *access, unsigned lane, smk_shadow_row *first, unsigned i);
void smk_race_note_write(const smk_warp_access *access, unsigned lane, uint64_t cell, smk_shadow_line *line, unsigned i,
                         uint32_t time);
void smk_race_note_change(smk_warp_access *access, unsigned lane, smk_shadow_line *line, unsigned i);
void smk_race_note_previous_write(smk_warp_access *access, unsigned lane, smk_shadow_line *line, unsigned i);

/* The event of an earlier access, from its record. */
smk_finding_event smk_race_report_event(const smk_race_launch *launch, uint32_t instruction_id, bool loads,
                                        smk_space space, uint64_t address, uint64_t block, uint32_t thread);

/* Reports a race of two accesses to global memory, but of memory that malloc of kernels has given to both in turn. */
void smk_race_report_global(smk_race_launch *launch, const smk_finding_event *first, const smk_finding_event *second,
                            uint64_t block, uint64_t order);

/* Reports races between blocks after the last block of an unordered launch. */
void smk_race_report_blocks(smk_race_launch *launch);

/* race_warp.c: checks and records an access of a full warp with a regular pattern, many cells at a time. Returns the
 * lanes that must still be checked one by one; 0: none, the access is recorded and has no fault. */
uint32_t smk_race_warp_judge(smk_warp_access *access);

/* bounds.c: makes race->allocation the allocation that holds an address; false where there is none. */
bool smk_bounds_find_allocation(smk_race *race, uint64_t address);

/* bounds.c: a block starts, and has ended. */
void smk_bounds_begin(smk_race *race);
void smk_bounds_end(smk_race *race);

/* bounds.c: finds lanes whose access leaves its origin, and reports them. Returns these lanes; *refused becomes those
 * of them whose address is invalid, which must not execute. */
uint32_t smk_bounds_check_origin(smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space,
                                 const uint64_t *address, uint32_t mask, uint32_t *refused);

/* bounds.c: reports lanes whose address is invalid; returns the other lanes. */
uint32_t smk_bounds_check(smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space,
                          const uint64_t *address, uint32_t mask);

#endif
