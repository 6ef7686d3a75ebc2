/* Video instructions: arithmetic on bytes and halves of registers (vadd, vmad, vset, vadd4, ...). */
#ifndef SMK_SIM_EXEC_VIDEO_H
#define SMK_SIM_EXEC_VIDEO_H

#include "sim/code/operation.h"

#include <stdbool.h>

bool smk_video_is(smk_opcode opcode);

/* The handler of all of them: d, a, b and c rows of 32 bits. */
const smk_operation *smk_video_run(smk_warp *warp, const smk_operation *op);

#endif
