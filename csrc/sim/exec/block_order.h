/* Decides whether the blocks of a launch must run in order: only where updates of two kinds may address one
 * allocation. */
#ifndef SMK_SIM_EXEC_BLOCK_ORDER_H
#define SMK_SIM_EXEC_BLOCK_ORDER_H

#include "base/launch.h"
#include "sim/code/image.h"
#include "sim/code/memory_view.h"

/* Can the result of this launch depend on the order of its blocks? (image->ordered: always) */
bool smk_block_order_matters(const smk_image *image, const smk_launch *launch, const smk_memory_view *view);

#endif
