/* The warp of a launch that executes most instructions, and how often it executes each: where the work of warps or blocks
 * is uneven, a launch takes as long as that one. */
#ifndef SMK_SIM_PROFILE_BUSIEST_H
#define SMK_SIM_PROFILE_BUSIEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known once all blocks have run; instructions of PTX that warps execute. Of equals it is the first one. */
typedef struct smk_busiest_warp {
    uint64_t block;        /* its linear index in the grid */
    uint32_t warp;         /* in the block */
    uint64_t instructions; /* of this warp */
    uint64_t block_most;   /* of all warps of one block, at most */
    uint64_t *runs;        /* by id: how often the warp began this run; NULL: no warp executed one */
} smk_busiest_warp;

/* The counts of one host thread, of the block that it runs and of the busiest warp so far. */
typedef struct smk_busiest {
    const uint32_t *length; /* by id: instructions of the run that begins here */
    uint32_t ids, warps;
    uint64_t block;
    bool begun;
    uint64_t *open; /* by warp of the present block, then by id */
    uint64_t *work; /* by warp */
    smk_busiest_warp most;
} smk_busiest;

/* False where no memory is left. `length` must stay. */
bool smk_busiest_open(smk_busiest *busiest, const uint32_t *length, uint32_t ids, uint32_t warps);
void smk_busiest_close(smk_busiest *busiest); /* also of one that was never opened */
void smk_busiest_begin(smk_busiest *busiest, uint64_t block);

static inline void smk_busiest_note(smk_busiest *busiest, uint32_t warp, uint32_t id)
{
    busiest->open[(size_t)warp * busiest->ids + id]++;
    busiest->work[warp] += busiest->length[id];
}

/* Ends the last block and merges what is known into `most`, whose `runs` the caller frees. */
void smk_busiest_collect(smk_busiest *busiest, smk_busiest_warp *most);

#endif
