#include "ptx/texel.h"

#include "ptx/instruction.h"

#include <string.h>

enum { COORDINATES_MAX = 4 };

/* A list of the elements of two. */
static smk_status join(smk_parser *parser, const smk_operand *before, uint32_t count, smk_operand *operand)
{
    smk_operand *all = smk_arena_allocate(&parser->module->arena, (size_t)operand->count + count, sizeof *all);
    if (all == NULL) {
        return smk_parse_memory(parser);
    }
    memcpy(all, before, count * sizeof *all);
    for (uint32_t i = 0; i < operand->count; i++) {
        all[i + count] = operand->element[i];
    }
    operand->kind = SMK_OPERAND_LIST;
    operand->element = all;
    operand->count += count;
    return SMK_OK;
}

smk_status smk_texel_parse(smk_parser *parser, const smk_operand *object, smk_operand *operand)
{
    smk_operand before[2] = {*object};
    uint32_t count = 1;
    bool braces = true;
    SMK_TRY(smk_parse_next(parser));
    if (!smk_parse_at(parser, '{')) {
        SMK_TRY(smk_instruction_parse_scalar(parser, &before[1]));
        SMK_TRY(smk_parse_accept(parser, ',', &braces));
        count = 2;
    }
    memset(operand, 0, sizeof *operand);
    if (braces && !smk_parse_at(parser, '{')) {
        return smk_parse_unexpected(parser, "coordinates in braces");
    }
    if (braces) {
        SMK_TRY(smk_instruction_parse_list(parser, '}', operand));
    }
    SMK_TRY(join(parser, before, count, operand));
    operand->texel = true;
    operand->sampled = braces && count == 2;
    return smk_parse_expect(parser, ']');
}

smk_status smk_texel_parse_residency(smk_parser *parser, smk_operand *operand)
{
    bool written = false;
    SMK_TRY(smk_parse_accept(parser, '|', &written));
    if (!written) {
        return SMK_OK;
    }
    const smk_operand results = *operand;
    memset(operand, 0, sizeof *operand);
    operand->element = smk_arena_allocate(&parser->module->arena, 1, sizeof *operand->element);
    if (operand->element == NULL) {
        return smk_parse_memory(parser);
    }
    operand->count = 1;
    SMK_TRY(smk_instruction_parse_scalar(parser, operand->element));
    SMK_TRY(join(parser, results.element, results.count, operand));
    operand->resident = true;
    return SMK_OK;
}

bool smk_texel_is_reference(smk_type type)
{
    return type == SMK_TYPE_TEXREF || type == SMK_TYPE_SAMPLERREF || type == SMK_TYPE_SURFREF;
}

/* An object: a register, or a variable that is one. */
static smk_status check_object(smk_parser *parser, const smk_statement *statement, unsigned index, smk_operand *operand,
                               bool apply)
{
    const smk_operand_slot slot = {.role = 's', .type = SMK_TYPE_B64};
    if (operand->kind == SMK_OPERAND_VARIABLE && operand->offset == 0 &&
        smk_texel_is_reference((smk_type)smk_parse_variable(parser, operand->index)->type)) {
        operand->type = apply ? SMK_TYPE_B64 : operand->type;
        return SMK_OK;
    }
    return smk_operand_check_scalar(parser, statement, index, &slot, operand, apply);
}

/* [object] */
static smk_status check_alone(smk_parser *parser, const smk_statement *statement, unsigned index, smk_operand *operand,
                              bool apply)
{
    smk_operand object = *operand;
    const bool good = operand->kind == SMK_OPERAND_ADDRESS && operand->offset == 0;
    if (!good && !(operand->kind == SMK_OPERAND_LIST && operand->texel && operand->count == 1)) {
        return smk_parse_fail(parser, &statement->operand_at[index], SMK_PTX,
                              "operand %u must be a texture or surface in brackets, found '%.*s'", index + 1,
                              SMK_TEXT_PRINT(statement->operand_at[index].text));
    }
    if (!good) { /* it has been applied before */
        return check_object(parser, statement, index, &operand->element[0], apply);
    }
    object.kind = object.base_kind;
    SMK_TRY(check_object(parser, statement, index, &object, apply));
    if (apply) {
        memset(operand, 0, sizeof *operand);
        SMK_TRY(join(parser, &object, 1, operand));
        operand->texel = true;
    }
    return SMK_OK;
}

smk_status smk_texel_check(smk_parser *parser, const smk_statement *statement, unsigned index,
                           const smk_operand_slot *slot, smk_operand *operand, bool apply)
{
    const smk_token *at = &statement->operand_at[index];
    const smk_operand_slot layer = {.role = 's', .type = SMK_TYPE_B32};
    const smk_operand_slot coordinate = {.role = 's', .type = slot->type};
    const uint32_t objects = operand->sampled ? 2 : 1, needed = objects + slot->count;
    if (slot->count == 0) {
        return check_alone(parser, statement, index, operand, apply);
    }
    if (operand->kind != SMK_OPERAND_LIST || !operand->texel || operand->count < needed ||
        operand->count > objects + COORDINATES_MAX || operand->count == objects + COORDINATES_MAX - 1) {
        return smk_parse_fail(parser, at, SMK_PTX,
                              "operand %u must be a texture or surface with a list of %u coordinates, found '%.*s'",
                              index + 1, slot->count, SMK_TEXT_PRINT(at->text));
    }
    for (uint32_t i = 0; i < objects; i++) {
        SMK_TRY(check_object(parser, statement, index, &operand->element[i], apply));
    }
    for (uint32_t i = objects; i < operand->count; i++) {
        const smk_operand_slot *own = i == objects && slot->layered ? &layer : &coordinate;
        SMK_TRY(smk_operand_check_scalar(parser, statement, index, own, &operand->element[i], apply));
    }
    operand->count = apply ? needed : operand->count; /* nothing reads what stands behind */
    return SMK_OK;
}

smk_status smk_texel_check_resident(smk_parser *parser, const smk_statement *statement, unsigned index,
                                    const smk_operand_slot *slot, smk_operand *operand, bool apply)
{
    const smk_operand_slot predicate = {.role = 'd', .type = SMK_TYPE_PRED, .sink = true};
    smk_operand_slot element = *slot;
    element.sink = true;
    if (operand->count != slot->count + 1) {
        return smk_parse_fail(parser, &statement->operand_at[index], SMK_PTX,
                              "operand %u must be a list of %u in braces and a predicate, found '%.*s'", index + 1,
                              slot->count, SMK_TEXT_PRINT(statement->operand_at[index].text));
    }
    for (uint32_t i = 0; i < slot->count; i++) {
        SMK_TRY(smk_operand_check_scalar(parser, statement, index, &element, &operand->element[i], apply));
    }
    return smk_operand_check_scalar(parser, statement, index, &predicate, &operand->element[slot->count], apply);
}
