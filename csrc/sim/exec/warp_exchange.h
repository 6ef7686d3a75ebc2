/* Operations between the lanes of a warp: shfl, vote, match, redux, activemask. */
#ifndef SMK_SIM_EXEC_WARP_EXCHANGE_H
#define SMK_SIM_EXEC_WARP_EXCHANGE_H

#include "sim/code/operation.h"

/* The handler; NULL where there is none. u.immediate is the row of the membermask, and `count` 1 where there is one
 * (.sync).
 *   shfl        d, d2 (predicate), a value, b lane or delta, c clamp and segment mask
 *   vote        d, a predicate and flip_a; `b` stands for `count`, which shares its union with the flips
 *   match       d, d2 (predicate, of .all), a value (32 or 64 bits)
 *   redux       d, a value
 *   activemask  d */
smk_handler smk_warp_exchange_find(const smk_instruction *instruction);

/* Lanes that have come to an exchange at one of several operations. */
typedef struct smk_warp_exchange_part {
    const smk_operation *op;
    unsigned char *registers; /* its frame */
    uint32_t lanes;
} smk_warp_exchange_part;

/* Executes one exchange for the lanes of all parts. Their operations differ in their operands alone, and have one
 * membermask: each lane gives its own operands and receives its own result. */
void smk_warp_exchange_join(const smk_instruction *instruction, const smk_warp_exchange_part *parts, uint32_t count);

/* The source lane of a shfl for a lane and its operands b and c; -1: the lane keeps its own value. */
int smk_warp_exchange_source(const smk_instruction *instruction, uint32_t lane, uint32_t b, uint32_t c);

#endif
