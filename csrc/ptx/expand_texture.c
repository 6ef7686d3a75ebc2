/* Instructions on textures that are short for several:
 *
 *   tex d, [T, {x, y}]           ld.const.b64 t, [T]; tex d, [t, {x, y}], of T that the module declares
 *   mov.u64 d, T                 ld.const.b64 d, [T]
 *   tex.v2.f16x2.f32 {d, e}, ..  tex.v4.f32.f32 {t, u, v, w}, ..; cvt.rn.f16x2.f32 d, u, t; cvt.rn.f16x2.f32 e, w, v
 *   tex.v4.f16.f32 likewise, with one cvt.rn.f16.f32 for each channel
 *   tex {a, b, c, d}|p, ..       tex {a, b, c, d}, ..; p = true, as every texel has memory behind it */
#include "ptx/expand.h"
#include "ptx/instruction.h"
#include "ptx/opcode.h"
#include "ptx/texel.h"

#include <string.h>

enum { CHANNELS = 4 };

static bool is_reference(const smk_parser *parser, const smk_operand *operand)
{
    return operand->kind == SMK_OPERAND_VARIABLE &&
           smk_texel_is_reference((smk_type)smk_parse_variable(parser, operand->index)->type);
}

/* ld.const.b64 target, [reference]; without the guard where nothing else reads the target. */
static smk_status push_load(smk_parser *parser, const smk_statement *origin, smk_operand target, uint32_t reference,
                            bool guarded)
{
    smk_statement made;
    smk_expand_begin(parser, origin, SMK_OPCODE_LD, &made);
    made.instruction.guarded = guarded && origin->instruction.guarded;
    smk_expand_modifier(&made, SMK_MODIFIER_CONST);
    smk_expand_type(&made, SMK_TYPE_B64);
    smk_expand_operand(&made, target);
    smk_expand_operand(
        &made, (smk_operand){.kind = SMK_OPERAND_ADDRESS, .base_kind = SMK_OPERAND_VARIABLE, .index = reference});
    return smk_expand_finish(parser, &made);
}

static smk_status load_references(smk_parser *parser, const smk_statement *origin, smk_operand *texel)
{
    for (uint32_t i = 0; texel->kind == SMK_OPERAND_LIST && texel->texel && i < texel->count; i++) {
        smk_operand *element = &texel->element[i];
        if (is_reference(parser, element)) {
            const uint32_t reference = element->index;
            uint32_t index = 0;
            SMK_TRY(smk_instruction_add_register(parser, smk_parse_variable(parser, reference)->name, SMK_TYPE_B64,
                                                 &index));
            *element = smk_expand_register(index);
            element->type = SMK_TYPE_B64;
            SMK_TRY(push_load(parser, origin, *element, reference, false));
        }
    }
    return SMK_OK;
}

/* The instruction with the result of four floats in new registers. */
static smk_status push_floats(smk_parser *parser, const smk_statement *origin, smk_operand floats[CHANNELS])
{
    const smk_instruction *instruction = &origin->instruction;
    smk_operand list = {.kind = SMK_OPERAND_LIST, .count = CHANNELS};
    bool first = true;
    smk_statement made;
    list.element = smk_arena_allocate(&parser->module->arena, CHANNELS, sizeof *list.element);
    if (list.element == NULL) {
        return smk_parse_memory(parser);
    }
    for (unsigned i = 0; i < CHANNELS; i++) {
        uint32_t index = 0;
        SMK_TRY(smk_instruction_add_register(parser, origin->opcode_at.text, SMK_TYPE_F32, &index));
        list.element[i] = floats[i] = smk_expand_register(index);
    }
    smk_expand_begin(parser, origin, (smk_opcode)instruction->opcode, &made);
    for (unsigned i = 0; i < instruction->word_count; i++) {
        const smk_word word = instruction->words[i];
        if (word.is_type) {
            smk_expand_type(&made, first ? SMK_TYPE_F32 : (smk_type)word.value);
            first = false;
        } else {
            smk_expand_modifier(&made, word.value == SMK_MODIFIER_V2 ? SMK_MODIFIER_V4 : (smk_modifier)word.value);
        }
    }
    smk_expand_operand(&made, list);
    for (unsigned i = 1; i < instruction->operand_count; i++) {
        smk_expand_operand(&made, instruction->operands[i]);
    }
    return smk_expand_finish(parser, &made);
}

/* Results of halves, one or two in each register. */
static smk_status expand_halves(smk_parser *parser, const smk_statement *origin)
{
    const smk_operand *results = &origin->instruction.operands[0];
    const smk_type type = (smk_type)origin->instruction.type;
    const unsigned each = type == SMK_TYPE_F16X2 ? 2 : 1;
    smk_operand floats[CHANNELS];
    SMK_TRY(push_floats(parser, origin, floats));
    for (unsigned i = 0; i < CHANNELS / each; i++) {
        smk_statement made;
        if (results->element[i].kind == SMK_OPERAND_SINK && each == 2) { /* as ptxas 13.0 has it */
            return smk_parse_fail(parser, &origin->operand_at[0], SMK_PTX,
                                  "tex takes no _ in place of a pair of halves (.f16x2)");
        }
        if (results->element[i].kind == SMK_OPERAND_SINK) {
            continue;
        }
        smk_expand_begin(parser, origin, SMK_OPCODE_CVT, &made);
        smk_expand_modifier(&made, SMK_MODIFIER_RN);
        smk_expand_type(&made, type);
        smk_expand_type(&made, SMK_TYPE_F32);
        smk_expand_operand(&made, results->element[i]);
        for (unsigned k = each; k-- > 0;) {
            smk_expand_operand(&made, floats[each * i + k]);
        }
        SMK_TRY(smk_expand_finish(parser, &made));
    }
    return SMK_OK;
}

/* setp.eq.u32 p, 0, 0; the predicate may be the guard, so that it is written last. */
static smk_status push_true(smk_parser *parser, const smk_statement *origin, smk_operand predicate)
{
    smk_statement made;
    smk_expand_begin(parser, origin, SMK_OPCODE_SETP, &made);
    smk_expand_modifier(&made, SMK_MODIFIER_EQ);
    smk_expand_type(&made, SMK_TYPE_U32);
    smk_expand_operand(&made, predicate);
    smk_expand_operand(&made, smk_expand_constant(0));
    smk_expand_operand(&made, smk_expand_constant(0));
    return smk_expand_finish(parser, &made);
}

smk_status smk_expand_texture(smk_parser *parser, smk_statement *statement, bool *done)
{
    smk_instruction *instruction = &statement->instruction;
    smk_operand *first = &instruction->operands[0];
    if (instruction->opcode == SMK_OPCODE_MOV) {
        *done = instruction->operand_count == 2 && is_reference(parser, &instruction->operands[1]);
        return *done ? push_load(parser, statement, *first, instruction->operands[1].index, true) : SMK_OK;
    }
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        SMK_TRY(load_references(parser, statement, &instruction->operands[i]));
    }
    smk_operand predicate = {.kind = SMK_OPERAND_SINK};
    if (first->kind == SMK_OPERAND_LIST && first->resident) {
        predicate = first->element[--first->count];
        first->resident = false;
    }
    const bool halves = instruction->type == SMK_TYPE_F16X2 || instruction->type == SMK_TYPE_F16;
    *done = halves || predicate.kind != SMK_OPERAND_SINK;
    if (*done) {
        SMK_TRY(halves ? expand_halves(parser, statement) : smk_expand_add(parser, instruction));
    }
    return predicate.kind != SMK_OPERAND_SINK ? push_true(parser, statement, predicate) : SMK_OK;
}
