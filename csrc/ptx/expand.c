/* Statements that are short for several instructions.
 *
 *   add.u32 d, a+4, b                  add.u32 t, a, 4; add.u32 d, t, b
 *   mov.v2.f32 {a, b}, {c, d}          mov.f32 a, c; mov.f32 b, d
 *   lop3.or.b32 d|p, a, b, c, 5, q     lop3.b32 d, a, b, c, 5; setp.ne.or.b32 p, d, 0, q
 *   ld.b128 q, [a]                     ld.v2.b64 {q.x, q.y}, [a], where the pair stands for q; st and mov likewise
 *   ld.v8.f32 {a, ... h}, [p]          ld.v4.b64 {s, t, u, v}, [p]; mov.b64 {a, b}, s; ...; st likewise
 *   mma of 8-bit floats                mma of the same numbers in f16 (expand_float8.c)
 *   mbarrier                           atomic operations on its word (expand_mbarrier.c)
 *   wmma.load, wmma.mma, wmma.store    loads, mma.sync and stores (expand_wmma.c)
 *   tex d, [T, {x, y}]                 ld.const.b64 t, [T]; tex d, [t, {x, y}] (expand_texture.c)
 *
 * t is a new register. After the parser there are plain instructions only, and each counts as one. */
#include "ptx/expand.h"
#include "ptx/instruction.h"
#include "ptx/opcode.h"
#include "ptx/verify.h"

#include "base/heap.h"

#include <string.h>

enum { WIDTH_MAX = 4 };

smk_status smk_expand_add(smk_parser *parser, const smk_instruction *instruction)
{
    smk_instruction *slot = smk_vector_push(&parser->instructions, sizeof *slot);
    if (slot == NULL) {
        return smk_parse_memory(parser);
    }
    *slot = *instruction;
    return SMK_OK;
}

/* Starts an instruction with the guard and the text position of `origin`. */
void smk_expand_begin(smk_parser *parser, const smk_statement *origin, smk_opcode opcode, smk_statement *made)
{
    parser->reorders = true;
    *made = *origin;
    made->instruction.opcode = (uint16_t)opcode;
    made->instruction.word_count = 0;
    made->instruction.operand_count = 0;
    memset(made->instruction.has, 0, sizeof made->instruction.has);
    memset(made->instruction.operands, 0, sizeof made->instruction.operands);
}

void smk_expand_type(smk_statement *made, smk_type type)
{
    made->instruction.words[made->instruction.word_count++] = (smk_word){true, (uint8_t)type};
}

void smk_expand_modifier(smk_statement *made, smk_modifier modifier)
{
    made->instruction.words[made->instruction.word_count++] = (smk_word){false, (uint8_t)modifier};
    made->instruction.has[modifier / 64] |= UINT64_C(1) << (modifier % 64);
}

void smk_expand_operand(smk_statement *made, smk_operand operand)
{
    made->instruction.operands[made->instruction.operand_count++] = operand;
}

smk_status smk_expand_finish(smk_parser *parser, smk_statement *made)
{
    parser->expands = true;
    smk_status status = smk_verify_instruction(parser, made);
    parser->expands = false;
    return status == SMK_OK ? smk_expand_add(parser, &made->instruction) : status;
}

smk_operand smk_expand_register(uint32_t index)
{
    return (smk_operand){.kind = SMK_OPERAND_REGISTER, .index = index};
}

smk_operand smk_expand_constant(int64_t value)
{
    return (smk_operand){.kind = SMK_OPERAND_IMMEDIATE, .type = SMK_TYPE_S64, .bits = (uint64_t)value};
}

static const smk_register *register_at(const smk_parser *parser, uint32_t index)
{
    return (const smk_register *)parser->registers.items + index;
}

/* The sum of a register and a constant, in a new register of the same type. It is computed without the guard, since no
 * other instruction reads it. */
static smk_status expand_sum(smk_parser *parser, const smk_statement *origin, smk_operand *operand)
{
    const smk_register base = *register_at(parser, operand->index);
    unsigned bits = smk_module_type_bits((smk_type)base.type);
    uint32_t sum = 0;
    SMK_TRY(smk_instruction_add_register(parser, base.name, (smk_type)base.type, &sum));
    smk_statement made;
    smk_expand_begin(parser, origin, SMK_OPCODE_ADD, &made);
    made.instruction.guarded = false;
    smk_expand_type(&made, bits == 16 ? SMK_TYPE_U16 : bits == 32 ? SMK_TYPE_U32 : SMK_TYPE_U64);
    smk_expand_operand(&made, smk_expand_register(sum));
    smk_expand_operand(&made, smk_expand_register(operand->index));
    smk_expand_operand(&made, smk_expand_constant(operand->offset));
    operand->index = sum;
    operand->offset = 0;
    return smk_expand_finish(parser, &made);
}

