#include "sim/check/early_load.h"

#include "base/heap.h"
#include "ptx/opcode.h"
#include "sim/lower/register_layout.h"

#include <stddef.h>

/* Does an undefined operand make the result undefined? Results of loads, calls and votes count as defined. */
bool smk_early_load_carries(const smk_instruction *in)
{
    switch (smk_opcode_class(in)) {
    case SMK_CLASS_ALU:
    case SMK_CLASS_ADDRESS:
        return true;
    case SMK_CLASS_EXCHANGE:
        return in->opcode == SMK_OPCODE_SHFL || in->opcode == SMK_OPCODE_REDUX || in->opcode == SMK_OPCODE_ELECT;
    case SMK_CLASS_LOAD:
    case SMK_CLASS_STORE:
    case SMK_CLASS_ATOMIC:
    case SMK_CLASS_COPY:
    case SMK_CLASS_TEXTURE:
    case SMK_CLASS_MATRIX:
    case SMK_CLASS_BARRIER:
    case SMK_CLASS_FENCE:
    case SMK_CLASS_BRANCH:
    case SMK_CLASS_CALL:
    case SMK_CLASS_END:
    case SMK_CLASS_PAUSE:
    case SMK_CLASS_HINT:
        break;
    }
    return false;
}

/* Is an undefined operand a fault of the instruction? */
bool smk_early_load_decides(const smk_instruction *in)
{
    switch (smk_opcode_class(in)) {
    case SMK_CLASS_LOAD:
    case SMK_CLASS_STORE:
    case SMK_CLASS_ATOMIC:
    case SMK_CLASS_COPY:
    case SMK_CLASS_TEXTURE:
    case SMK_CLASS_BARRIER:
    case SMK_CLASS_BRANCH:
        return true;
    case SMK_CLASS_MATRIX:
        return smk_opcode_moves_matrices(in);
    case SMK_CLASS_END:
        return in->opcode != SMK_OPCODE_TRAP;
    case SMK_CLASS_ALU:
    case SMK_CLASS_ADDRESS:
    case SMK_CLASS_EXCHANGE:
    case SMK_CLASS_FENCE:
    case SMK_CLASS_CALL:
    case SMK_CLASS_PAUSE:
    case SMK_CLASS_HINT:
        break;
    }
    return false;
}

/* Early loads --------------------------------------- */

enum { EARLY_DISTANCE = 2 };

typedef struct tracing {
    uint8_t *wanted;  /* registers that a selection takes, or what is made of them: 1 + the distance */
    uint8_t *barred;  /* registers that are read by what neither hands an undefined value on nor decides */
    uint8_t best;     /* the least distance of what the instruction writes; 0: none of them is wanted */
    uint8_t distance; /* for the registers that it reads; 0: mark none */
    bool is_barred;
} tracing;

static void trace_writes(void *context, uint32_t reg, bool writes)
{
    tracing *t = context;
    const uint8_t is = writes ? t->wanted[reg] : 0;
    t->best = is != 0 && (t->best == 0 || is < t->best) ? is : t->best;
    t->is_barred = t->is_barred || (writes && t->barred[reg] != 0);
}

static void trace_reads(void *context, uint32_t reg, bool writes)
{
    tracing *t = context;
    if (!writes && t->distance != 0 && (t->wanted[reg] == 0 || t->distance < t->wanted[reg])) {
        t->wanted[reg] = t->distance;
    }
}

static void bar_reads(void *context, uint32_t reg, bool writes)
{
    tracing *t = context;
    t->barred[reg] |= (uint8_t)!writes;
}

/* Marks the registers that selections take, and those that they are made of. */
static void trace_selections(const smk_function *f, tracing *t)
{
    for (uint32_t i = 0; i < f->instruction_count; i++) {
        const smk_instruction *in = &f->instructions[i];
        for (unsigned k = 1; in->opcode == SMK_OPCODE_SELP && k <= 2; k++) {
            if (in->operands[k].kind == SMK_OPERAND_REGISTER) {
                t->wanted[in->operands[k].index] = 1;
            }
        }
        if (!smk_early_load_carries(in) && !smk_early_load_decides(in)) {
            smk_register_layout_visit(in, bar_reads, t);
        }
    }
    for (unsigned k = 0; k < EARLY_DISTANCE; k++) {
        for (uint32_t i = 0; i < f->instruction_count; i++) {
            const smk_instruction *in = &f->instructions[i];
            t->best = t->distance = 0;
            smk_register_layout_visit(in, trace_writes, t);
            if (t->best != 0 && t->best <= EARLY_DISTANCE && smk_early_load_carries(in) &&
                in->opcode != SMK_OPCODE_SELP) {
                t->distance = (uint8_t)(t->best + 1);
                smk_register_layout_visit(in, trace_reads, t);
            }
        }
    }
}

bool smk_early_load_find(const smk_function *f, uint8_t **early)
{
    uint8_t *found = smk_heap_allocate((size_t)f->instruction_count + 1, 1);
    uint8_t *registers = smk_heap_allocate(2 * ((size_t)f->register_count + 1), 1);
    const bool good = found != NULL && registers != NULL;
    bool any = false;
    if (good) {
        tracing t = {.wanted = registers, .barred = registers + f->register_count + 1};
        trace_selections(f, &t);
        for (uint32_t i = 0; i < f->instruction_count; i++) {
            const smk_instruction *in = &f->instructions[i];
            if (in->opcode == SMK_OPCODE_LD && (in->space == SMK_SPACE_SHARED || in->space == SMK_SPACE_GENERIC)) {
                t.best = 0;
                t.is_barred = false;
                smk_register_layout_visit(in, trace_writes, &t);
                found[i] = t.best != 0 && !t.is_barred;
                any = any || found[i] != 0;
            }
        }
    }
    smk_heap_free(registers);
    if (!any) {
        smk_heap_free(found);
        found = NULL;
    }
    *early = found;
    return good;
}
