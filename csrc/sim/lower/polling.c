#include "sim/lower/polling.h"

#include "base/heap.h"
#include "ptx/opcode.h"
#include "sim/lower/register_layout.h"

#include <string.h>

enum { LOOP_MAX = 512 }; /* instructions of a loop that is looked at */

/* What is known of a register in the present loop. */
enum { CHANGES = 1, MAY_CHANGE = 2, POLLED = 4 };

typedef struct finder {
    const smk_function *function;
    uint8_t *known;      /* by register: of the above */
    uint32_t begin, end; /* of the present loop: its first instruction, and the one behind its last */
    /* of the visited instruction */
    uint8_t read, given; /* what it has read; what its results become */
    bool changed;
} finder;

static void read_and_give(void *context, uint32_t index, bool writes)
{
    finder *f = context;
    if (!writes) {
        f->read |= f->known[index];
        return;
    }
    const uint8_t before = f->known[index];
    f->known[index] |= f->given;
    f->changed = f->changed || f->known[index] != before;
}

static void forget(void *context, uint32_t index, bool writes)
{
    finder *f = context;
    (void)writes;
    f->known[index] = 0;
}

static void visit(finder *f, uint32_t instruction, uint8_t given)
{
    f->given = given;
    smk_register_layout_visit(&f->function->instructions[instruction], read_and_give, f);
}

/* What the registers that an instruction reads are. */
static uint8_t read_of(finder *f, uint32_t instruction)
{
    f->read = 0;
    visit(f, instruction, 0);
    return f->read;
}

static bool is_plain_load(const smk_instruction *in)
{
    return smk_opcode_class(in) == SMK_CLASS_LOAD && in->opcode == SMK_OPCODE_LD &&
           (in->space == SMK_SPACE_GLOBAL || in->space == SMK_SPACE_GENERIC || in->space == SMK_SPACE_SHARED);
}

/* May a loop that only waits have this instruction? */
static bool may_wait(const smk_instruction *in)
{
    switch (smk_opcode_class(in)) {
    case SMK_CLASS_ATOMIC:
    case SMK_CLASS_CALL:
    case SMK_CLASS_COPY:
    case SMK_CLASS_TEXTURE:
    case SMK_CLASS_MATRIX:
        return false;
    case SMK_CLASS_STORE:
        return in->space == SMK_SPACE_LOCAL || in->space == SMK_SPACE_PARAM;
    case SMK_CLASS_ALU:
    case SMK_CLASS_ADDRESS:
    case SMK_CLASS_LOAD:
    case SMK_CLASS_EXCHANGE:
    case SMK_CLASS_FENCE:
    case SMK_CLASS_BARRIER:
    case SMK_CLASS_BRANCH:
    case SMK_CLASS_END:
    case SMK_CLASS_PAUSE:
    case SMK_CLASS_HINT:
        break;
    }
    return true;
}

/* Is the loop short, without visible effects, and does it load? */
static bool is_candidate(const finder *f)
{
    bool loads = false;
    for (uint32_t i = f->begin; i < f->end; i++) {
        const smk_instruction *in = &f->function->instructions[i];
        if (!may_wait(in)) {
            return false;
        }
        loads = loads || is_plain_load(in);
    }
    return loads;
}

/* Finds registers that have another value in another round: those that the loop writes, except where all of that is
 * computed from values that stay. */
static void find_changes(finder *f)
{
    for (uint32_t i = f->begin; i < f->end; i++) {
        visit(f, i, CHANGES);
    }
    for (bool fewer = true; fewer;) {
        fewer = false;
        for (uint32_t i = f->begin; i < f->end; i++) {
            const smk_class class = smk_opcode_class(&f->function->instructions[i]);
            const bool computed = class == SMK_CLASS_ALU || class == SMK_CLASS_ADDRESS ||
                                  f->function->instructions[i].space == SMK_SPACE_PARAM;
            if (!computed || (read_of(f, i) & CHANGES) != 0) {
                visit(f, i, MAY_CHANGE);
            }
        }
        for (uint32_t reg = 0; reg < f->function->register_count; reg++) {
            fewer = fewer || f->known[reg] == CHANGES;
            f->known[reg] = f->known[reg] == (CHANGES | MAY_CHANGE) ? CHANGES : 0;
        }
    }
}

