/* mbarrier in atomic operations. The object is one word of 64 bits, whose inside PTX does not specify:
 *
 *   bits 0 to 19    how many arrivals complete a phase
 *   bits 20 to 39   2^20 minus the arrivals that are missing in this phase
 *   bits 40 to 63   phases that are complete
 *
 * An arrival adds to the middle field; the last one of a phase carries into the number of phases, and puts the missing
 * arrivals of the next phase back. A state is the word before the arrival: its phase is complete when the number of
 * phases has another parity. Arrivals release and tests acquire, as the statement says. */
#include "ptx/expand.h"
#include "ptx/instruction.h"

#include <string.h>

enum { FIELD_BITS = 20, PHASE_BIT = 2 * FIELD_BITS, PAUSE = 20 };
#define FIELD_MASK ((INT64_C(1) << FIELD_BITS) - 1)

#define REG(index) smk_expand_register(index)
#define NUM(value) smk_expand_constant(value)

typedef struct mbarrier {
    smk_parser *parser;
    const smk_statement *origin;
} mbarrier;

static bool has(const mbarrier *m, smk_modifier modifier)
{
    return smk_module_has(&m->origin->instruction, modifier);
}

static smk_status new_register(const mbarrier *m, smk_type type, uint32_t *index)
{
    return smk_instruction_add_register(m->parser, m->origin->opcode_at.text, type, index);
}

static smk_status emit(const mbarrier *m, smk_statement *made, const smk_operand *operands, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        smk_expand_operand(made, operands[i]);
    }
    return smk_expand_finish(m->parser, made);
}

/* opcode.type d, a, b */
static smk_status emit_plain(const mbarrier *m, smk_opcode opcode, smk_type type, smk_operand d, smk_operand a,
                             smk_operand b)
{
    smk_statement made;
    const smk_operand operands[] = {d, a, b};
    smk_expand_begin(m->parser, m->origin, opcode, &made);
    smk_expand_type(&made, type);
    return emit(m, &made, operands, 3);
}

/* d = a op b in a new register of 64 bits */
static smk_status compute(const mbarrier *m, smk_opcode opcode, smk_type type, smk_operand a, smk_operand b,
                          smk_operand *d)
{
    uint32_t index = 0;
    SMK_TRY(new_register(m, SMK_TYPE_B64, &index));
    *d = REG(index);
    return emit_plain(m, opcode, type, *d, a, b);
}

/* A count of 32 bits as 64 bits. */
static smk_status widen(const mbarrier *m, smk_operand count, smk_operand *wide)
{
    uint32_t index = 0;
    if (count.kind == SMK_OPERAND_IMMEDIATE) {
        *wide = NUM((int64_t)count.bits);
        return SMK_OK;
    }
    SMK_TRY(new_register(m, SMK_TYPE_B64, &index));
    *wide = REG(index);
    smk_statement made;
    const smk_operand operands[] = {*wide, count};
    smk_expand_begin(m->parser, m->origin, SMK_OPCODE_CVT, &made);
    smk_expand_type(&made, SMK_TYPE_U64);
    smk_expand_type(&made, SMK_TYPE_U32);
    return emit(m, &made, operands, 2);
}

/* Is the address one in shared memory? 32 bits are, even where cp.async.mbarrier.arrive names no space. */
static bool is_shared(const mbarrier *m)
{
    const smk_instruction *instruction = &m->origin->instruction;
    const smk_operand *address = &instruction->operands[0];
    const smk_register *registers = m->parser->registers.items;
    return instruction->space == SMK_SPACE_SHARED ||
           (instruction->opcode == SMK_OPCODE_CP && address->base_kind == SMK_OPERAND_REGISTER &&
            smk_module_type_bits((smk_type)registers[address->index].type) == 32);
}

static void name_space(const mbarrier *m, smk_statement *made)
{
    if (is_shared(m)) {
        smk_expand_modifier(made, SMK_MODIFIER_SHARED);
    }
}

/* Adds to the word: with a result atom, else red, which `only` guards. Scopes beyond the block are the block's, which
 * is a cluster of its own. */
static smk_status add(const mbarrier *m, smk_operand address, smk_operand value, smk_operand *old,
                      const smk_operand *only)
{
    smk_statement made;
    smk_expand_begin(m->parser, m->origin, old != NULL ? SMK_OPCODE_ATOM : SMK_OPCODE_RED, &made);
    if (only != NULL) {
        made.instruction.guarded = true;
        made.instruction.guard_negate = false;
        made.instruction.guard = only->index;
    }
    smk_expand_modifier(&made, SMK_MODIFIER_ADD);
    smk_expand_modifier(&made,
                        old == NULL || has(m, SMK_MODIFIER_RELAXED) ? SMK_MODIFIER_RELAXED : SMK_MODIFIER_RELEASE);
    smk_expand_modifier(&made, SMK_MODIFIER_CTA);
    name_space(m, &made);
    smk_expand_type(&made, SMK_TYPE_U64);
    const smk_operand with[] = {old != NULL ? *old : address, old != NULL ? address : value, value};
    return emit(m, &made, with, old != NULL ? 3 : 2);
}

