/* A model of how ptxas fuses memory accesses, so that counts are those of the machine code.
 *
 * The model does not change what a program does. It answers, for each PTX instruction, which access of the machine
 * code it becomes: ptxas fuses neighbouring accesses whose alignment it can prove, and drops loads whose value is not
 * used. (Evidence: tests/hardware/sass compares every plan with disassembled machine code, by source line.)
 *
 * The rules of ptxas 13.0 for compute capability 9.0:
 * - Loads of one base and one element size become one load of 16 bytes where three or four of its four words are used
 *   (the odd word is read in vain), else pairs of 8 bytes; both only where the base is known to have that alignment.
 *   8-byte elements join in pairs; halves join up to four, unless the load widens them; bytes never join. Elements of
 *   vectors join one by one, and unused ones are not loaded; vectors of bytes or halves are words. An element is
 *   loaded once.
 * - Other loads may stand between them. A store to the same memory, an atomic, a fence, a barrier of block or warp and
 *   a call may not (except for ld.global.nc, which they do not affect).
 * - Loads join across blocks, too, where one of them dominates the others.
 * - Stores join while no other instruction accesses that memory between them: full groups of 16 bytes, then pairs;
 *   halves join up to 8 bytes. A store that the next store of the run overwrites is dropped.
 * - A load of what the last store to that memory wrote takes the value from the register.
 * - Volatile accesses are not changed.
 * - ptxas knows trailing zero bits of an address through mov, add, sub, mul, mad, shl, and, or, xor, bfi, selp, cvt,
 *   cvta and where control flow joins, not through shr, min or max. The shared variables of a kernel are parts of one
 *   object that is aligned to 1024 bytes, and neighbouring variables join. Of a pointer parameter nothing is known,
 *   even with .align, but a wide access proves its own alignment to other accesses.
 */
#ifndef SMK_SIM_PTXAS_FUSION_H
#define SMK_SIM_PTXAS_FUSION_H

#include "base/arena.h"
#include "base/status.h"
#include "sim/ptxas/cfg.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum smk_fusion_role {
    SMK_FUSION_ALONE = 0, /* an access as written */
    SMK_FUSION_LEADER,    /* of fused accesses the first load or the last store; or an access that becomes narrower */
    SMK_FUSION_MEMBER,    /* fused into its leader: no access of its own */
    SMK_FUSION_GONE       /* removed: no access at all */
} smk_fusion_role;

/* The machine instructions of an atomic on shared memory. Nothing is known of halves (16 bits): they count as PLAIN. */
typedef enum smk_fusion_form {
    SMK_FUSION_PLAIN = 0,
    SMK_FUSION_LOOP,  /* a loop of LDS and ATOMS.CAST.SPIN (atomic_loop.h): floating-point additions, and all of 8 bytes
                      * except exch and cas */
    SMK_FUSION_BOUND, /* such a loop, left by lanes whose value changes nothing: min and max */
    SMK_FUSION_COUNT, /* lanes on one address are counted, not served one by one (ATOMS.POPC.INC): adding the constant
                       * 1, or inc without a limit, to a .u32 without a result */
    SMK_FUSION_SINGLE, /* one lane for the whole warp (REDUX, then ATOMS by the first lane): the address is uniform,
                        * and the result is not used or the added value is a constant */
    SMK_FUSION_SCAN    /* such an addition whose result is used: one lane if all 32 execute it (by SHFL), else each */
} smk_fusion_form;

typedef struct smk_fusion_access {
    uint8_t role;       /* smk_fusion_role */
    uint8_t bytes;      /* of a LEADER: of the fused access, a lane */
    uint8_t form;       /* smk_fusion_form; of an atomic on shared memory, whatever its role */
    int16_t shift;      /* of a LEADER: from its own address to the lowest one of the fused access */
    uint8_t more_bytes; /* of a LEADER with two distant elements: a second access; 0: there is none */
    int16_t more_shift;
    uint32_t leader; /* of a MEMBER: index of its leader */
    bool zfill;      /* of a copy: see copy_size.h */
} smk_fusion_access;

/* plan[i] for each instruction of the function, in `arena`. Errors: MEMORY. */
smk_status smk_fusion_plan(const smk_module *module, const smk_function *function, const smk_cfg *cfg, smk_arena *arena,
                           smk_fusion_access **plan, smk_error *error);

#endif
