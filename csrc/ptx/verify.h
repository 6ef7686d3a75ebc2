/* Types and counts of instructions against the forms of opcode.def; nobody outside csrc/ptx includes this. */
#ifndef SMK_PTX_VERIFY_H
#define SMK_PTX_VERIFY_H

#include "ptx/parse.h"

/* Judges an instruction whose words and operands are read, and fills what depends on the form: row, type,
 * source_type, space, vector, and type and bits of the operands. Errors: PTX, PTX_TYPE, UNSUPPORTED. */
smk_status smk_verify_instruction(smk_parser *parser, smk_statement *statement);

/* Everything but the words that come from a form: row, type, source_type, space, vector (verify.c). */
smk_status smk_verify_words(smk_parser *parser, smk_statement *statement);

/* One operand against one place of a form (operand.c). `apply` writes what it finds into the operand. */
typedef struct smk_operand_slot {
    char role;    /* d destination, s source, i immediate, m address, a register or address of a variable */
    bool sink;    /* a destination that may be _ */
    bool special; /* a source that may be a special register */
    bool relaxed; /* the register may be wider than the type */
    bool vector;  /* a list, where the instruction has .v2 .v4 .v8 */
    bool pair;    /* may be written d|p with a predicate behind the bar */
    bool must_pair;
    bool optional;
    unsigned count; /* of a list that has always so many; 0: no such list */
    smk_type type;
    smk_space space; /* of an address */
} smk_operand_slot;

smk_status smk_operand_check(smk_parser *parser, const smk_statement *statement, unsigned index,
                             const smk_operand_slot *slot, smk_operand *operand, bool apply);
smk_status smk_operand_check_mov(smk_parser *parser, smk_statement *statement, bool apply);

/* Can a register of type `have` stand where the instruction has `want`? */
bool smk_operand_fits(smk_type have, smk_type want, bool relaxed);

/* An immediate as it was written, in the width and format of `type`; false where it cannot be. */
bool smk_operand_convert(const smk_operand *operand, smk_type type, uint64_t *bits);

#endif
