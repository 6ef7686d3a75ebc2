/* Decides whether two barrier instructions of the PTX are one barrier of the source.
 *
 * Compilers copy barriers when they unroll loops and inline functions. Two instructions at different source locations
 * are two barriers. Two at one location (a macro, or functions inlined into one line: nvcc gives all of a line one
 * column) are two barriers where they lie on different sides of a branch that stands on that very line. Where the
 * branch stands on another line, the compiler has copied the barrier behind the branch into both of its sides.
 */
#ifndef SMK_SIM_CHECK_BARRIER_SITE_H
#define SMK_SIM_CHECK_BARRIER_SITE_H

#include "sim/check/finding.h"
#include "sim/exec/warp.h"

enum { SMK_BARRIER_SITE_DEPTH = 8 };

/* The call path to a barrier: instruction ids of the calls, outermost first, then of the barrier itself. */
typedef struct smk_barrier_site {
    uint32_t depth; /* 0: no warp has arrived */
    uint32_t instruction_id[SMK_BARRIER_SITE_DEPTH];
} smk_barrier_site;

/* The call path of the barrier `op`. A path longer than SMK_BARRIER_SITE_DEPTH keeps its outer calls. */
void smk_barrier_site_fill(smk_barrier_site *site, const smk_instruction_ids *ids, const smk_warp *warp,
                           const smk_operation *op);

/* False where the paths differ in a barrier or in a call of the source: `a` and `b` become the ids of the two
 * instructions. True where there is no memory to decide. */
bool smk_barrier_site_is_same(const smk_instruction_ids *ids, const smk_barrier_site *first,
                              const smk_barrier_site *second, uint32_t *a, uint32_t *b);

#endif
