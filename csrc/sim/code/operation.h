/* Lowered operations: what lowering makes of a PTX instruction, and what handlers execute.
 *
 * Registers of a warp are rows of 32 lanes in one block of memory; an operation names a row by its byte
 * offset from warp->registers, which points to the frame of the function that runs. Row layouts:
 *   64-bit   uint64_t[32]     32-bit   uint32_t[32]     16-bit (and .b8)   uint16_t[32]
 *   predicate                 one uint32_t, bit i for lane i
 * Rows of lanes are 64-byte aligned. Immediates and special registers are rows too, filled beforehand (constants once,
 * %tid once a warp), so an arithmetic handler reads rows only. */
#ifndef SMK_SIM_CODE_OPERATION_H
#define SMK_SIM_CODE_OPERATION_H

#include "ptx/module.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct smk_warp smk_warp;
typedef struct smk_operation smk_operation;

/* Executes the operation for the lanes in smk_operation_mask and returns the next one (usually op + 1), or NULL where
 * the warp cannot go on now: barrier, exit, error, end of its slice (warp->control->state). */
typedef const smk_operation *(*smk_handler)(smk_warp *warp, const smk_operation *op);

struct smk_operation {
    smk_handler run;
    uint32_t d, a, b, c; /* rows: destination and sources; unused ones are 0 */
    uint32_t d2;         /* second destination (p of d|p) or fourth source */
    uint32_t guard;      /* predicate row; the constant row of all ones where there is no guard */
    uint32_t guard_flip; /* 0, or UINT32_MAX for @!p */
    union {
        struct {
            uint32_t flip_a, flip_b, flip_c; /* UINT32_MAX where a predicate source is written !p, else 0 */
        };
        struct {              /* memory operations: see access.h */
            uint32_t element; /* smk_element: type in memory and in the row */
            uint32_t count;   /* elements of a vector access, or the operation of an atomic */
            uint32_t slot;    /* entry of the worker's allocation cache */
        };
    };
    uint32_t instruction; /* index in the function, for messages and counters */
    uint32_t function;
    union {
        uint64_t immediate;              /* address offset, barrier number, ... */
        const smk_operation *target;     /* branch */
        const struct smk_detail *detail; /* anything larger (call, branch table, vector, atomics) */
    } u;
};

/* The part of a warp that arithmetic handlers use; the rest is in warp.h. */
struct smk_warp {
    unsigned char *registers;         /* the present frame */
    uint32_t active;                  /* lanes that run */
    uint32_t carry;                   /* CC.CF, bit i for lane i */
    struct smk_warp_control *control; /* warp.h */
};

static inline uint32_t smk_operation_mask(const smk_warp *warp, const smk_operation *op)
{
    const uint32_t guard = *(const uint32_t *)(const void *)(warp->registers + op->guard);
    return warp->active & (guard ^ op->guard_flip);
}

/* Width of a lane in the row of a register of this type: 1 (predicate), 16, 32, 64; 0 where there is no such row. */
static inline unsigned smk_operation_row_bits(smk_type type)
{
    const unsigned bits = smk_module_type_bits(type);
    return bits == 8 ? 16 : bits > 64 ? 0 : bits;
}

#define SMK_ROW(type, warp, offset) ((type *)(void *)((warp)->registers + (offset)))

#endif
