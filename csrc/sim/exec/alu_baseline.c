/* The arithmetic handlers for the instruction set that every processor has. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define SMK_ALU_CLONE smk_alu_baseline
#include "sim/exec/alu_body.h"
