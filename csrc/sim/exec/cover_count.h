/* Operations that count coverage (sim/code/coverage.h). */
#ifndef SMK_SIM_EXEC_COVER_COUNT_H
#define SMK_SIM_EXEC_COVER_COUNT_H

#include "sim/exec/block.h"

/* `d` is the index of the first counter; of a table, `b` is the row of indices, and `c` the number of targets. They
 * stand before the instruction that they count, with its guard. */
const smk_operation *smk_cover_count_run(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_cover_count_exit(smk_warp *warp, const smk_operation *op); /* a run, by its guard's lanes */
const smk_operation *smk_cover_count_decision(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_cover_count_table(smk_warp *warp, const smk_operation *op);

/* Counts a launch of the image. */
void smk_cover_count_launch(const smk_image *image);

/* Gives a block its counters, if its image counts. Errors: MEMORY. */
smk_status smk_cover_count_open(smk_block *block, smk_error *error);

/* Adds what a block has counted to the totals of the functions, and frees its counters. */
void smk_cover_count_close(smk_block *block);

#endif
