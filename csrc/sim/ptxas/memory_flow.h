/* What a function's memory may hold where, and which block stands above which: for loads that join across blocks. */
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
    uint32_t *dominator; /* the closest block that every way into this one passes; of block 0: 0 */
    uint32_t *order;     /* by block: its place in a walk that comes to `above` first; SMK_NO_INDEX: never reached */
    uint32_t *entered;   /* by block: ways in from other blocks, and one for the entry */
    uint32_t *memory;    /* what holds all of it */
} smk_memory_flow;

/* Errors: MEMORY. */
smk_status smk_memory_flow_create(const smk_function *function, const smk_cfg *cfg, smk_memory_flow *flow,
                                  smk_error *error);
void smk_memory_flow_free(smk_memory_flow *flow);

/* One bit for each space whose contents may be others behind the instruction. */
unsigned smk_memory_flow_changes(const smk_instruction *instruction);

/* True of an access that ptxas may join with others or drop. */
bool smk_memory_flow_is_plain(const smk_instruction *instruction);

/* Does every way to block `b` pass block `a`? */
bool smk_memory_flow_dominates(const smk_memory_flow *flow, uint32_t a, uint32_t b);

#endif
