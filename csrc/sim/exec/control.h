/* Branches, calls and exits, and the pseudo-operations that lowering inserts. */
#ifndef SMK_SIM_EXEC_CONTROL_H
#define SMK_SIM_EXEC_CONTROL_H

#include "sim/code/operation.h"

/* All execute for the lanes of their guard. Fields: u.target the target; `a` the reconvergence point, an index into
 * the function's operations (SMK_NO_INDEX: the function's end). */
smk_handler smk_control_jump(bool backward); /* without a guard */
smk_handler smk_control_branch(bool backward);
const smk_operation *smk_control_branch_table(smk_warp *warp, const smk_operation *op); /* brx: `b` row, u.detail */
const smk_operation *smk_control_call(smk_warp *warp, const smk_operation *op);         /* u.detail */
const smk_operation *smk_control_call_pointer(smk_warp *warp,
                                              const smk_operation *op); /* `b` row; reconvergence next */
const smk_operation *smk_control_return(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_control_exit(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_control_trap(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_control_sleep(smk_warp *warp, const smk_operation *op);

const smk_operation *smk_control_end(smk_warp *warp, const smk_operation *op);        /* behind the last instruction */
const smk_operation *smk_control_reconverge(smk_warp *warp, const smk_operation *op); /* at a reconvergence point */
const smk_operation *smk_control_nothing(smk_warp *warp, const smk_operation *op);

/* Special registers that change while a warp runs: clocks (`d` row, `element` the smk_special, `slot` the loop in which
 * a thread lets time pass, as smk_timed_wait_find gives it); and an address in the present local frame (`d` row of `count`
 * bits, u.immediate the offset). */
const smk_operation *smk_control_clock(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_control_local_address(smk_warp *warp, const smk_operation *op);

/* The stack of local memory, which a function gives back when it returns. alloca: `d` row of `count` bits, `a` row of
 * sizes in as many bits, u.immediate the alignment. stacksave: `d`; stackrestore: `a`. */
const smk_operation *smk_control_allocate(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_control_save_stack(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_control_restore_stack(smk_warp *warp, const smk_operation *op);

/* Address conversion: d = a + u.immediate in 64 bits; a 32-bit address row made a 64-bit one; isspacep: pd =
 * u.immediate <= a < u.immediate + 2^32, or below all windows and no constant where it is 0. */
const smk_operation *smk_control_convert_address(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_control_widen_address(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_control_is_space(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_control_is_constant(smk_warp *warp, const smk_operation *op);

/* Writes 0 to the row `d` of 64 bits. */
const smk_operation *smk_control_clear(smk_warp *warp, const smk_operation *op);

#endif
