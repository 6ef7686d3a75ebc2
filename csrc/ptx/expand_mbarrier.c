/* mbarrier in atomic operations on its word (mbarrier.h). A state is the word before an arrival: its phase is complete
 * when the number of phases has another parity. Arrivals release and tests acquire, as the statement says. */
#include "ptx/expand.h"
#include "ptx/instruction.h"
#include "ptx/mbarrier.h"

#include <string.h>

enum { PAUSE = 20 };

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

/* Does the operation release nothing? The bytes of st.async and red.async always do. */
static bool is_relaxed(const mbarrier *m)
{
    return m->origin->instruction.opcode == SMK_OPCODE_MBARRIER &&
           (has(m, SMK_MODIFIER_RELAXED) || has(m, SMK_MODIFIER_COMPLETE_TX));
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
    smk_expand_modifier(&made, old == NULL || is_relaxed(m) ? SMK_MODIFIER_RELAXED : SMK_MODIFIER_RELEASE);
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
    smk_operand arrivals, difference, masked;
    SMK_TRY(compute(m, SMK_OPCODE_SHL, SMK_TYPE_B64, count, NUM(SMK_MBARRIER_BYTES_BITS), &arrivals));
    SMK_TRY(compute(m, SMK_OPCODE_SUB, SMK_TYPE_U64, NUM(0), arrivals, &difference));
    SMK_TRY(compute(m, SMK_OPCODE_AND, SMK_TYPE_B64, difference, NUM(SMK_MBARRIER_MISSING_MASK), &masked));
    return compute(m, SMK_OPCODE_SHL, SMK_TYPE_B64, masked, NUM(SMK_MBARRIER_COUNT_BITS), missing);
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

/* Adds `change` to what the phase has of arrivals and bytes, and completes the phase where nothing is missing any more.
 * `state` is where the word before goes. `dropped` arrivals are expected of no later phase; constant 0: none. */
static smk_status advance(const mbarrier *m, smk_operand state, smk_operand address, smk_operand change,
                          smk_operand dropped)
{
    const bool drops = dropped.kind != SMK_OPERAND_IMMEDIATE || dropped.bits != 0;
    smk_operand added, before, middle, after, full, expected;
    if (state.kind != SMK_OPERAND_REGISTER) {
        uint32_t index = 0;
        SMK_TRY(new_register(m, SMK_TYPE_B64, &index));
        state = REG(index);
    }
    SMK_TRY(compute(m, SMK_OPCODE_SHL, SMK_TYPE_B64, change, NUM(SMK_MBARRIER_COUNT_BITS), &added));
    if (drops) {
        SMK_TRY(compute(m, SMK_OPCODE_SUB, SMK_TYPE_U64, added, dropped, &added));
    }
    SMK_TRY(add(m, address, added, &state, NULL));
    if (has(m, SMK_MODIFIER_NOCOMPLETE)) {
        return SMK_OK;
    }
    SMK_TRY(compute(m, SMK_OPCODE_SHR, SMK_TYPE_U64, state, NUM(SMK_MBARRIER_COUNT_BITS), &before));
    SMK_TRY(compute(m, SMK_OPCODE_AND, SMK_TYPE_B64, before, NUM(SMK_MBARRIER_MISSING_MASK), &middle));
    SMK_TRY(compute(m, SMK_OPCODE_ADD, SMK_TYPE_U64, middle, change, &after));
    SMK_TRY(compare(m, after, NUM(SMK_MBARRIER_MISSING_MASK + 1), &full));
    SMK_TRY(compute(m, SMK_OPCODE_AND, SMK_TYPE_B64, state, NUM(SMK_MBARRIER_COUNT_MASK), &expected));
    if (drops) {
        SMK_TRY(compute(m, SMK_OPCODE_SUB, SMK_TYPE_U64, expected, dropped, &expected));
    }
    SMK_TRY(missing_of(m, expected, &expected));
    return add(m, address, expected, NULL, &full);
}

/* `count` arrivals, and `bytes` that copies are expected to write. */
static smk_status arrive(const mbarrier *m, smk_operand state, smk_operand address, smk_operand count,
                         smk_operand bytes)
{
    smk_operand change;
    SMK_TRY(widen(m, count, &count));
    SMK_TRY(widen(m, bytes, &bytes));
    SMK_TRY(compute(m, SMK_OPCODE_SHL, SMK_TYPE_B64, count, NUM(SMK_MBARRIER_BYTES_BITS), &change));
    if (bytes.kind != SMK_OPERAND_IMMEDIATE || bytes.bits != 0) {
        SMK_TRY(compute(m, SMK_OPCODE_SUB, SMK_TYPE_U64, change, bytes, &change));
    }
    return advance(m, state, address, change, has(m, SMK_MODIFIER_ARRIVE_DROP) ? count : NUM(0));
}

/* expect_tx adds to the missing bytes and completes no phase. complete_tx takes bytes off them, as a copy does. */
static smk_status expand_bytes(const mbarrier *m)
{
    const smk_operand *operands = m->origin->instruction.operands;
    const smk_operand none = {.kind = SMK_OPERAND_SINK};
    smk_operand bytes, change;
    SMK_TRY(widen(m, operands[1], &bytes));
    if (has(m, SMK_MODIFIER_COMPLETE_TX)) {
        return advance(m, none, operands[0], bytes, NUM(0));
    }
    SMK_TRY(compute(m, SMK_OPCODE_SUB, SMK_TYPE_U64, NUM(0), bytes, &change));
    SMK_TRY(compute(m, SMK_OPCODE_SHL, SMK_TYPE_B64, change, NUM(SMK_MBARRIER_COUNT_BITS), &change));
    return add(m, operands[0], change, NULL, NULL);
}

/* p = the phase of a state, or of a parity, has been completed; *refused = lanes for which it has not */
static smk_status look(const mbarrier *m, smk_operand *refused)
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
    SMK_TRY(compute(m, SMK_OPCODE_SHR, SMK_TYPE_U64, REG(word), NUM(SMK_MBARRIER_PHASE_BIT), &phase));
    if (has(m, SMK_MODIFIER_PARITY)) {
        SMK_TRY(widen(m, wanted, &wanted));
    } else {
        SMK_TRY(compute(m, SMK_OPCODE_SHR, SMK_TYPE_U64, wanted, NUM(SMK_MBARRIER_PHASE_BIT), &wanted));
    }
    SMK_TRY(compute(m, SMK_OPCODE_XOR, SMK_TYPE_B64, phase, wanted, &odd));
    SMK_TRY(compute(m, SMK_OPCODE_AND, SMK_TYPE_B64, odd, NUM(1), &odd));
    SMK_TRY(compare(m, odd, NUM(0), refused)); /* before p is written, which may be the guard */
    smk_expand_begin(m->parser, m->origin, SMK_OPCODE_SETP, &made);
    smk_expand_modifier(&made, SMK_MODIFIER_EQ);
    smk_expand_type(&made, SMK_TYPE_U64);
    const smk_operand result[] = {operands[0], odd, NUM(1)};
    return emit(m, &made, result, 3);
}

