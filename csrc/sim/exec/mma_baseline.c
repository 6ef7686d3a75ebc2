/* Matrix products for the instruction set that every processor has. */
#define SMK_MMA_CLONE smk_mma_baseline
#include "sim/exec/mma_body.h"
