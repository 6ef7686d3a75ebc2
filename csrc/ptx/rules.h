/* Rules that no form of opcode.def expresses: words that do not stand together, words that need others, and constants
 * whose limits depend on the instruction; private to csrc/ptx. */
#ifndef SMK_PTX_RULES_H
#define SMK_PTX_RULES_H

#include "ptx/parse.h"

/* Checks an instruction that fits its form. Errors: PTX. */
smk_status smk_rules_check(smk_parser *parser, const smk_statement *statement);

/* The opcode with all its words. */
smk_text smk_rules_words(const smk_statement *statement);

/* The error that an instruction needs another .target. */
smk_status smk_rules_need_target(smk_parser *parser, const smk_statement *statement, unsigned least);

#endif