static smk_status push_move(smk_parser *parser, const smk_statement *origin, smk_operand to, smk_operand from)
{
    smk_statement made;
    smk_expand_begin(parser, origin, SMK_OPCODE_MOV, &made);
    smk_expand_type(&made, (smk_type)origin->instruction.type);
    smk_expand_operand(&made, to);
    smk_expand_operand(&made, from);
    return smk_expand_finish(parser, &made);
}

/* Does one of the moves write what a later one reads? */
static bool overlaps(const smk_operand *to, const smk_operand *from)
{
    for (uint32_t i = 0; i < to->count; i++) {
        for (uint32_t k = i + 1; k < from->count; k++) {
            if (to->element[i].kind == SMK_OPERAND_REGISTER && from->element[k].kind == SMK_OPERAND_REGISTER &&
                to->element[i].index == from->element[k].index) {
                return true;
            }
        }
    }
    return false;
}

static smk_status expand_move(smk_parser *parser, const smk_statement *origin)
{
    const smk_operand *to = &origin->instruction.operands[0];
    const smk_operand *from = &origin->instruction.operands[1];
    smk_operand sources[WIDTH_MAX];
    bool apart = overlaps(to, from);
    memcpy(sources, from->element, from->count * sizeof *sources);
    for (uint32_t i = 0; apart && i < from->count; i++) {
        if (sources[i].kind == SMK_OPERAND_REGISTER) {
            const smk_register base = *register_at(parser, sources[i].index);
            uint32_t copy = 0;
            SMK_TRY(smk_instruction_add_register(parser, base.name, (smk_type)base.type, &copy));
            SMK_TRY(push_move(parser, origin, smk_expand_register(copy), sources[i]));
            sources[i] = smk_expand_register(copy);
        }
    }
    for (uint32_t i = 0; i < to->count; i++) {
        if (to->element[i].kind == SMK_OPERAND_REGISTER) {
            SMK_TRY(push_move(parser, origin, to->element[i], sources[i]));
        }
    }
    return SMK_OK;
}

/* The predicate is (d != 0) combined with q. It is written last, since it may also be the guard. */
static smk_status expand_lookup(smk_parser *parser, const smk_statement *origin)
{
    const smk_instruction *instruction = &origin->instruction;
    smk_operand result = instruction->operands[0].element[0];
    bool is_and = smk_module_has(instruction, SMK_MODIFIER_AND);
    if (result.kind == SMK_OPERAND_SINK) {
        uint32_t index = 0;
        SMK_TRY(smk_instruction_add_register(parser, origin->opcode_at.text, SMK_TYPE_B32, &index));
        result = smk_expand_register(index);
    }
    smk_statement made;
    smk_expand_begin(parser, origin, SMK_OPCODE_LOP3, &made);
    smk_expand_type(&made, SMK_TYPE_B32);
    smk_expand_operand(&made, result);
    for (unsigned i = 1; i < 5; i++) {
        smk_expand_operand(&made, instruction->operands[i]);
    }
    SMK_TRY(smk_expand_finish(parser, &made));
    smk_expand_begin(parser, origin, SMK_OPCODE_SETP, &made);
    smk_expand_modifier(&made, SMK_MODIFIER_NE);
    smk_expand_modifier(&made, is_and ? SMK_MODIFIER_AND : SMK_MODIFIER_OR);
    smk_expand_type(&made, SMK_TYPE_B32);
    smk_expand_operand(&made, instruction->operands[0].element[1]);
    smk_expand_operand(&made, result);
    smk_expand_operand(&made, smk_expand_constant(0));
    smk_expand_operand(&made, instruction->operands[5]);
    return smk_expand_finish(parser, &made);
}

/* mov.b64 of a whole register to two halves in a list, or back. */
static smk_status push_halves(smk_parser *parser, const smk_statement *origin, const smk_operand *whole,
                              const smk_operand *halves, bool splits)
{
    smk_operand list = {.kind = SMK_OPERAND_LIST, .count = 2};
    smk_statement made;
    list.element = smk_arena_allocate(&parser->module->arena, 2, sizeof *halves);
    if (list.element == NULL) {
        return smk_parse_memory(parser);
    }
    memcpy(list.element, halves, 2 * sizeof *halves);
    smk_expand_begin(parser, origin, SMK_OPCODE_MOV, &made);
    smk_expand_type(&made, SMK_TYPE_B64);
    smk_expand_operand(&made, splits ? list : *whole);
    smk_expand_operand(&made, splits ? *whole : list);
    return smk_expand_finish(parser, &made);
}

