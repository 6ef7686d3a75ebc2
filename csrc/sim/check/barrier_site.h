/* Which barriers of the PTX are one in the source.
 *
 * A compiler makes several barriers of one: it unrolls loops and inlines functions. Two that stand at different places
 * of the source are two. Two at one place (a macro, functions inlined into one line: nvcc gives all of a line one
 * column) are two where they stand on the sides of a branch of that very line. A branch of another line has the barrier
 * behind it, copied to its two ends.
 */
#ifndef SMK_SIM_CHECK_BARRIER_SITE_H
#define SMK_SIM_CHECK_BARRIER_SITE_H

#include "sim/check/finding.h"
#include "sim/exec/warp.h"

enum { SMK_BARRIER_SITE_DEPTH = 8 };

/* A barrier that a warp has come to: the calls on the way, outermost first, and the barrier itself, by place. */
typedef struct smk_barrier_site {
    uint32_t depth; /* 0: nobody has come */
    uint32_t instruction_id[SMK_BARRIER_SITE_DEPTH];
} smk_barrier_site;

/* Of the barrier `op`; of a deep stack of calls the outer ones are kept. */
void smk_barrier_site_fill(smk_barrier_site *site, const smk_instruction_ids *ids, const smk_warp *warp,
                           const smk_operation *op);

/* False where warps part at two barriers of the source, or at two calls on the way: `a` and `b` become their places.
 * Where there is no memory to tell, they are one. */
bool smk_barrier_site_is_same(const smk_instruction_ids *ids, const smk_barrier_site *first,
                              const smk_barrier_site *second, uint32_t *a, uint32_t *b);

#endif
