/* Finds loops in which a thread lets time pass: short ones that read a clock, compute, and do nothing else. */
#ifndef SMK_SIM_LOWER_TIMED_WAIT_H
#define SMK_SIM_LOWER_TIMED_WAIT_H

#include "ptx/module.h"

#include <stdint.h>

/* The first instruction of such a loop around an instruction that reads a clock; SMK_NO_INDEX: there is none. A loop is
 * the range between a backward branch and its target. */
uint32_t smk_timed_wait_find(const smk_function *function, uint32_t instruction);

#endif
