/* Lowers instructions on textures and surfaces. */
#include "sim/exec/texture_access.h"
#include "sim/lower/lowering.h"

/* Modifiers that name a shape of textures or surfaces, or how they are read, and the flags of it. */
static const struct shape {
    smk_modifier word;
    uint32_t flags;
} shapes[] = {
    {SMK_MODIFIER_TEX_1D, 1},
    {SMK_MODIFIER_TEX_2D, 2},
    {SMK_MODIFIER_TEX_3D, 3},
    {SMK_MODIFIER_TEX_A1D, 1 | SMK_TEXTURE_LAYERED},
    {SMK_MODIFIER_TEX_A2D, 2 | SMK_TEXTURE_LAYERED},
    {SMK_MODIFIER_TEX_CUBE, 3 | SMK_TEXTURE_CUBE},
    {SMK_MODIFIER_TEX_ACUBE, 3 | SMK_TEXTURE_CUBE | SMK_TEXTURE_LAYERED},
    {SMK_MODIFIER_TEX_2DMS, 2},
    {SMK_MODIFIER_TEX_A2DMS, 2 | SMK_TEXTURE_LAYERED},
    {SMK_MODIFIER_LEVEL, SMK_TEXTURE_LEVELED},
    {SMK_MODIFIER_GRAD, SMK_TEXTURE_GRADED},
    {SMK_MODIFIER_FORMATTED, SMK_TEXTURE_FORMATTED},
};

static uint32_t find_shape(const smk_instruction *instruction)
{
    uint32_t flags =
        instruction->opcode == SMK_OPCODE_TEX && instruction->source_type == SMK_TYPE_S32 ? SMK_TEXTURE_WHOLE : 0;
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        flags |= smk_module_has(instruction, shapes[i].word) ? shapes[i].flags : 0;
    }
    return flags;
}

/* What a question asks, the channel of a gather, what a surface does outside, or the operation of a reduction above it. */
static uint32_t find_slot(const smk_instruction *instruction)
{
    switch (instruction->opcode) {
    case SMK_OPCODE_TXQ:
    case SMK_OPCODE_SUQ:
        for (unsigned i = 0; i < instruction->word_count; i++) {
            const smk_word word = instruction->words[i];
            if (!word.is_type && word.value != SMK_MODIFIER_LEVEL) {
                return word.value;
            }
        }
        return SMK_MODIFIER_COUNT;
    case SMK_OPCODE_TLD4:
        return smk_module_has(instruction, SMK_MODIFIER_R)   ? 0
               : smk_module_has(instruction, SMK_MODIFIER_G) ? 1
               : smk_module_has(instruction, SMK_MODIFIER_B) ? 2
                                                             : 3;
    default: /* a surface, or tex, which has none */
        return smk_module_has(instruction, SMK_MODIFIER_TRAP)    ? (uint32_t)SMK_SURFACE_TRAP
               : smk_module_has(instruction, SMK_MODIFIER_CLAMP) ? (uint32_t)SMK_SURFACE_CLAMP
                                                                 : (uint32_t)SMK_SURFACE_ZERO;
    }
}

static smk_handler find_handler(const smk_instruction *instruction)
{
    switch (instruction->opcode) {
    case SMK_OPCODE_TLD4:
        return smk_texture_access_gather;
    case SMK_OPCODE_SULD:
        return smk_surface_access_load;
    case SMK_OPCODE_SUST:
        return smk_surface_access_store;
    case SMK_OPCODE_SURED:
        return smk_surface_access_reduce;
    case SMK_OPCODE_TXQ:
    case SMK_OPCODE_SUQ:
        return smk_texture_access_ask;
    default: /* tex */
        return smk_texture_access_read;
    }
}

/* The rows of the values, all of one width. */
static unsigned lower_values(smk_lowering *lowering, const smk_operand *operand, uint32_t *rows)
{
    const bool list = operand->kind == SMK_OPERAND_LIST;
    unsigned bits = smk_operation_row_bits((smk_type)lowering->instruction->type);
    for (uint32_t i = 0; i < (list ? operand->count : 1); i++) {
        const smk_operand *element = list ? &operand->element[i] : operand;
        if (element->kind == SMK_OPERAND_REGISTER) {
            bits = smk_operation_row_bits((smk_type)lowering->function->registers[element->index].type);
        }
    }
    for (uint32_t i = 0; i < (list ? operand->count : 1); i++) {
        const smk_operand *element = list ? &operand->element[i] : operand;
        unsigned storage = bits;
        rows[i] = element->kind == SMK_OPERAND_SINK ? smk_lower_scratch(lowering, bits)
                  : element->kind == SMK_OPERAND_IMMEDIATE
                      ? smk_constant_rows_value(lowering->constant_rows, bits, element->bits)
                      : smk_lower_row(lowering, element, bits, &storage);
        if (storage != bits) {
            (void)smk_lower_fail(lowering, SMK_PTX_TYPE, "values of one access in registers of %u and %u bits", bits,
                                 storage);
        }
    }
    return bits;
}

