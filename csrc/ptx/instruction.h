/* Parts of the instruction parser that call.c uses, too; private to csrc/ptx. */
#ifndef SMK_PTX_INSTRUCTION_H
#define SMK_PTX_INSTRUCTION_H

#include "ptx/parse.h"

smk_status smk_instruction_parse_operand(smk_parser *parser, smk_operand *operand);

/* One operand without braces, brackets or bars. */
smk_status smk_instruction_parse_scalar(smk_parser *parser, smk_operand *operand);

/* Operands up to the mark `close`; the present token is the mark that opens the list. */
smk_status smk_instruction_parse_list(smk_parser *parser, unsigned close, smk_operand *operand);

/* The name of a table or prototype that stands before this line. */
smk_status smk_instruction_parse_table(smk_parser *parser, smk_operand *operand);

/* Records a name that must be a label when its scope ends. */
smk_status smk_instruction_add_pending(smk_parser *parser, const smk_token *name, bool in_table, uint32_t index,
                                       uint32_t slot);

/* A register of the function that is being parsed. */
smk_status smk_instruction_add_register(smk_parser *parser, smk_text name, smk_type type, uint32_t *index);

/* expand.c: adds the instruction, or those that it stands for, to the function. */
smk_status smk_expand_push(smk_parser *parser, const smk_statement *statement);

/* Numbers the registers of the body in the order of their first use, as if the printed module were parsed again. */
smk_status smk_expand_number(smk_parser *parser);

/* Does a range of the present scope cover this name? */
bool smk_instruction_is_in_range(const smk_parser *parser, smk_text name);

#endif
