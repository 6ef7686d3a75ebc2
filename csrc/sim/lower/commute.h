/* Updates of global memory by several blocks whose order shows: additions and maxima of one word, say, though each kind
 * alone may come in any order. Where two kinds may meet in one allocation the blocks run in order.
 *
 * Which allocation an update goes to is followed from its address back to the parameters and variables that it may be
 * made of (a set for each register, over the whole function, whatever the order of instructions), and is known when
 * those have values. An address that leaves its allocation for another is none that a kernel may form. */
#ifndef SMK_SIM_LOWER_COMMUTE_H
#define SMK_SIM_LOWER_COMMUTE_H

#include "base/status.h"
#include "sim/code/image.h"

/* Fills image->update and image->root, where updates of several kinds are among the code; lowering is done.
 * Errors: MEMORY. */
smk_status smk_commute_find(smk_image *image, smk_error *error);

#endif
