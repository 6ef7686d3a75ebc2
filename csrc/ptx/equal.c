/* Are two modules the same program? Names inside functions and positions in the text do not count. */
#include "ptx/module.h"

#include <string.h>

static bool same_operand(const smk_operand *a, const smk_operand *b)
{
    bool same = a->kind == b->kind && a->base_kind == b->base_kind && a->negate == b->negate && a->pair == b->pair &&
                a->texel == b->texel && a->sampled == b->sampled && a->type == b->type && a->select == b->select &&
                a->index == b->index && a->count == b->count && a->offset == b->offset && a->bits == b->bits;
    for (uint32_t i = 0; same && i < a->count; i++) {
        same = same_operand(&a->element[i], &b->element[i]);
    }
    return same;
}

static bool same_instruction(const smk_instruction *a, const smk_instruction *b)
{
    bool same = a->opcode == b->opcode && a->row == b->row && a->word_count == b->word_count &&
                a->operand_count == b->operand_count && a->type == b->type && a->source_type == b->source_type &&
                a->space == b->space && a->vector == b->vector && a->guarded == b->guarded &&
                a->guard_negate == b->guard_negate && a->guard == b->guard && a->source_file == b->source_file &&
                a->source_line == b->source_line && memcmp(a->has, b->has, sizeof a->has) == 0;
    for (unsigned i = 0; same && i < a->word_count; i++) {
        same = a->words[i].is_type == b->words[i].is_type && a->words[i].value == b->words[i].value;
    }
    for (unsigned i = 0; same && i < a->operand_count; i++) {
        same = same_operand(&a->operands[i], &b->operands[i]);
    }
    return same;
}

static bool same_relocation(const smk_relocation *a, const smk_relocation *b)
{
    return a->offset == b->offset && a->bytes == b->bytes && a->is_function == b->is_function &&
           a->is_generic == b->is_generic && a->index == b->index && a->addend == b->addend;
}

static bool same_variable(const smk_variable *a, const smk_variable *b)
{
    bool same = a->space == b->space && a->type == b->type && a->is_extern == b->is_extern &&
                a->unsized == b->unsized && a->by_pointer == b->by_pointer && a->is_managed == b->is_managed &&
                a->alignment == b->alignment && a->bytes == b->bytes &&
                (a->initializer == NULL) == (b->initializer == NULL) && a->relocation_count == b->relocation_count;
    if (same && a->initializer != NULL && a->bytes != 0) {
        same = memcmp(a->initializer, b->initializer, (size_t)a->bytes) == 0;
    }
    for (uint32_t i = 0; same && i < a->relocation_count; i++) {
        same = same_relocation(&a->relocations[i], &b->relocations[i]);
    }
    return same;
}

static bool same_label(const smk_label *a, const smk_label *b)
{
    bool same = a->target == b->target && a->table_count == b->table_count && a->of_functions == b->of_functions &&
                a->prototype == b->prototype;
    for (uint32_t i = 0; same && i < a->table_count; i++) {
        same = a->table[i] == b->table[i];
    }
    return same;
}

static bool same_size(smk_dim3 a, smk_dim3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static bool same_head(const smk_function *a, const smk_function *b)
{
    return (a->is_prototype || smk_text_equal(a->name, b->name)) && a->is_entry == b->is_entry &&
           a->is_defined == b->is_defined && a->is_prototype == b->is_prototype && a->is_noreturn == b->is_noreturn &&
           same_size(a->maxntid, b->maxntid) && same_size(a->reqntid, b->reqntid) &&
           a->minnctapersm == b->minnctapersm && a->register_count == b->register_count &&
           a->variable_count == b->variable_count && a->result_count == b->result_count &&
           a->parameter_count == b->parameter_count && a->label_count == b->label_count &&
           a->instruction_count == b->instruction_count;
}

static bool same_function(const smk_function *a, const smk_function *b)
{
    bool same = same_head(a, b);
    for (uint32_t i = 0; same && i < a->register_count; i++) {
        same = a->registers[i].type == b->registers[i].type;
    }
    for (uint32_t i = 0; same && i < a->variable_count; i++) {
        same =
            same_variable(&a->variables[i], &b->variables[i]) && a->parameter_registers[i] == b->parameter_registers[i];
    }
    for (uint32_t i = 0; same && i < a->label_count; i++) {
        same = same_label(&a->labels[i], &b->labels[i]);
    }
    for (uint32_t i = 0; same && i < a->instruction_count; i++) {
        same = same_instruction(&a->instructions[i], &b->instructions[i]);
    }
    return same;
}

bool smk_equal_modules(const smk_module *a, const smk_module *b)
{
    bool same = a->version_major == b->version_major && a->version_minor == b->version_minor &&
                a->target == b->target && a->file_count == b->file_count && a->variable_count == b->variable_count &&
                a->function_count == b->function_count;
    for (uint32_t i = 0; same && i < a->file_count; i++) {
        same = smk_text_equal(a->files[i], b->files[i]);
    }
    for (uint32_t i = 0; same && i < a->variable_count; i++) {
        same = smk_text_equal(a->variables[i].name, b->variables[i].name) &&
               same_variable(&a->variables[i], &b->variables[i]);
    }
    for (uint32_t i = 0; same && i < a->function_count; i++) {
        same = same_function(&a->functions[i], &b->functions[i]);
    }
    return same;
}
