#include "sim/ptxas/copy_size.h"

#include "base/heap.h"
#include "ptx/opcode.h"
#include "sim/ptxas/value_numbering.h"

#include <string.h>

/* By register: the only instruction that writes it, plus 1; 0: none yet; SMK_NO_INDEX: several. */
typedef struct definitions {
    uint32_t *of;
    uint32_t now;
} definitions;

static void note_write(void *context, uint32_t reg)
{
    definitions *d = context;
    d->of[reg] = d->of[reg] == 0 ? d->now + 1 : SMK_NO_INDEX;
}

static bool has_size_in_register(const smk_instruction *in)
{
    return smk_opcode_class(in) == SMK_CLASS_COPY && in->operand_count > 3 &&
           in->operands[3].kind == SMK_OPERAND_REGISTER && smk_module_type_bits((smk_type)in->operands[3].type) == 32;
}

static bool is_none_or_all(const smk_operand *operand, uint64_t bytes)
{
    return operand->kind == SMK_OPERAND_IMMEDIATE && (operand->bits == 0 || operand->bits == bytes);
}

static bool is_known(const smk_instruction *definition, uint64_t bytes)
{
    const smk_operand *operands = definition->operands;
    if (definition->guarded) {
        return false;
    }
    return (definition->opcode == SMK_OPCODE_MOV && operands[1].kind == SMK_OPERAND_IMMEDIATE) ||
           (definition->opcode == SMK_OPCODE_SELP && is_none_or_all(&operands[1], bytes) &&
            is_none_or_all(&operands[2], bytes));
}

smk_status smk_copy_size_plan(const smk_function *function, smk_fusion_access *plan, smk_error *error)
{
    const smk_instruction *instructions = function->instructions;
    uint32_t first = 0;
    while (first < function->instruction_count && !has_size_in_register(&instructions[first])) {
        first++;
    }
    if (first == function->instruction_count) {
        return SMK_OK;
    }
    definitions d = {.of = smk_heap_allocate((size_t)function->register_count + 1, sizeof *d.of)};
    if (d.of == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for the definitions of %u registers",
                               function->register_count);
    }
    for (d.now = 0; d.now < function->instruction_count; d.now++) {
        smk_value_numbering_visit_writes(&instructions[d.now], note_write, &d);
    }
    for (uint32_t i = first; i < function->instruction_count; i++) {
        const smk_instruction *in = &instructions[i];
        if (has_size_in_register(in)) {
            const uint32_t definition = d.of[in->operands[3].index];
            plan[i].zfill = definition == 0 || definition == SMK_NO_INDEX ||
                            !is_known(&instructions[definition - 1], in->operands[2].bits);
        }
    }
    smk_heap_free(d.of);
    return SMK_OK;
}
