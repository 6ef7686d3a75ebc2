/* Barriers of a block and of a warp. */
#ifndef SMK_SIM_EXEC_BARRIER_H
#define SMK_SIM_EXEC_BARRIER_H

#include "sim/code/operation.h"

#include <stdint.h>

/* The reduction that a barrier makes of its threads' predicates. */
typedef enum smk_barrier_kind {
    SMK_BARRIER_PLAIN,
    SMK_BARRIER_CLUSTER, /* no reduction: the barrier of the cluster, which is the block alone */
    SMK_BARRIER_POPC,
    SMK_BARRIER_AND,
    SMK_BARRIER_OR
} smk_barrier_kind;

smk_barrier_kind smk_barrier_kind_of(const smk_instruction *instruction);

/* The handler of a bar or barrier instruction. Fields: `a` row of the barrier's number, `b` row of the thread count
 * where u.immediate is 1 (0: all), `element` its kind, `c` row of the predicate and `slot` its flip, `d` row of the
 * result. bar.warp.sync: `a` row of the mask. */
smk_handler smk_barrier_find(const smk_instruction *instruction);

/* Makes a warp that waited at a barrier READY, with the result of a bar.red. */
void smk_barrier_deliver(smk_warp *warp, uint32_t trues, uint32_t voters);

#endif
