/* Emits the operations that count the points of coverage. */
#ifndef SMK_SIM_LOWER_COVER_POINTS_H
#define SMK_SIM_LOWER_COVER_POINTS_H

#include "sim/lower/lowering.h"

/* Before the first instruction: gives the code its counters, if the image counts. */
void smk_cover_points_prepare(smk_lowering *lowering);

/* Before an instruction: emits the operations of its points. */
bool smk_cover_points_emit(smk_lowering *lowering);

#endif
