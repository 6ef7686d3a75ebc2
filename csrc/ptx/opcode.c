#include "ptx/opcode.h"

const uint8_t smk_opcode_classes[SMK_OPCODE_COUNT] = {
#define SMK_PTX_OPCODE(id, spelling, class, meaning) [SMK_OPCODE_##id] = SMK_CLASS_##class,
#include "ptx/opcode.def"
};
