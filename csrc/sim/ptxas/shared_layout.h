/* How ptxas lays out the shared variables of a kernel. */
#ifndef SMK_SIM_PTXAS_SHARED_LAYOUT_H
#define SMK_SIM_PTXAS_SHARED_LAYOUT_H

#include "ptx/module.h"

#include <stdint.h>

/* The offsets of a kernel's shared variables as ptxas lays them out, plus 1, by variable; 0: not known, or not
 * shared. */
void smk_shared_layout_find(const smk_module *module, const smk_function *function, uint32_t *shared_offset);

#endif
