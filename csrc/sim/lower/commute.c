#include "sim/lower/commute.h"

#include "base/heap.h"
#include "ptx/bulk_form.h"
#include "ptx/opcode.h"
#include "sim/code/program.h"
#include "sim/exec/atomic.h"
#include "sim/lower/register_layout.h"

#include <string.h>

enum { UPDATES_MAX = 64, ADDRESS_BYTES = 8 };

typedef struct finder {
    smk_image *image;
    const smk_function *function;
    uint64_t *roots; /* by register of the function */
    /* of the present instruction */
    uint64_t read;
    bool changed;
} finder;

static bool is_update(const smk_instruction *instruction)
{
    bool global = instruction->space == SMK_SPACE_GLOBAL || instruction->space == SMK_SPACE_GENERIC;
    return (global && smk_opcode_class(instruction) == SMK_CLASS_ATOMIC) || smk_bulk_form_updates(instruction);
}

/* Updates of one kind commute with each other. */
static uint32_t kind_of(const smk_instruction *instruction)
{
    const smk_type type = (smk_type)instruction->type;
    const uint32_t operation = (uint32_t)smk_module_atomic(instruction), bits = smk_module_type_bits(type);
    switch (operation) {
    case SMK_MODIFIER_AND:
    case SMK_MODIFIER_OR:
    case SMK_MODIFIER_XOR:
        return operation;
    case SMK_MODIFIER_MIN:
    case SMK_MODIFIER_MAX:
        return operation | bits << 8 | (uint32_t)(smk_module_type_kind(type) == SMK_KIND_SIGNED) << 16;
    default: /* the width alone makes them differ */
        return operation | bits << 8;
    }
}

/* Roots of addresses --------------------------------------------------------------------------------------------- */

static uint64_t add_root(smk_image *image, smk_image_root root)
{
    for (uint32_t i = 0; i < image->root_count; i++) {
        const smk_image_root *known = &image->root[i];
        if (known->is_variable == root.is_variable && known->index == root.index && known->offset == root.offset) {
            return UINT64_C(1) << i;
        }
    }
    if (image->root_count == SMK_IMAGE_ROOTS_MAX) {
        return SMK_IMAGE_ANYWHERE;
    }
    image->root[image->root_count] = root;
    return UINT64_C(1) << image->root_count++;
}

/* The roots of a variable's address: none for shared and local memory. */
static uint64_t roots_of_variable(const finder *f, uint32_t index)
{
    const smk_module *module = f->image->module;
    if (index >= module->variable_count || module->variables[index].space != SMK_SPACE_GLOBAL) {
        return 0;
    }
    return add_root(f->image, (smk_image_root){.is_variable = true, .index = index});
}

/* The roots of a loaded value: a value of fewer than 64 bits is a number. */
static uint64_t roots_of_load(const finder *f, const smk_instruction *instruction)
{
    const smk_operand *from = &instruction->operands[1];
    const smk_module *module = f->image->module;
    if (smk_module_type_bits((smk_type)instruction->type) < 8 * ADDRESS_BYTES) {
        return 0;
    }
    bool named = instruction->space == SMK_SPACE_PARAM && from->kind == SMK_OPERAND_ADDRESS &&
                 from->base_kind == SMK_OPERAND_VARIABLE && from->index >= module->variable_count;
    uint32_t parameter = named ? from->index - module->variable_count : 0;
    if (!named || !f->function->is_entry || parameter >= f->function->parameter_count || from->offset < 0 ||
        instruction->vector > 1 || (uint64_t)from->offset + ADDRESS_BYTES > f->function->variables[parameter].bytes) {
        return SMK_IMAGE_ANYWHERE;
    }
    return add_root(f->image, (smk_image_root){.index = parameter, .offset = (uint64_t)from->offset});
}

static uint64_t roots_of_operand(const finder *f, const smk_operand *operand)
{
    uint64_t roots = 0;
    switch ((smk_operand_kind)operand->kind) {
    case SMK_OPERAND_REGISTER:
        return f->roots[operand->index];
    case SMK_OPERAND_VARIABLE:
        return roots_of_variable(f, operand->index);
    case SMK_OPERAND_ADDRESS:
        if (operand->base_kind == SMK_OPERAND_REGISTER) {
            return f->roots[operand->index];
        }
        return operand->base_kind == SMK_OPERAND_VARIABLE ? roots_of_variable(f, operand->index) : SMK_IMAGE_ANYWHERE;
    case SMK_OPERAND_LIST:
        for (uint32_t i = 0; i < operand->count; i++) {
            roots |= roots_of_operand(f, &operand->element[i]);
        }
        return roots;
    case SMK_OPERAND_NONE:
    case SMK_OPERAND_IMMEDIATE:
    case SMK_OPERAND_SPECIAL:
    case SMK_OPERAND_FUNCTION:
    case SMK_OPERAND_LABEL:
    case SMK_OPERAND_SINK:
        break;
    }
    return 0;
}