/* The guard of the statement as a source; constants are no predicates, so that there is one only where it is guarded. */
static smk_operand guard_of(const mbarrier *m)
{
    smk_operand guard = REG(m->origin->instruction.guard);
    guard.negate = m->origin->instruction.guard_negate;
    return guard;
}

/* p = (a == b), and the guard of the statement: set in every lane. */
static smk_status compare(const mbarrier *m, smk_operand a, smk_operand b, smk_operand *p)
{
    uint32_t index = 0;
    smk_statement made;
    SMK_TRY(new_register(m, SMK_TYPE_PRED, &index));
    *p = REG(index);
    smk_expand_begin(m->parser, m->origin, SMK_OPCODE_SETP, &made);
    made.instruction.guarded = false;
    smk_expand_modifier(&made, SMK_MODIFIER_EQ);
    const bool guarded = m->origin->instruction.guarded;
    if (guarded) {
        smk_expand_modifier(&made, SMK_MODIFIER_AND);
    }
    smk_expand_type(&made, SMK_TYPE_U64);
    const smk_operand operands[] = {*p, a, b, guarded ? guard_of(m) : NUM(0)};
    return emit(m, &made, operands, guarded ? 4 : 3);
}

/* The missing arrivals of a phase that `count` arrivals complete, in the middle field. */
static smk_status missing_of(const mbarrier *m, smk_operand count, smk_operand *missing)
{
    smk_operand difference, masked;
    SMK_TRY(compute(m, SMK_OPCODE_SUB, SMK_TYPE_U64, NUM(0), count, &difference));
    SMK_TRY(compute(m, SMK_OPCODE_AND, SMK_TYPE_B64, difference, NUM(FIELD_MASK), &masked));
    return compute(m, SMK_OPCODE_SHL, SMK_TYPE_B64, masked, NUM(FIELD_BITS), missing);
}

static smk_status expand_init(const mbarrier *m)
{
    const smk_operand *operands = m->origin->instruction.operands;
    smk_operand count, missing, word;
    smk_statement made;
    SMK_TRY(widen(m, operands[1], &count));
    SMK_TRY(missing_of(m, count, &missing));
    SMK_TRY(compute(m, SMK_OPCODE_OR, SMK_TYPE_B64, missing, count, &word));
    smk_expand_begin(m->parser, m->origin, SMK_OPCODE_ST, &made);
    name_space(m, &made);
    smk_expand_type(&made, SMK_TYPE_B64);
    const smk_operand values[] = {operands[0], word};
    return emit(m, &made, values, 2);
}

/* `state` is where the word before goes; `count` arrivals, which no later phase expects where they drop out. */
static smk_status arrive(const mbarrier *m, smk_operand state, smk_operand address, smk_operand count)
{
    const bool drops = has(m, SMK_MODIFIER_ARRIVE_DROP);
    smk_operand arrivals, before, middle, after, full, expected;
    if (state.kind != SMK_OPERAND_REGISTER) {
        uint32_t index = 0;
        SMK_TRY(new_register(m, SMK_TYPE_B64, &index));
        state = REG(index);
    }
    SMK_TRY(widen(m, count, &count));
    SMK_TRY(compute(m, SMK_OPCODE_SHL, SMK_TYPE_B64, count, NUM(FIELD_BITS), &arrivals));
    if (drops) {
        SMK_TRY(compute(m, SMK_OPCODE_SUB, SMK_TYPE_U64, arrivals, count, &arrivals));
    }
    SMK_TRY(add(m, address, arrivals, &state, NULL));
    if (has(m, SMK_MODIFIER_NOCOMPLETE)) {
        return SMK_OK;
    }
    SMK_TRY(compute(m, SMK_OPCODE_SHR, SMK_TYPE_U64, state, NUM(FIELD_BITS), &before));
    SMK_TRY(compute(m, SMK_OPCODE_AND, SMK_TYPE_B64, before, NUM(FIELD_MASK), &middle));
    SMK_TRY(compute(m, SMK_OPCODE_ADD, SMK_TYPE_U64, middle, count, &after));
    SMK_TRY(compare(m, after, NUM(FIELD_MASK + 1), &full));
    SMK_TRY(compute(m, SMK_OPCODE_AND, SMK_TYPE_B64, state, NUM(FIELD_MASK), &expected));
    if (drops) {
        SMK_TRY(compute(m, SMK_OPCODE_SUB, SMK_TYPE_U64, expected, count, &expected));
    }
    SMK_TRY(missing_of(m, expected, &expected));
    return add(m, address, expected, NULL, &full);
}

/* A thread that is refused goes on later, since it usually tries again at once. */
static smk_status pause_unless(const mbarrier *m, smk_operand done)
{
    smk_statement made;
    const smk_operand time = NUM(PAUSE);
    if (m->origin->instruction.guarded) {
        return SMK_OK;
    }
    smk_expand_begin(m->parser, m->origin, SMK_OPCODE_NANOSLEEP, &made);
    made.instruction.guarded = made.instruction.guard_negate = true;
    made.instruction.guard = done.index;
    smk_expand_type(&made, SMK_TYPE_U32);
    return emit(m, &made, &time, 1);
}

