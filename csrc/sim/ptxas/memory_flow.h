/* Versions of memory at the start of each block, and dominators: for loads that join across blocks. */
#ifndef SMK_SIM_PTXAS_MEMORY_FLOW_H
#define SMK_SIM_PTXAS_MEMORY_FLOW_H

#include "sim/ptxas/cfg.h"

#include <stdbool.h>
#include <stdint.h>

enum { SMK_MEMORY_FLOW_SPACES = SMK_SPACE_PARAM + 1 };

typedef struct smk_memory_flow {
    const smk_function *function;
    const smk_cfg *cfg;
    uint32_t *version;   /* [block][space]: equal numbers, equal contents */
    uint32_t *dominator; /* immediate dominator of each block; of block 0: 0 */
    uint32_t *order;     /* by block: its number in reverse postorder; SMK_NO_INDEX: never reached */
    uint32_t *entered;   /* by block: edges from other blocks, plus one for the entry */
    uint32_t *memory;    /* holds all arrays */
} smk_memory_flow;

/* Errors: MEMORY. */
smk_status smk_memory_flow_create(const smk_function *function, const smk_cfg *cfg, smk_memory_flow *flow,
                                  smk_error *error);
void smk_memory_flow_free(smk_memory_flow *flow);

/* One bit for each space that the instruction may change. */
unsigned smk_memory_flow_changes(const smk_instruction *instruction);

/* May ptxas join the access with others, or drop it? */
bool smk_memory_flow_is_plain(const smk_instruction *instruction);

/* Does block `a` dominate block `b`? */
bool smk_memory_flow_dominates(const smk_memory_flow *flow, uint32_t a, uint32_t b);

#endif
