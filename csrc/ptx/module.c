#include "ptx/module.h"

#include "base/heap.h"

#include <inttypes.h>
#include <string.h>

_Static_assert(SMK_MODIFIER_COUNT <= 4 * 64, "smk_instruction.has is too small");
_Static_assert(SMK_TYPE_COUNT <= 256 && SMK_MODIFIER_COUNT <= 256, "smk_word.value is too small");

static const struct {
    const char *name;
    unsigned bits;
    smk_type_kind kind;
} types[SMK_TYPE_COUNT] = {
    {"none", 0, SMK_KIND_NONE},
#define SMK_PTX_TYPE(id, spelling, bits, kind) {spelling, bits, SMK_KIND_##kind},
#include "ptx/type.def"
#undef SMK_PTX_TYPE
};

static const char *const modifiers[] = {
#define SMK_PTX_MODIFIER(id, spelling) spelling,
#include "ptx/modifier.def"
#undef SMK_PTX_MODIFIER
};

static const struct {
    const char *name;
    unsigned bits;
} specials[] = {
#define SMK_PTX_SPECIAL(id, spelling, bits) {spelling, bits},
#include "ptx/special.def"
#undef SMK_PTX_SPECIAL
};

static const char *const opcodes[] = {
    "none",
#define SMK_PTX_OPCODE(id, spelling, class, meaning) spelling,
#include "ptx/opcode.def"
};

unsigned smk_module_type_bits(smk_type type)
{
    return types[type].bits;
}

smk_type_kind smk_module_type_kind(smk_type type)
{
    return types[type].kind;
}

const char *smk_module_type_name(smk_type type)
{
    return types[type].name;
}

const char *smk_module_modifier_name(smk_modifier modifier)
{
    return modifiers[modifier];
}

const char *smk_module_opcode_name(smk_opcode opcode)
{
    return opcodes[opcode];
}

const char *smk_module_special_name(smk_special special)
{
    return specials[special].name;
}

unsigned smk_module_special_bits(smk_special special)
{
    return specials[special].bits;
}

bool smk_module_has(const smk_instruction *instruction, smk_modifier modifier)
{
    return instruction->has[modifier / 64] >> (modifier % 64) & 1;
}

uint32_t smk_module_find_entry(const smk_module *module, const char *name)
{
    smk_text wanted = {name, strlen(name)};
    uint32_t low = 0, high = module->entry_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (smk_text_compare(module->functions[module->entries[middle]].name, wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < module->entry_count && smk_text_equal(module->functions[module->entries[low]].name, wanted);
    return found ? module->entries[low] : SMK_NO_INDEX;
}

smk_modifier smk_module_atomic(const smk_instruction *instruction)
{
    static const smk_modifier operations[] = {
        SMK_MODIFIER_CAS, SMK_MODIFIER_EXCH, SMK_MODIFIER_ADD, SMK_MODIFIER_MIN, SMK_MODIFIER_MAX,
        SMK_MODIFIER_INC, SMK_MODIFIER_DEC,  SMK_MODIFIER_AND, SMK_MODIFIER_OR,  SMK_MODIFIER_XOR,
    };
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (smk_module_has(instruction, operations[i])) {
            return operations[i];
        }
    }
    return SMK_MODIFIER_COUNT;
}

const smk_variable *smk_module_variable(const smk_module *module, const smk_function *function, smk_variable_ref index)
{
    if (index < module->variable_count) {
        return &module->variables[index];
    }
    return &function->variables[index - module->variable_count];
}

void smk_module_free(smk_module *module)
{
    if (module != NULL) {
        smk_arena_free(&module->arena);
        smk_heap_free(module);
    }
}

smk_status smk_module_check_block(const smk_function *function, smk_dim3 block, smk_error *error)
{
    const smk_dim3 most = function->maxntid, exact = function->reqntid;
    const uint64_t layer = (uint64_t)block.x * block.y;
    const uint64_t threads = layer > UINT32_MAX ? layer : layer * block.z; /* 2^32 and more are too many in any case */
    const uint64_t bound = (uint64_t)most.x * most.y * most.z;
    if (most.x != 0 && threads > bound) {
        return smk_status_fail(error, SMK_LAUNCH,
                               "a block of %" PRIu64 " threads is more than the %" PRIu64
                               " that the kernel was compiled for (.maxntid)",
                               threads, bound);
    }
    if (exact.x != 0 && (exact.x != block.x || exact.y != block.y || exact.z != block.z)) {
        return smk_status_fail(
            error, SMK_LAUNCH,
            "a block of (%u, %u, %u) threads is not the (%u, %u, %u) that the kernel requires (.reqntid)", block.x,
            block.y, block.z, exact.x, exact.y, exact.z);
    }
    return SMK_OK;
}
