/* Costs of memory accesses, summed for each access: number of requests, wavefronts, sectors and bytes, for one host
 * thread. */
#ifndef SMK_SIM_PROFILE_ACCESS_COST_H
#define SMK_SIM_PROFILE_ACCESS_COST_H

#include "sim/cost/bank.h"
#include "sim/exec/access.h"
#include "sim/exec/block.h"
#include "sim/profile/footprint.h"
#include "sim/ptxas/fusion.h"

#include <stdbool.h>
#include <stdint.h>

/* The memories whose cost is counted. */
typedef enum smk_access_cost_memory {
    SMK_ACCESS_COST_SHARED,
    SMK_ACCESS_COST_GLOBAL,
    SMK_ACCESS_COST_LOCAL,
    SMK_ACCESS_COST_CONSTANT, /* also parameters at an address that the code computes */
    SMK_ACCESS_COST_MEMORIES
} smk_access_cost_memory;

/* Properties of an access that are known before the launch. */
typedef struct smk_access_cost_plan {
    uint32_t function, instruction;
    uint32_t cost_index[SMK_ACCESS_COST_MEMORIES]; /* index of its cost; SMK_NO_INDEX: it never accesses that memory */
    uint32_t loads;     /* of an atomic loop: index of the cost of its loads; else SMK_NO_INDEX */
    uint8_t op;         /* smk_bank_op */
    uint8_t form;       /* smk_fusion_form */
    bool bypass;        /* a copy past the L1 cache */
    bool zfill;         /* a copy of a size that ptxas does not know to be 0 or all its bytes */
    bool reads_nothing; /* a copy of 0 bytes, as a constant */
    uint8_t bytes;      /* a lane, of a fused access; 0: those of the event */
    int16_t shift;      /* from the event's addresses to the fused access's */
    uint8_t more_bytes; /* of a second machine access; 0: there is none */
    int16_t more_shift;
} smk_access_cost_plan;

/* The differences between the addresses of lanes. */
typedef struct smk_access_cost_pattern {
    uint64_t delta[SMK_WARP_SIZE];  /* from the first active lane's address */
    uint64_t select[SMK_WARP_SIZE]; /* all ones for the active lanes */
} smk_access_cost_pattern;

/* The first request with the highest cost. */
typedef struct smk_access_cost_sample {
    uint64_t block_number;
    uint32_t block[3], warp;
    uint32_t mask;
    uint8_t bytes;
    uint64_t address[SMK_WARP_SIZE];
} smk_access_cost_sample;

/* The cost of an access, with the pattern of its last request: most accesses repeat their pattern, and then their
 * cost. */
typedef struct smk_access_cost {
    uint64_t requests; /* of local memory: one for each word of a lane */
    uint64_t cost;     /* wavefronts, sectors, or of constant memory addresses */
    uint64_t ideal;    /* of shared memory */
    uint64_t bytes;    /* requested by lanes */
    /* the last request */
    uint32_t last_mask; /* 0: none yet */
    uint16_t last_cost;
    uint16_t last_ideal;
    uint8_t last_low; /* the low bits of the first address, on which the cost depends */
    uint8_t last_bytes;
    uint16_t last_shape; /* shapes of the event's halves, one byte each; 0: a half has none */
    uint32_t best;       /* cost of the sample; 0: none yet */
    smk_access_cost_pattern pattern;
    smk_access_cost_sample sample;
} smk_access_cost;

/* Adds an event of that access. `totals` starts with zeros. */
void smk_access_cost_add(smk_access_cost *totals, const smk_access_cost_plan *access, const smk_warp *warp,
                         const smk_access_event *event);

/* Adds a copy (cp.async): the event of its target, and that of its source, whose mask is 0 where no lane reads a
 * byte. */
void smk_access_cost_add_copy(smk_access_cost *totals, const smk_access_cost_plan *access, const smk_warp *warp,
                              const smk_access_event *source, const smk_access_event *target);

/* Notes which global memory an event of that access touches. */
void smk_access_cost_touch(smk_footprint *footprint, uint32_t number, const smk_access_cost_plan *access, uint32_t warp,
                           const smk_access_event *event);

/* Adds the costs of another host thread. The result does not depend on the order of merging. */
void smk_access_cost_merge(smk_access_cost *to, const smk_access_cost *from);

/* The number of sectors of local memory, where word w of lane l is at byte 4 * (32 * w + l). Addresses are relative to
 * each thread's own memory. */
uint32_t smk_access_cost_local_sectors(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask);

/* The number of different words that lanes read; those of 8 and 16 bytes are one word. */
uint32_t smk_access_cost_addresses(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask);

/* The kind of an instruction's access and the memories that it may touch. False: it accesses no counted memory. */
bool smk_access_cost_describe(const smk_instruction *instruction, smk_bank_op *op,
                              bool touches[SMK_ACCESS_COST_MEMORIES]);

/* Is it a copy whose source size is the constant 0? */
bool smk_access_cost_reads_nothing(const smk_instruction *copy);

#endif
