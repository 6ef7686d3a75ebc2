/* Lowers tex, tld4, suld and sust. */
#include "sim/exec/texture_access.h"
#include "sim/lower/lowering.h"

/* Modifiers that name a shape of textures or surfaces, and the flags of it. */
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
};

static uint32_t find_shape(const smk_instruction *instruction)
{
    uint32_t flags = instruction->source_type == SMK_TYPE_S32 ? SMK_TEXTURE_WHOLE : 0;
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        flags |= smk_module_has(instruction, shapes[i].word) ? shapes[i].flags : 0;
    }
    return flags;
}

static uint32_t find_slot(const smk_instruction *instruction)
{
    if (instruction->opcode == SMK_OPCODE_TLD4) {
        return smk_module_has(instruction, SMK_MODIFIER_R)   ? 0
               : smk_module_has(instruction, SMK_MODIFIER_G) ? 1
               : smk_module_has(instruction, SMK_MODIFIER_B) ? 2
                                                             : 3;
    }
    return smk_module_has(instruction, SMK_MODIFIER_TRAP)    ? (uint32_t)SMK_SURFACE_TRAP
           : smk_module_has(instruction, SMK_MODIFIER_CLAMP) ? (uint32_t)SMK_SURFACE_CLAMP
                                                             : (uint32_t)SMK_SURFACE_ZERO;
}

static smk_handler find_handler(const smk_instruction *instruction)
{
    switch (instruction->opcode) {
    case SMK_OPCODE_TLD4:
        return smk_texture_access_gather;
    case SMK_OPCODE_SULD:
        return smk_texture_access_load;
    case SMK_OPCODE_SUST:
        return smk_texture_access_store;
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

bool smk_lower_texture(smk_lowering *lowering)
{
    const smk_instruction *instruction = lowering->instruction;
    const bool store = instruction->opcode == SMK_OPCODE_SUST;
    const smk_operand *texel = &instruction->operands[store ? 0 : 1];
    smk_detail *detail = smk_arena_allocate(lowering->arena, 1, sizeof *detail);
    uint32_t *rows =
        smk_arena_allocate(lowering->arena, 1 + SMK_TEXTURE_COORDINATES + SMK_TEXTURE_VALUES, sizeof *rows);
    if (detail == NULL || rows == NULL) {
        return smk_lower_fail(lowering, SMK_MEMORY, "no memory to lower a function");
    }
    for (uint32_t i = 0; i < texel->count; i++) {
        rows[i] = smk_lower_row(lowering, &texel->element[i], i == 0 ? 64 : 32, NULL);
    }
    const unsigned bits =
        lower_values(lowering, &instruction->operands[store ? 1 : 0], rows + 1 + SMK_TEXTURE_COORDINATES);
    smk_operation *op = smk_lower_emit(lowering, find_handler(instruction));
    if (op == NULL || lowering->status != SMK_OK) {
        return false;
    }
    detail->rows = rows;
    detail->bytes = smk_module_type_bits((smk_type)instruction->type) / 8;
    op->count = instruction->vector;
    op->d2 = bits;
    op->element = find_shape(instruction);
    op->slot = find_slot(instruction);
    op->u.detail = detail;
    return true;
}
