/* Matrix products for the instruction set that every processor has. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define SMK_MMA_CLONE smk_mma_baseline
#include "sim/exec/mma_body.h"
