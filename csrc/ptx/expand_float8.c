/* mma of 8-bit floats, the way ptxas assembles it for sm_90: every number as f16, exactly, in two products. A register
 * holds four numbers that are neighbours in k. The first product has the two low ones of every register, the second
 * adds those of the two high ones, and c is added last. */
#include "ptx/expand.h"
#include "ptx/instruction.h"

#include <string.h>

enum { REGISTERS_MAX = 4 };

typedef struct float8 {
    smk_parser *parser;
    const smk_statement *origin;
} float8;

static smk_status new_register(const float8 *f, smk_type type, smk_operand *made)
{
    uint32_t index = 0;
    SMK_TRY(smk_instruction_add_register(f->parser, f->origin->opcode_at.text, type, &index));
    *made = smk_expand_register(index);
    return SMK_OK;
}

static smk_status make_list(const float8 *f, const smk_operand *values, unsigned count, smk_operand *list)
{
    *list = (smk_operand){.kind = SMK_OPERAND_LIST, .count = count};
    list->element = smk_arena_allocate(&f->parser->module->arena, count, sizeof *values);
    if (list->element == NULL) {
        return smk_parse_memory(f->parser);
    }
    memcpy(list->element, values, count * sizeof *values);
    return SMK_OK;
}

static smk_status emit(const float8 *f, smk_statement *made, const smk_operand *operands, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        smk_expand_operand(made, operands[i]);
    }
    return smk_expand_finish(f->parser, made);
}

/* The numbers of a register of `type` as f16: the two low ones in halves[0], the two high ones in halves[1]. */
static smk_status widen(const float8 *f, smk_operand source, smk_type type, smk_operand halves[2])
{
    smk_operand parts[2], list;
    smk_statement made;
    SMK_TRY(new_register(f, SMK_TYPE_B16, &parts[0]));
    SMK_TRY(new_register(f, SMK_TYPE_B16, &parts[1]));
    SMK_TRY(make_list(f, parts, 2, &list));
    const smk_operand unpack[] = {list, source};
    smk_expand_begin(f->parser, f->origin, SMK_OPCODE_MOV, &made);
    smk_expand_type(&made, SMK_TYPE_B32);
    SMK_TRY(emit(f, &made, unpack, 2));
    for (unsigned i = 0; i < 2; i++) {
        SMK_TRY(new_register(f, SMK_TYPE_B32, &halves[i]));
        const smk_operand convert[] = {halves[i], parts[i]};
        smk_expand_begin(f->parser, f->origin, SMK_OPCODE_CVT, &made);
        smk_expand_modifier(&made, SMK_MODIFIER_RN);
        smk_expand_type(&made, SMK_TYPE_F16X2);
        smk_expand_type(&made, type);
        SMK_TRY(emit(f, &made, convert, 2));
    }
    return SMK_OK;
}

/* A whole list of registers: those of the first product in [0], of the second in [1]. */
static smk_status widen_list(const float8 *f, const smk_operand *list, smk_type type, smk_operand lists[2])
{
    smk_operand first[REGISTERS_MAX], second[REGISTERS_MAX];
    for (unsigned i = 0; i < list->count; i++) {
        smk_operand halves[2];
        SMK_TRY(widen(f, list->element[i], type, halves));
        first[i] = halves[0];
        second[i] = halves[1];
    }
    SMK_TRY(make_list(f, first, list->count, &lists[0]));
    return make_list(f, second, list->count, &lists[1]);
}

/* sum = a b + sum, in registers of their own; an instruction owns its lists */
static smk_status multiply(const float8 *f, smk_operand a, smk_operand b, const smk_operand *sums, unsigned count,
                           smk_type type)
{
    smk_operand lists[2];
    SMK_TRY(make_list(f, sums, count, &lists[0]));
    SMK_TRY(make_list(f, sums, count, &lists[1]));
    const smk_modifier words[] = {SMK_MODIFIER_SYNC, SMK_MODIFIER_ALIGNED,
                                  a.count == 4 ? SMK_MODIFIER_M16N8K16 : SMK_MODIFIER_M16N8K8, SMK_MODIFIER_ROW,
                                  SMK_MODIFIER_COL};
    const smk_type types[] = {type, SMK_TYPE_F16, SMK_TYPE_F16, type};
    const smk_operand operands[] = {lists[0], a, b, lists[1]};
    smk_statement made;
    smk_expand_begin(f->parser, f->origin, SMK_OPCODE_MMA, &made);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        smk_expand_modifier(&made, words[i]);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        smk_expand_type(&made, types[i]);
    }
    return emit(f, &made, operands, 4);
}

/* d = c + sum */
static smk_status add_sums(const float8 *f, const smk_operand *d, const smk_operand *c, const smk_operand *sums,
                           smk_type type)
{
    for (unsigned i = 0; i < d->count; i++) {
        smk_statement made;
        const smk_operand operands[] = {d->element[i], c->element[i], sums[i]};
        if (operands[0].kind == SMK_OPERAND_SINK) {
            continue;
        }
        smk_expand_begin(f->parser, f->origin, SMK_OPCODE_ADD, &made);
        smk_expand_modifier(&made, SMK_MODIFIER_RN);
        smk_expand_type(&made, type == SMK_TYPE_F16 ? SMK_TYPE_F16X2 : type);
        SMK_TRY(emit(f, &made, operands, 3));
    }
    return SMK_OK;
}

static smk_type pair_type(uint8_t type)
{
    return type == SMK_TYPE_E4M3 ? SMK_TYPE_E4M3X2 : SMK_TYPE_E5M2X2;
}

smk_status smk_expand_float8(smk_parser *parser, const smk_statement *origin)
{
    const float8 f = {parser, origin};
    const smk_operand *operands = origin->instruction.operands;
    smk_operand sums[REGISTERS_MAX], a[2], b[2];
    uint8_t types[4] = {0};
    for (unsigned i = 0, count = 0; i < origin->instruction.word_count; i++) {
        if (origin->instruction.words[i].is_type) {
            types[count++] = origin->instruction.words[i].value;
        }
    }
    const smk_type type = (smk_type)types[0];
    for (unsigned i = 0; i < operands[0].count; i++) {
        smk_statement made;
        SMK_TRY(new_register(&f, SMK_TYPE_B32, &sums[i]));
        const smk_operand clear[] = {sums[i], smk_expand_constant(0)};
        smk_expand_begin(parser, origin, SMK_OPCODE_MOV, &made);
        smk_expand_type(&made, SMK_TYPE_B32);
        SMK_TRY(emit(&f, &made, clear, 2));
    }
    SMK_TRY(widen_list(&f, &operands[1], pair_type(types[1]), a));
    SMK_TRY(widen_list(&f, &operands[2], pair_type(types[2]), b));
    for (unsigned i = 0; i < 2; i++) {
        SMK_TRY(multiply(&f, a[i], b[i], sums, operands[0].count, type));
    }
    return add_sums(&f, &operands[0], &operands[3], sums, type);
}
