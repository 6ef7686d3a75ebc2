/* Parts of a register that video instructions read or write: %r1.b2, %r1.h10. */
#ifndef SMK_PTX_PARTS_H
#define SMK_PTX_PARTS_H

#include "base/text.h"

#include <stdint.h>

/* The smk_operand.select that a word with its dot stands for; 0 where it names no parts. */
uint16_t smk_parts_read(smk_text word);

#endif