/* test_wait and try_wait. A thread that is refused goes on later, since it usually tries again at once; while it waits,
 * copies to shared memory are completed. try_wait may wait: it looks once more before it gives up. */
static smk_status expand_test(const mbarrier *m)
{
    smk_operand refused;
    smk_statement made;
    const smk_operand time = NUM(PAUSE);
    SMK_TRY(look(m, &refused));
    smk_statement later = *m->origin;
    later.instruction.guarded = true;
    later.instruction.guard_negate = false;
    later.instruction.guard = refused.index;
    smk_expand_begin(m->parser, &later, SMK_OPCODE_NANOSLEEP, &made);
    smk_expand_type(&made, SMK_TYPE_U32);
    SMK_TRY(emit(m, &made, &time, 1));
    const mbarrier again = {m->parser, &later};
    return has(m, SMK_MODIFIER_TRY_WAIT) ? look(&again, &refused) : SMK_OK;
}

static smk_status expand_pending(const mbarrier *m)
{
    const smk_operand *operands = m->origin->instruction.operands;
    smk_operand middle, missing;
    smk_statement made;
    SMK_TRY(compute(m, SMK_OPCODE_SHR, SMK_TYPE_U64, operands[1], NUM(SMK_MBARRIER_COUNT_BITS), &middle));
    SMK_TRY(compute(m, SMK_OPCODE_SUB, SMK_TYPE_U64, NUM(INT64_C(1) << SMK_MBARRIER_COUNT_BITS), middle, &missing));
    SMK_TRY(compute(m, SMK_OPCODE_AND, SMK_TYPE_B64, missing, NUM(SMK_MBARRIER_MISSING_MASK), &missing));
    SMK_TRY(compute(m, SMK_OPCODE_SHR, SMK_TYPE_U64, missing, NUM(SMK_MBARRIER_BYTES_BITS), &missing));
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
    return has(m, SMK_MODIFIER_NOINC) ? arrive(m, none, m->origin->instruction.operands[0], NUM(1), NUM(0)) : SMK_OK;
}