/* A load, store or move of 128 bits is one of two registers of 64; a move may name four of 32. */
static smk_status expand_wide(smk_parser *parser, const smk_statement *origin)
{
    const smk_instruction *instruction = &origin->instruction;
    const smk_operand *to = &instruction->operands[0], *from = &instruction->operands[1];
    const bool moves = instruction->opcode == SMK_OPCODE_MOV;
    if (moves && (to->count == 4 || from->count == 4)) {
        const bool splits = to->count == 4;
        const smk_operand *whole = (splits ? from : to)->element, *parts = (splits ? to : from)->element;
        for (unsigned i = 0; i < 2; i++) {
            if (whole[i].kind != SMK_OPERAND_SINK) {
                SMK_TRY(push_halves(parser, origin, &whole[i], parts + 2 * i, splits));
            }
        }
        return SMK_OK;
    }
    smk_statement made;
    smk_expand_begin(parser, origin, (smk_opcode)instruction->opcode, &made);
    for (unsigned i = 0; i < instruction->word_count; i++) {
        const smk_word word = instruction->words[i];
        if (!word.is_type && word.value != SMK_MODIFIER_MMIO) { /* .mmio has no vectors; a pair is one access too */
            smk_expand_modifier(&made, (smk_modifier)word.value);
        }
    }
    smk_expand_modifier(&made, SMK_MODIFIER_V2);
    smk_expand_type(&made, SMK_TYPE_B64);
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        smk_expand_operand(&made, instruction->operands[i]);
    }
    if (!moves) {
        return smk_expand_finish(parser, &made);
    }
    parser->expands = true;
    smk_status status = smk_verify_instruction(parser, &made);
    parser->expands = false;
    return status == SMK_OK ? expand_move(parser, &made) : status;
}

/* A load or store of eight words is one of four registers of 64 bits. */
static smk_status expand_eight(smk_parser *parser, const smk_statement *origin)
{
    enum { PAIRS = 4 };
    const smk_instruction *instruction = &origin->instruction;
    const bool loads = instruction->opcode == SMK_OPCODE_LD;
    const smk_operand *words = instruction->operands[loads ? 0 : 1].element;
    smk_operand list = {.kind = SMK_OPERAND_LIST, .count = PAIRS};
    smk_statement made;
    list.element = smk_arena_allocate(&parser->module->arena, PAIRS, sizeof *list.element);
    if (list.element == NULL) {
        return smk_parse_memory(parser);
    }
    for (unsigned i = 0; i < PAIRS; i++) {
        uint32_t index = 0;
        SMK_TRY(smk_instruction_add_register(parser, origin->opcode_at.text, SMK_TYPE_B64, &index));
        list.element[i] = smk_expand_register(index);
        if (!loads) {
            SMK_TRY(push_halves(parser, origin, &list.element[i], words + 2 * i, false));
        }
    }
    smk_expand_begin(parser, origin, (smk_opcode)instruction->opcode, &made);
    for (unsigned i = 0; i < instruction->word_count; i++) {
        const smk_word word = instruction->words[i];
        if (!word.is_type) {
            smk_expand_modifier(&made, word.value == SMK_MODIFIER_V8 ? SMK_MODIFIER_V4 : (smk_modifier)word.value);
        }
    }
    smk_expand_type(&made, SMK_TYPE_B64);
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        smk_expand_operand(&made, i == (loads ? 0 : 1) ? list : instruction->operands[i]);
    }
    SMK_TRY(smk_expand_finish(parser, &made));
    for (unsigned i = 0; loads && i < PAIRS; i++) {
        SMK_TRY(push_halves(parser, origin, &made.instruction.operands[0].element[i], words + 2 * i, true));
    }
    return SMK_OK;
}

/* mapa and getctarank: a cluster has one block, so an address stays as it is, and lies in block 0. */
static smk_status expand_cluster(smk_parser *parser, const smk_statement *origin)
{
    const smk_instruction *instruction = &origin->instruction;
    const bool maps = instruction->opcode == SMK_OPCODE_MAPA;
    smk_statement made;
    smk_expand_begin(parser, origin, SMK_OPCODE_MOV, &made);
    smk_expand_type(&made, maps ? (smk_type)instruction->type : SMK_TYPE_U32);
    smk_expand_operand(&made, instruction->operands[0]);
    smk_expand_operand(&made, maps ? instruction->operands[1] : smk_expand_constant(0));
    return smk_expand_finish(parser, &made);
}

static bool is_float8_product(const smk_instruction *instruction)
{
    return instruction->opcode == SMK_OPCODE_MMA && instruction->operand_count == 4 &&
           (instruction->source_type == SMK_TYPE_E4M3 || instruction->source_type == SMK_TYPE_E5M2) &&
           !smk_module_has(instruction, SMK_MODIFIER_KIND_F8F6F4);
}

