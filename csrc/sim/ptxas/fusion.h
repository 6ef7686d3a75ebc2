/* What ptxas makes of a function's memory accesses: a model, so that counts are those of the machine code.
 *
 * Nothing here changes what a program does. The model answers, for each PTX instruction, which access of the machine
 * code it becomes: ptxas fuses neighbouring accesses whose alignment it can prove, and drops loads that nobody
 * needs. (Evidence: tests/hardware/sass compares every plan with disassembled machine code, by source line.)
 *
 * The rules, as ptxas 13.0 follows them for compute capability 9.0:
 * - Loads of one base and one element size become one of 16 bytes where three or four of its four words are wanted,
 *   with the odd one read in vain, and else pairs of 8 bytes; both only where the base is known to be so aligned.
 *   8-byte elements join in pairs; halves up to four, where they are not widened by the load; bytes never. Elements
 *   of vectors take part one by one, and those that nobody reads are not loaded; vectors of bytes or halves are
 *   words. The same element is loaded once.
 * - Other loads may stand between. A store into the same memory, an atomic, a fence, a barrier of block or warp and a
 *   call may not (but for ld.global.nc, which minds nothing).
 * - Loads join across blocks too, where one stands above the others on every way.
 * - Stores join while nothing else touches that memory between them: full groups of 16 bytes, then pairs; halves join
 *   up to 8 bytes. What the next store of the run overwrites is not stored.
 * - A load of what the last store into that memory wrote takes it from the register.
 * - What is volatile stays as it is.
 * - Of an address ptxas knows its trailing zero bits: through mov, add, sub, mul, mad, shl, and, or, xor, bfi, selp,
 *   cvt, cvta and where control flow joins, not through shr, min or max. Shared variables of a kernel are places in
 *   one block of memory that starts on a multiple of 1024, and neighbours join. Of a pointer parameter nothing is
 *   known, not even with .align, but a wide access proves its own alignment for others.
 */
#ifndef SMK_SIM_PTXAS_FUSION_H
#define SMK_SIM_PTXAS_FUSION_H

#include "base/arena.h"
#include "base/status.h"
#include "sim/ptxas/cfg.h"

#include <stdint.h>

typedef enum smk_fusion_role {
    SMK_FUSION_ALONE = 0, /* an access as written */
    SMK_FUSION_LEADER, /* of accesses that become one the first load, or the last store; or one that becomes narrower */
    SMK_FUSION_MEMBER, /* goes along with its leader: no access of its own */
    SMK_FUSION_GONE    /* removed: no access at all */
} smk_fusion_role;

/* What an atomic operation on shared memory is made of. Of halves (16 bits) nothing is known: PLAIN stands for their
 * loops. */
typedef enum smk_fusion_form {
    SMK_FUSION_PLAIN = 0,
    SMK_FUSION_LOOP, /* a loop of LDS and ATOMS.CAST.SPIN (atomic_loop.h): additions of floating numbers, and everything of 8
                    * bytes but exch and cas */
    SMK_FUSION_BOUND, /* such a loop that lanes leave whose value changes nothing: min and max */
    SMK_FUSION_COUNT, /* lanes on one address are counted, not served one by one (ATOMS.POPC.INC): adding the constant
                     * 1, or inc without an end, to a .u32 without wanting the result */
    SMK_FUSION_SINGLE, /* one lane for the whole warp (REDUX, then ATOMS by the first): the address is the same for
                      * all, and nobody wants the result; or what is added is a constant */
    SMK_FUSION_SCAN /* an addition there whose result is wanted: one lane where all 32 take part (by SHFL), else each */
} smk_fusion_form;

typedef struct smk_fusion_access {
    uint8_t role;       /* smk_fusion_role */
    uint8_t bytes;      /* of a LEADER: of the fused access, a lane */
    uint8_t form;       /* smk_fusion_form; of an atomic on shared memory, whatever its role */
    int16_t shift;      /* of a LEADER: from its own address to the lowest one of the fused access */
    uint8_t more_bytes; /* of a LEADER of which two distant elements are wanted: a second access; 0: there is none */
    int16_t more_shift;
    uint32_t leader; /* of a MEMBER: index of its leader */
} smk_fusion_access;

/* plan[i] for each instruction of the function, in `arena`. Errors: MEMORY. */
smk_status smk_fusion_plan(const smk_module *module, const smk_function *function, const smk_cfg *cfg, smk_arena *arena,
                         smk_fusion_access **plan, smk_error *error);

#endif