/* st.async and red.async: an access that is made at once, as early as it may, and bytes that the mbarrier counts. */
static smk_status expand_access(const mbarrier *m)
{
    const smk_instruction *instruction = &m->origin->instruction;
    const smk_operand none = {.kind = SMK_OPERAND_SINK};
    const unsigned bytes = smk_module_type_bits((smk_type)instruction->type) / 8 * instruction->vector;
    smk_statement made;
    smk_expand_begin(m->parser, m->origin, (smk_opcode)instruction->opcode, &made);
    for (unsigned i = 0; i < instruction->word_count; i++) {
        const smk_word word = instruction->words[i];
        if (!word.is_type && word.value != SMK_MODIFIER_ASYNC && word.value != SMK_MODIFIER_COMPLETE_TX_BYTES) {
            smk_expand_modifier(&made, (smk_modifier)word.value);
        }
    }
    smk_expand_type(&made, (smk_type)instruction->type);
    SMK_TRY(emit(m, &made, instruction->operands, 2));
    return advance(m, none, instruction->operands[2], NUM(bytes), NUM(0));
}

smk_status smk_expand_mbarrier(smk_parser *parser, const smk_statement *origin)
{
    const mbarrier m = {parser, origin};
    const smk_instruction *instruction = &origin->instruction;
    const smk_operand *operands = instruction->operands;
    if (instruction->opcode == SMK_OPCODE_CP) {
        return expand_copies(&m);
    }
    if (instruction->opcode != SMK_OPCODE_MBARRIER) {
        return expand_access(&m);
    }
    if (has(&m, SMK_MODIFIER_INIT)) {
        return expand_init(&m);
    }
    if (has(&m, SMK_MODIFIER_ARRIVE) || has(&m, SMK_MODIFIER_ARRIVE_DROP)) {
        const smk_operand number = instruction->operand_count > 2 ? operands[2] : NUM(1);
        return has(&m, SMK_MODIFIER_EXPECT_TX) ? arrive(&m, operands[0], operands[1], NUM(1), number)
                                               : arrive(&m, operands[0], operands[1], number, NUM(0));
    }
    if (has(&m, SMK_MODIFIER_EXPECT_TX) || has(&m, SMK_MODIFIER_COMPLETE_TX)) {
        return expand_bytes(&m);
    }
    if (has(&m, SMK_MODIFIER_PENDING_COUNT)) {
        return expand_pending(&m);
    }
    parser->reorders = true; /* .inval leaves no instruction that uses its registers */
    return has(&m, SMK_MODIFIER_INVAL) ? SMK_OK : expand_test(&m);
}
