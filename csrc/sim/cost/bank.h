/* Bank conflicts: the cost of a warp-wide access to shared memory. Pure functions of addresses, width and mask.
 *
 * 32 banks of 4-byte words: byte address a lies in bank a / 4 % 32. An access goes in phases of consecutive lanes, 32
 * for widths up to 4 bytes, 16 for 8, 8 for 16; each phase takes as many wavefronts as the bank with the most distinct
 * words has of them. A load of 8 or 16 bytes doubles its phases where the active lanes share their addresses in pairs
 * (all with lane ^ 1, or all with lane ^ 2); an ldmatrix does not: each of its matrices, 8 rows of 16 bytes, is a
 * phase of its own. In atomics and copies each lane counts, also those on one word. The rule was measured on an H200
 * (tests/sim/cost/banks_h200.json holds the table).
 */
#ifndef SMK_SIM_COST_BANK_H
#define SMK_SIM_COST_BANK_H

#include "base/launch.h"

#include <stdint.h>

typedef enum smk_bank_op {
    SMK_BANK_LOAD,
    SMK_BANK_STORE,
    SMK_BANK_ATOMIC,    /* with or without a result */
    SMK_BANK_ASYNC,     /* the shared side of cp.async.ca from consecutive global memory in lane order; async_cost.h has
                     * the rule for all others */
    SMK_BANK_CAS,       /* compare and swap has two operands a lane: twice the wavefronts */
    SMK_BANK_INCREMENT, /* red.add of the constant 1: one machine instruction that counts lanes; they share words */
    SMK_BANK_MATRIX,    /* ldmatrix (LDSM); counted among the loads */
    SMK_BANK_OP_COUNT
} smk_bank_op;

/* As in Nsight Compute: wavefronts l1tex__data_pipe_lsu_wavefronts_mem_shared_op_*, conflicts
 * l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_* (of copies, which have none of the first: the metrics of the
 * same names that begin with smsp__sass). Conflicts are wavefronts - ideal; of CAS half of that. */
typedef struct smk_bank_cost {
    uint32_t wavefronts;
    uint32_t ideal; /* wavefronts without conflicts: phases with an active lane (CAS: twice that) */
    uint32_t conflicts;
} smk_bank_cost;

/* The public name of a rule: "load", "increment", ... */
const char *smk_bank_name(smk_bank_op op);

/* The kind under which it is counted: LOAD, STORE, ATOMIC or ASYNC. */
smk_bank_op smk_bank_kind(smk_bank_op op);

/* `bytes` is 1, 2, 4, 8 or 16, and each active lane's address a multiple of it. Without an active lane all is 0. */
smk_bank_cost smk_bank_count(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask, smk_bank_op op);

/* The number of distinct words (of atomics: lanes) that each bank serves in its busiest phase, for pictures. */
void smk_bank_words(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask, smk_bank_op op,
                    uint32_t words[32]);

#endif