smk_status smk_expand_push(smk_parser *parser, const smk_statement *statement)
{
    smk_statement plain = *statement;
    smk_instruction *instruction = &plain.instruction;
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        smk_operand *operand = &instruction->operands[i];
        if (operand->kind == SMK_OPERAND_REGISTER && operand->offset != 0) {
            SMK_TRY(expand_sum(parser, statement, operand));
        }
    }
    if (instruction->type == SMK_TYPE_B128 && instruction->opcode != SMK_OPCODE_ATOM) {
        return expand_wide(parser, &plain);
    }
    if (instruction->vector == 8 && (instruction->opcode == SMK_OPCODE_LD || instruction->opcode == SMK_OPCODE_ST)) {
        return expand_eight(parser, &plain);
    }
    if (is_float8_product(instruction)) {
        return smk_expand_float8(parser, &plain);
    }
    if (instruction->opcode == SMK_OPCODE_MOV && instruction->vector > 1) {
        return expand_move(parser, &plain);
    }
    if (instruction->opcode == SMK_OPCODE_LOP3 && instruction->operands[0].kind == SMK_OPERAND_LIST) {
        return expand_lookup(parser, &plain);
    }
    if (instruction->opcode == SMK_OPCODE_MAPA || instruction->opcode == SMK_OPCODE_GETCTARANK) {
        return expand_cluster(parser, &plain);
    }
    const bool counts =
        smk_module_has(instruction, SMK_MODIFIER_COMPLETE_TX_BYTES) && instruction->opcode != SMK_OPCODE_CP;
    if (instruction->opcode == SMK_OPCODE_MBARRIER || smk_module_has(instruction, SMK_MODIFIER_MBARRIER) || counts) {
        return smk_expand_mbarrier(parser, &plain);
    }
    if (smk_opcode_class(instruction) == SMK_CLASS_TEXTURE || instruction->opcode == SMK_OPCODE_MOV) {
        bool done = false;
        SMK_TRY(smk_expand_texture(parser, &plain, &done));
        if (done) {
            return SMK_OK;
        }
    }
    if (instruction->opcode == SMK_OPCODE_WMMA) {
        return smk_expand_wmma(parser, &plain);
    }
    return smk_expand_add(parser, instruction);
}

/* A renumbering of registers. */
typedef struct numbering {
    uint32_t *number; /* by old number; SMK_NO_INDEX: not numbered yet */
    uint32_t count;
} numbering;

static void number_register(numbering *n, uint32_t *index)
{
    if (n->number[*index] == SMK_NO_INDEX) {
        n->number[*index] = n->count++;
    }
    *index = n->number[*index];
}

static void number_operand(numbering *n, smk_operand *operand)
{
    bool is_register = operand->kind == SMK_OPERAND_REGISTER ||
                       (operand->kind == SMK_OPERAND_ADDRESS && operand->base_kind == SMK_OPERAND_REGISTER);
    if (is_register) {
        number_register(n, &operand->index);
    }
    for (uint32_t i = 0; operand->kind == SMK_OPERAND_LIST && i < operand->count; i++) {
        number_operand(n, &operand->element[i]); /* lists do not nest */
    }
}

static void number_instructions(smk_parser *parser, numbering *n)
{
    smk_instruction *instructions = parser->instructions.items;
    for (size_t i = 0; i < parser->instructions.count; i++) {
        if (instructions[i].guarded) {
            number_register(n, &instructions[i].guard);
        }
        for (unsigned k = 0; k < instructions[i].operand_count; k++) {
            number_operand(n, &instructions[i].operands[k]);
        }
    }
}

smk_status smk_expand_number(smk_parser *parser)
{
    size_t count = parser->registers.count;
    smk_register *ordered = smk_heap_allocate(count, sizeof *ordered);
    numbering n = {smk_heap_allocate(count, sizeof *n.number), parser->parameter_registers};
    if (ordered == NULL || n.number == NULL) {
        smk_heap_free(ordered);
        smk_heap_free(n.number);
        return smk_parse_memory(parser);
    }
    for (uint32_t i = 0; i < count; i++) {
        n.number[i] = i < parser->parameter_registers ? i : SMK_NO_INDEX;
    }
    number_instructions(parser, &n);
    smk_register *registers = parser->registers.items;
    for (size_t i = 0; i < count; i++) {
        if (n.number[i] != SMK_NO_INDEX) {
            ordered[n.number[i]] = registers[i];
        }
    }
    memcpy(registers, ordered, n.count * sizeof *ordered);
    parser->registers.count = n.count;
    smk_heap_free(ordered);
    smk_heap_free(n.number);
    return SMK_OK;
}
