/* The control-flow graph of a function: basic blocks, and their immediate post-dominators, at which diverged lanes
 * reconverge. */
#ifndef SMK_SIM_PTXAS_CFG_H
#define SMK_SIM_PTXAS_CFG_H

#include "base/arena.h"
#include "base/status.h"
#include "ptx/module.h"

#include <stdbool.h>
#include <stdint.h>

/* How a block can leave the function, besides its successors. */
typedef enum smk_cfg_end {
    SMK_CFG_STAYS = 0,
    SMK_CFG_RETURNS, /* its lanes wait at the function's end until the others have come */
    SMK_CFG_EXITS    /* its lanes exit (exit, trap): no lane waits for them */
} smk_cfg_end;

/* The graph alone, so that tests can draw one by hand. */
typedef struct smk_cfg_graph {
    uint32_t count;        /* nodes; node 0 is the entry */
    const uint32_t *start; /* successors of node i: successor[start[i] .. start[i + 1]) */
    const uint32_t *successor;
    const uint8_t *end; /* smk_cfg_end of each node */
} smk_cfg_graph;

/* Immediate post-dominators: postdominator[i] is the first node that every lane from node i reaches unless it exits
 * before; SMK_NO_INDEX where lanes reconverge only at the function's end (or never).
 *
 * Paths on which every lane exits do not count: `if (x) { if (y) return; b(); } c();` in a kernel reconverges at c()
 * although some lanes never come there. Errors: MEMORY. */
smk_status smk_cfg_postdominate(const smk_cfg_graph *graph, uint32_t *postdominator, smk_error *error);

typedef struct smk_cfg {
    smk_cfg_graph graph;
    uint32_t *first;         /* first instruction of each block; first[count] == instruction_count */
    uint32_t *block_of;      /* block of each instruction; block_of[instruction_count]: count */
    uint32_t *postdominator; /* of each block */
} smk_cfg;

/* Blocks and edges of a function, in `arena`. A kernel's `ret` is an exit, and so is a branch to one.
 * Errors: MEMORY. */
smk_status smk_cfg_build(const smk_function *function, smk_arena *arena, smk_cfg *cfg, smk_error *error);

/* True where a branch to this instruction only ends the thread, so that the branch itself can end it and is no
 * divergence. */
bool smk_cfg_exits(const smk_function *function, uint32_t instruction);

#endif