/* test_wait and try_wait: has the phase of a state, or of a parity, been completed? */
static smk_status expand_test(const mbarrier *m)
{
    const smk_operand *operands = m->origin->instruction.operands;
    uint32_t word = 0;
    smk_operand phase, wanted = operands[2], odd;
    smk_statement made;
    SMK_TRY(new_register(m, SMK_TYPE_B64, &word));
    smk_expand_begin(m->parser, m->origin, SMK_OPCODE_LD, &made);
    smk_expand_modifier(&made, has(m, SMK_MODIFIER_RELAXED) ? SMK_MODIFIER_RELAXED : SMK_MODIFIER_ACQUIRE);
    smk_expand_modifier(&made, SMK_MODIFIER_CTA);
    name_space(m, &made);
    smk_expand_type(&made, SMK_TYPE_B64);
    const smk_operand load[] = {REG(word), operands[1]};
    SMK_TRY(emit(m, &made, load, 2));
    SMK_TRY(compute(m, SMK_OPCODE_SHR, SMK_TYPE_U64, REG(word), NUM(PHASE_BIT), &phase));
    if (has(m, SMK_MODIFIER_PARITY)) {
        SMK_TRY(widen(m, wanted, &wanted));
    } else {
        SMK_TRY(compute(m, SMK_OPCODE_SHR, SMK_TYPE_U64, wanted, NUM(PHASE_BIT), &wanted));
    }
    SMK_TRY(compute(m, SMK_OPCODE_XOR, SMK_TYPE_B64, phase, wanted, &odd));
    SMK_TRY(compute(m, SMK_OPCODE_AND, SMK_TYPE_B64, odd, NUM(1), &odd));
    smk_expand_begin(m->parser, m->origin, SMK_OPCODE_SETP, &made);
    smk_expand_modifier(&made, SMK_MODIFIER_EQ);
    smk_expand_type(&made, SMK_TYPE_U64);
    const smk_operand result[] = {operands[0], odd, NUM(1)};
    SMK_TRY(emit(m, &made, result, 3));
    return pause_unless(m, operands[0]);
}

static smk_status expand_pending(const mbarrier *m)
{
    const smk_operand *operands = m->origin->instruction.operands;
    smk_operand middle, missing;
    smk_statement made;
    SMK_TRY(compute(m, SMK_OPCODE_SHR, SMK_TYPE_U64, operands[1], NUM(FIELD_BITS), &middle));
    SMK_TRY(compute(m, SMK_OPCODE_SUB, SMK_TYPE_U64, NUM(0), middle, &missing));
    SMK_TRY(compute(m, SMK_OPCODE_AND, SMK_TYPE_B64, missing, NUM(FIELD_MASK), &missing));
    smk_expand_begin(m->parser, m->origin, SMK_OPCODE_CVT, &made);
    smk_expand_type(&made, SMK_TYPE_U32);
    smk_expand_type(&made, SMK_TYPE_U64);
    const smk_operand values[] = {operands[0], missing};
    return emit(m, &made, values, 2);
}

/* cp.async.mbarrier.arrive: the thread's copies complete here, which is as early as they may. Without .noinc the phase
 * expects the arrival in addition, so that nothing else changes. */
static smk_status expand_copies(const mbarrier *m)
{
    smk_statement made;
    const smk_operand none = {.kind = SMK_OPERAND_SINK};
    smk_expand_begin(m->parser, m->origin, SMK_OPCODE_CP, &made);
    smk_expand_modifier(&made, SMK_MODIFIER_ASYNC);
    smk_expand_modifier(&made, SMK_MODIFIER_WAIT_ALL);
    SMK_TRY(emit(m, &made, NULL, 0));
    return has(m, SMK_MODIFIER_NOINC) ? arrive(m, none, m->origin->instruction.operands[0], NUM(1)) : SMK_OK;
}

smk_status smk_expand_mbarrier(smk_parser *parser, const smk_statement *origin)
{
    const mbarrier m = {parser, origin};
    const smk_instruction *instruction = &origin->instruction;
    const smk_operand *operands = instruction->operands;
    if (instruction->opcode == SMK_OPCODE_CP) {
        return expand_copies(&m);
    }
    if (has(&m, SMK_MODIFIER_INIT)) {
        return expand_init(&m);
    }
    if (has(&m, SMK_MODIFIER_ARRIVE) || has(&m, SMK_MODIFIER_ARRIVE_DROP)) {
        return arrive(&m, operands[0], operands[1], instruction->operand_count > 2 ? operands[2] : NUM(1));
    }
    if (has(&m, SMK_MODIFIER_PENDING_COUNT)) {
        return expand_pending(&m);
    }
    parser->reorders = true; /* .inval leaves no instruction that uses its registers */
    return has(&m, SMK_MODIFIER_INVAL) ? SMK_OK : expand_test(&m);
}