static bool has_fixed_address(finder *f, uint32_t instruction)
{
    const smk_instruction *in = &f->function->instructions[instruction];
    const smk_operand *address = &in->operands[in->result_count];
    return is_plain_load(in) && address->kind == SMK_OPERAND_ADDRESS &&
           (address->base_kind != SMK_OPERAND_REGISTER || (f->known[address->index] & CHANGES) == 0);
}

/* Does a value that was loaded at one place end the loop, or begin its next round? */
static bool is_ended_by_loads(finder *f)
{
    for (uint32_t i = f->begin; i < f->end; i++) {
        if (has_fixed_address(f, i)) {
            visit(f, i, POLLED);
        }
    }
    do {
        f->changed = false;
        for (uint32_t i = f->begin; i < f->end; i++) {
            visit(f, i, (uint8_t)(read_of(f, i) & POLLED));
        }
    } while (f->changed);
    for (uint32_t i = f->begin; i < f->end; i++) {
        const smk_instruction *in = &f->function->instructions[i];
        const smk_class class = smk_opcode_class(in);
        const uint32_t label = class == SMK_CLASS_BRANCH && in->operands[0].kind == SMK_OPERAND_LABEL
                                   ? in->operands[0].index
                                   : SMK_NO_INDEX;
        const uint32_t target = label == SMK_NO_INDEX ? f->begin : f->function->labels[label].target;
        const bool leaves = class == SMK_CLASS_END || target < f->begin || target >= f->end || i + 1 == f->end;
        if (leaves && in->guarded && (f->known[in->guard] & POLLED) != 0) {
            return true;
        }
    }
    return false;
}

/* Marks the polling loads of the present loop. */
static void mark(finder *f, uint64_t *polls, bool *found, bool *global)
{
    find_changes(f);
    if (is_ended_by_loads(f)) {
        for (uint32_t i = f->begin; i < f->end; i++) {
            if (has_fixed_address(f, i)) {
                polls[i / 64] |= UINT64_C(1) << i % 64;
                *global = *global || f->function->instructions[i].space != SMK_SPACE_SHARED;
                *found = true;
            }
        }
    }
    for (uint32_t i = f->begin; i < f->end; i++) {
        smk_register_layout_visit(&f->function->instructions[i], forget, f);
    }
}

/* The first instruction of the loop that the instruction ends; SMK_NO_INDEX where it ends none that is looked at. */
static uint32_t loop_of(const smk_function *function, uint32_t instruction)
{
    const smk_instruction *in = &function->instructions[instruction];
    if (smk_opcode_class(in) != SMK_CLASS_BRANCH || in->operands[0].kind != SMK_OPERAND_LABEL) {
        return SMK_NO_INDEX;
    }
    const uint32_t target = function->labels[in->operands[0].index].target;
    return target <= instruction && instruction - target < LOOP_MAX ? target : SMK_NO_INDEX;
}

smk_status smk_polling_find(const smk_function *function, smk_arena *arena, const uint64_t **polls, bool *global,
                            smk_error *error)
{
    finder f = {.function = function};
    uint64_t *made = NULL;
    bool found = false, memory = true;
    *polls = NULL;
    *global = false;
    for (uint32_t i = 0; i < function->instruction_count && memory; i++) {
        f.begin = loop_of(function, i);
        f.end = i + 1;
        if (f.begin == SMK_NO_INDEX || !is_candidate(&f)) {
            continue;
        }
        if (made == NULL) {
            made = smk_arena_allocate(arena, function->instruction_count / 64 + (size_t)1, sizeof *made);
            f.known = smk_heap_allocate(function->register_count + (size_t)1, 1);
            memory = made != NULL && f.known != NULL;
        }
        if (memory) {
            mark(&f, made, &found, global);
        }
    }
    smk_heap_free(f.known);
    if (!memory) {
        return smk_status_fail(error, SMK_MEMORY, "no memory to prepare a kernel");
    }
    *polls = found ? made : NULL;
    return SMK_OK;
}