static void note_write(void *context, uint32_t index, bool writes)
{
    finder *f = context;
    if (writes && (f->roots[index] | f->read) != f->roots[index]) {
        f->roots[index] |= f->read;
        f->changed = true;
    }
}

static void pass(finder *f, const smk_instruction *instruction)
{
    smk_class class = smk_opcode_class(instruction);
    f->read = 0;
    if (class == SMK_CLASS_LOAD) {
        f->read = roots_of_load(f, instruction);
    } else if (class == SMK_CLASS_ATOMIC || class == SMK_CLASS_CALL) { /* results of functions are unknown */
        f->read = SMK_IMAGE_ANYWHERE;
    } else {
        for (unsigned i = instruction->result_count; i < instruction->operand_count; i++) {
            f->read |= roots_of_operand(f, &instruction->operands[i]);
        }
    }
    if (f->read != 0) {
        smk_register_layout_visit(instruction, note_write, f);
    }
}

static void follow(finder *f)
{
    for (f->changed = true; f->changed;) {
        f->changed = false;
        for (uint32_t i = 0; i < f->function->instruction_count; i++) {
            pass(f, &f->function->instructions[i]);
        }
    }
}

/* Updates --------------------------------------------------------------------------------------------------------- */

static void add_update(smk_image *image, uint32_t kind, uint64_t roots)
{
    for (uint32_t i = 0; i < image->update_count; i++) {
        if (image->update[i].kind == kind && image->update[i].roots == roots) {
            return;
        }
    }
    if (image->update_count == UPDATES_MAX) {
        image->ordered = true; /* far more than real kernels have */
        return;
    }
    image->update[image->update_count++] = (smk_image_update){kind, roots};
}

static void add_updates(finder *f)
{
    for (uint32_t i = 0; i < f->function->instruction_count; i++) {
        const smk_instruction *instruction = &f->function->instructions[i];
        if (is_update(instruction)) {
            const smk_operand *address = &instruction->operands[instruction->result_count];
            add_update(f->image, kind_of(instruction), roots_of_operand(f, address));
        }
    }
}

/* Is there more than one kind of updates? *registers becomes the number that the analysis needs. */
static bool has_kinds(const smk_image *image, uint32_t *registers)
{
    uint32_t kind = 0;
    bool found = false, several = false;
    *registers = 0;
    for (uint32_t k = 0; k < image->code_count; k++) {
        const smk_function *function = image->code[k]->function;
        *registers = function->register_count > *registers ? function->register_count : *registers;
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            if (is_update(&function->instructions[i])) {
                several = several || (found && kind != kind_of(&function->instructions[i]));
                kind = kind_of(&function->instructions[i]);
                found = true;
            }
        }
    }
    return several;
}

smk_status smk_commute_find(smk_image *image, smk_error *error)
{
    uint32_t registers = 0;
    if (image->ordered || !has_kinds(image, &registers)) {
        return SMK_OK;
    }
    finder f = {.image = image, .roots = smk_heap_allocate((size_t)registers + 1, sizeof *f.roots)};
    image->root = smk_arena_allocate(&image->arena, SMK_IMAGE_ROOTS_MAX, sizeof *image->root);
    image->update = smk_arena_allocate(&image->arena, UPDATES_MAX, sizeof *image->update);
    bool done = f.roots != NULL && image->root != NULL && image->update != NULL;
    for (uint32_t k = 0; done && k < image->code_count; k++) {
        f.function = image->code[k]->function;
        memset(f.roots, 0, f.function->register_count * sizeof *f.roots);
        if (!f.function->is_entry) { /* arguments in registers are unknown */
            for (uint32_t i = 0;
                 f.function->parameter_registers != NULL && i < f.function->result_count + f.function->parameter_count;
                 i++) {
                uint32_t reg = f.function->parameter_registers[i];
                if (reg != SMK_NO_INDEX) {
                    f.roots[reg] = SMK_IMAGE_ANYWHERE;
                }
            }
        }
        follow(&f);
        add_updates(&f);
    }
    smk_heap_free(f.roots);
    return done ? SMK_OK : smk_status_fail(error, SMK_MEMORY, "no memory to prepare a kernel");
}
