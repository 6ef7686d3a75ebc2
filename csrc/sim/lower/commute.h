/* Finds updates of global memory by several blocks that do not commute: additions and maxima of one word, for example,
 * although each kind commutes with itself. Where two kinds may address one allocation, the blocks run in order.
 *
 * The allocation of an update follows from the roots of its address: the parameters and variables from which the
 * address may be computed (a set for each register, over the whole function, without regard to the order of
 * instructions). The roots lead to allocations once the parameters have values. A kernel must not compute the address
 * of one allocation from another. */
#ifndef SMK_SIM_LOWER_COMMUTE_H
#define SMK_SIM_LOWER_COMMUTE_H

#include "base/status.h"
#include "sim/code/image.h"

/* Fills image->update and image->root if the lowered code has updates of several kinds. Errors: MEMORY. */
smk_status smk_commute_find(smk_image *image, smk_error *error);

#endif
