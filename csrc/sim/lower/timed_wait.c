#include "sim/lower/timed_wait.h"

#include "ptx/opcode.h"

#include <stdbool.h>

enum { LOOP_MAX = 64 }; /* instructions of a loop */

/* Does an instruction neither see nor change what others see or change? */
static bool is_private(const smk_instruction *in)
{
    switch (smk_opcode_class(in)) {
    case SMK_CLASS_ALU:
    case SMK_CLASS_BRANCH:
    case SMK_CLASS_PAUSE:
    case SMK_CLASS_HINT:
        return true;
    case SMK_CLASS_LOAD:
        return in->space == SMK_SPACE_PARAM || in->space == SMK_SPACE_CONST;
    case SMK_CLASS_ADDRESS:
    case SMK_CLASS_STORE:
    case SMK_CLASS_ATOMIC:
    case SMK_CLASS_TEXTURE:
    case SMK_CLASS_COPY:
    case SMK_CLASS_MATRIX:
    case SMK_CLASS_EXCHANGE:
    case SMK_CLASS_BARRIER:
    case SMK_CLASS_FENCE:
    case SMK_CLASS_CALL:
    case SMK_CLASS_END:
        break;
    }
    return false;
}

uint32_t smk_timed_wait_find(const smk_function *function, uint32_t instruction)
{
    const uint32_t count = function->instruction_count;
    for (uint32_t i = instruction; i < count && i - instruction < LOOP_MAX; i++) {
        const smk_instruction *in = &function->instructions[i];
        if (!is_private(in)) {
            return SMK_NO_INDEX;
        }
        if (smk_opcode_class(in) != SMK_CLASS_BRANCH || in->operands[0].kind != SMK_OPERAND_LABEL) {
            continue;
        }
        const uint32_t begin = function->labels[in->operands[0].index].target;
        if (begin > instruction || i - begin >= LOOP_MAX) {
            continue;
        }
        bool private = true;
        for (uint32_t k = begin; k < instruction && private; k++) {
            private = is_private(&function->instructions[k]);
        }
        return private ? begin : SMK_NO_INDEX;
    }
    return SMK_NO_INDEX;
}