/* Rows of one operand, a list or one element. */
static void lower_list(smk_lowering *lowering, const smk_operand *operand, uint32_t *rows)
{
    const bool list = operand->kind == SMK_OPERAND_LIST;
    for (uint32_t i = 0; i < (list ? operand->count : 1); i++) {
        rows[i] = smk_lower_row(lowering, list ? &operand->element[i] : operand, 32, NULL);
    }
}

/* The rows of the object, of a sampler, and of coordinates. */
static uint32_t lower_texel(smk_lowering *lowering, const smk_operand *texel, uint32_t *rows)
{
    const uint32_t objects = texel->sampled ? 2 : 1;
    const bool samples = smk_module_has(lowering->instruction, SMK_MODIFIER_TEX_2DMS) ||
                         smk_module_has(lowering->instruction, SMK_MODIFIER_TEX_A2DMS);
    for (uint32_t i = 0; i < objects; i++) {
        rows[SMK_TEXTURE_OBJECT + i] = smk_lower_row(lowering, &texel->element[i], 64, NULL);
    }
    for (uint32_t i = objects + (samples ? 1 : 0); i < texel->count; i++) {
        rows[SMK_TEXTURE_COORDINATE + i - objects - (samples ? 1 : 0)] =
            smk_lower_row(lowering, &texel->element[i], 32, NULL);
    }
    return texel->sampled ? SMK_TEXTURE_SAMPLED : 0;
}

/* The operands behind the texel: a level or two gradients, and an offset. The flag of the offset. */
static uint32_t lower_rest(smk_lowering *lowering, unsigned next, uint32_t *rows)
{
    const smk_instruction *instruction = lowering->instruction;
    if (smk_module_has(instruction, SMK_MODIFIER_LEVEL)) {
        lower_list(lowering, &instruction->operands[next++], rows + SMK_TEXTURE_LEVEL);
    }
    if (smk_module_has(instruction, SMK_MODIFIER_GRAD)) {
        lower_list(lowering, &instruction->operands[next++], rows + SMK_TEXTURE_GRADIENT);
        lower_list(lowering, &instruction->operands[next++], rows + SMK_TEXTURE_GRADIENT + 4);
    }
    if (next >= instruction->operand_count || instruction->operands[next].kind != SMK_OPERAND_LIST) {
        return 0; /* a depth is ignored */
    }
    lower_list(lowering, &instruction->operands[next], rows + SMK_TEXTURE_OFFSET);
    return SMK_TEXTURE_MOVED;
}

/* istypep: objects say what they are by a bit. */
static bool lower_kind(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    const uint32_t a = smk_lower_row(lowering, &instruction->operands[1], 64, NULL);
    const uint32_t d = smk_lower_row(lowering, &instruction->operands[0], 1, NULL);
    smk_operation *op = smk_lower_emit(lowering, smk_texture_access_is_kind);
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    op->a = a;
    op->d = d;
    op->slot = instruction->type == SMK_TYPE_TEXREF ? 61 : instruction->type == SMK_TYPE_SAMPLERREF ? 62 : 63;
    return true;
}

bool smk_lower_texture(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    const bool store = instruction->opcode == SMK_OPCODE_SUST || instruction->opcode == SMK_OPCODE_SURED;
    smk_detail *detail = smk_arena_allocate(lowering->arena, 1, sizeof *detail);
    uint32_t *rows = smk_arena_allocate(lowering->arena, SMK_TEXTURE_ROWS, sizeof *rows);
    if (instruction->opcode == SMK_OPCODE_ISTYPEP) {
        return lower_kind(lowering);
    }
    if (detail == NULL || rows == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
    }
    uint32_t flags = lower_texel(lowering, &instruction->operands[store ? 0 : 1], rows);
    const unsigned bits = lower_values(lowering, &instruction->operands[store ? 1 : 0], rows + SMK_TEXTURE_VALUE);
    flags |= store ? 0 : lower_rest(lowering, 2, rows);
    smk_operation *op = smk_lower_emit(lowering, find_handler(instruction));
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    detail->rows = rows;
    detail->bytes = smk_module_type_bits((smk_type)instruction->type) / 8;
    detail->row = instruction->opcode == SMK_OPCODE_SURED ? (uint32_t)smk_module_atomic(instruction)
                                                          : instruction->opcode == SMK_OPCODE_SUQ;
    op->count = instruction->vector;
    op->d2 = bits;
    op->element = find_shape(instruction) | flags;
    op->slot = find_slot(instruction);
    op->d = instruction->opcode == SMK_OPCODE_SURED ? instruction->type : 0;
    op->u.detail = detail;
    return true;
}
