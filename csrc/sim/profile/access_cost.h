/* Tallies of memory accesses: how often each was executed and what it cost, for one host thread. */
#ifndef SMK_SIM_PROFILE_ACCESS_COST_H
#define SMK_SIM_PROFILE_ACCESS_COST_H

#include "sim/cost/bank.h"
#include "sim/ptxas/fusion.h"
#include "sim/exec/access.h"
#include "sim/exec/block.h"

#include <stdbool.h>
#include <stdint.h>

/* The memories that an access can cost time in. */
typedef enum smk_access_cost_memory {
    SMK_ACCESS_COST_SHARED,
    SMK_ACCESS_COST_GLOBAL,
    SMK_ACCESS_COST_LOCAL,
    SMK_ACCESS_COST_MEMORIES
} smk_access_cost_memory;

/* What is known of an access beforehand. */
typedef struct smk_access_cost_plan {
    uint32_t function, instruction;
    uint32_t cost_index[SMK_ACCESS_COST_MEMORIES]; /* where it is counted; SMK_NO_INDEX: it never touches that memory */
    uint32_t loads;                     /* of an atomic that is a loop: where its loads are counted, or SMK_NO_INDEX */
    uint8_t op;                         /* smk_bank_op */
    uint8_t form;                       /* smk_fusion_form */
    bool bypass;                        /* a copy past the L1 cache */
    bool reads_nothing;                 /* a copy of no byte, as its text says */
    uint8_t bytes;                      /* a lane, of a fused access; 0: as the event has it */
    int16_t shift;                      /* from the event's addresses to the fused access's */
    uint8_t more_bytes;                 /* of a second access of the machine in its place; 0: there is none */
    int16_t more_shift;
} smk_access_cost_plan;

/* Where the lanes stand to each other. */
typedef struct smk_access_cost_pattern {
    uint64_t delta[SMK_WARP_SIZE];  /* from the first active lane's address */
    uint64_t select[SMK_WARP_SIZE]; /* all ones for the active lanes */
} smk_access_cost_pattern;

/* The costliest request; the first of them. */
typedef struct smk_access_cost_sample {
    uint64_t block_number;
    uint32_t block[3], warp;
    uint32_t mask;
    uint8_t bytes;
    uint64_t address[SMK_WARP_SIZE];
} smk_access_cost_sample;

/* An access walks memory in the same steps again and again: then it costs what it cost the last time. */
typedef struct smk_access_cost {
    uint64_t requests; /* of local memory: one for each word of a lane */
    uint64_t cost;     /* wavefronts, or sectors */
    uint64_t ideal;    /* of shared memory */
    uint64_t bytes;    /* that lanes asked for */
    /* the last request */
    uint32_t last_mask; /* 0: none yet */
    uint16_t last_cost;
    uint16_t last_ideal;
    uint8_t last_low; /* the bits of the first address that the cost depends on */
    uint8_t last_bytes;
    uint16_t last_shape; /* of the event: of its halves, one byte each; 0: one of them has none */
    uint32_t best;       /* cost of the sample; 0: none yet */
    smk_access_cost_pattern pattern;
    smk_access_cost_sample sample;
} smk_access_cost;

/* Counts an event of that access. `tallies` are zero at first. */
void smk_access_cost_add(smk_access_cost *totals, const smk_access_cost_plan *access, const smk_warp *warp,
                   const smk_access_event *event);

/* Counts a copy (cp.async): the event of its target, and that of its source, whose mask is 0 where no lane reads
 * any. */
void smk_access_cost_add_copy(smk_access_cost *totals, const smk_access_cost_plan *access, const smk_warp *warp,
                        const smk_access_event *source, const smk_access_event *target);

/* Adds what another host thread has counted. The sum does not depend on the order of merging. */
void smk_access_cost_merge(smk_access_cost *to, const smk_access_cost *from);

/* Sectors of local memory, whose words lie lane by lane: word w of lane l at byte 4 * (32 * w + l). Addresses count
 * from each thread's own first byte. */
uint32_t smk_access_cost_local_sectors(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask);

#endif
