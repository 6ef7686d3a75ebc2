/* cvt.rs: conversions of single floats to narrower ones whose rounding is random. */
#ifndef SMK_SIM_EXEC_CONVERT_RANDOM_H
#define SMK_SIM_EXEC_CONVERT_RANDOM_H

#include "sim/code/operation.h"

enum { SMK_CONVERT_RANDOM_ROWS = 6 }; /* at most: the result, four numbers, random bits */

/* u.detail->rows: the result, its numbers from the highest on, and the random bits; count: smk_convert_random_word. */
const smk_operation *smk_convert_random(smk_warp *warp, const smk_operation *op);

uint32_t smk_convert_random_word(const smk_instruction *instruction);

#endif
