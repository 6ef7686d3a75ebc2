/* Lowering: from the instructions of a module to flat operations. */
#ifndef SMK_SIM_LOWER_LOWER_H
#define SMK_SIM_LOWER_LOWER_H

#include "base/arena.h"
#include "base/status.h"
#include "sim/code/image.h"

#include <stdbool.h>
#include <stdint.h>

/* Fills the function's code in the image, which is allocated together with that of its callees. `addresses` are those
 * of the module's variables. Errors: PTX, UNSUPPORTED, with the line; MEMORY. */
smk_status smk_lower_function(smk_image *image, const uint64_t *addresses, uint32_t function, smk_arena *arena,
                              smk_error *error);

#endif
