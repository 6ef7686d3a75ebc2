/* cp.async: copies from global to shared memory, which read their source at once and write their target when the
 * thread waits for them. */
#ifndef SMK_SIM_EXEC_CP_ASYNC_H
#define SMK_SIM_EXEC_CP_ASYNC_H

#include "sim/code/operation.h"

/* u.detail: offset of the destination, second_offset of the source, bytes of a copy, row of the source size
 * (source_bits 32), or of the ignore-src predicate (source_bits 1, with flip), or none (0). `a` row of 64-bit shared
 * addresses, `b` of 64-bit global ones; d2 the source's smk_space. */
/* The number of source bytes that a lane reads; the rest of its target becomes zero. */
unsigned smk_cp_async_source_bytes(const smk_warp *warp, const struct smk_detail *detail, unsigned lane);

const smk_operation *smk_cp_async_copy(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_cp_async_commit(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_cp_async_wait_group(smk_warp *warp, const smk_operation *op); /* u.immediate: groups left */
const smk_operation *smk_cp_async_wait_all(smk_warp *warp, const smk_operation *op);

#endif
