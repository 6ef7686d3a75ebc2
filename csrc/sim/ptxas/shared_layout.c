#include "sim/ptxas/shared_layout.h"

#include "ptx/opcode.h"

enum { DYNAMIC_ALIGNMENT = 16 };

static bool is_dynamic(const smk_variable *variable)
{
    return variable->unsized || variable->is_extern;
}

static void add(const smk_variable *variable, uint32_t *shared_offset, uint64_t *end)
{
    if (variable->space == SMK_SPACE_SHARED && !is_dynamic(variable) && *shared_offset == 0 && *end < UINT32_MAX / 2 &&
        variable->bytes < UINT32_MAX / 2) {
        uint64_t alignment = variable->alignment == 0 ? 1 : variable->alignment;
        uint64_t start = (*end + alignment - 1) / alignment * alignment;
        *shared_offset = (uint32_t)start + 1;
        *end = start + variable->bytes;
    }
}

/* Module-scope variables are laid out in the order in which the code names them. Called functions could name others
 * before them, so with calls nothing is known. */
void smk_shared_layout_find(const smk_module *module, const smk_function *function, uint32_t *shared_offset)
{
    uint64_t end = 0;
    bool calls = !function->is_entry;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        calls = calls || smk_opcode_class(&function->instructions[i]) == SMK_CLASS_CALL;
    }
    if (calls) {
        return;
    }
    for (uint32_t i = 0; i < function->variable_count; i++) {
        add(&function->variables[i], &shared_offset[module->variable_count + i], &end);
    }
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const smk_instruction *in = &function->instructions[i];
        for (unsigned k = 0; k < in->operand_count; k++) {
            const smk_operand *operand = &in->operands[k];
            bool names = operand->kind == SMK_OPERAND_VARIABLE ||
                         (operand->kind == SMK_OPERAND_ADDRESS && operand->base_kind == SMK_OPERAND_VARIABLE);
            if (names && operand->index < module->variable_count) {
                add(&module->variables[operand->index], &shared_offset[operand->index], &end);
            }
        }
    }
    end = (end + DYNAMIC_ALIGNMENT - 1) / DYNAMIC_ALIGNMENT * DYNAMIC_ALIGNMENT;
    for (uint32_t i = 0; i < module->variable_count + function->variable_count; i++) {
        const smk_variable *variable = smk_module_variable(module, function, i);
        if (variable->space == SMK_SPACE_SHARED && is_dynamic(variable) && variable->alignment <= DYNAMIC_ALIGNMENT) {
            shared_offset[i] = (uint32_t)end + 1;
        }
    }
}
