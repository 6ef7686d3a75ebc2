/* Loads that may stand in front of the condition that guards them, and what instructions do with undefined values.
 *
 * Of `condition ? shared[i] : other` compilers make a load, which is always executed, and a selection. A load of shared
 * memory is early where a selection takes what it got, or what few instructions made of it.
 */
#ifndef SMK_SIM_CHECK_EARLY_LOAD_H
#define SMK_SIM_CHECK_EARLY_LOAD_H

#include "ptx/module.h"

#include <stdbool.h>
#include <stdint.h>

/* By instruction of a function, 1 where it is an early load; NULL: there are none. The caller frees it. False where there
 * is no memory. */
bool smk_early_load_find(const smk_function *f, uint8_t **early);

/* Does an undefined operand make the result undefined? Results of loads, calls and votes count as defined. */
bool smk_early_load_carries(const smk_instruction *in);

/* Is an undefined operand a fault of the instruction? */
bool smk_early_load_decides(const smk_instruction *in);

#endif
