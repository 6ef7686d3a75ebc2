/* The arithmetic handlers for the instruction set that every processor has. */
#define SMK_ALU_CLONE smk_alu_baseline
#include "sim/exec/alu_body.h"
