/* Verifies instructions against the forms of opcode.def; private to csrc/ptx. */
#ifndef SMK_PTX_VERIFY_H
#define SMK_PTX_VERIFY_H

#include "ptx/parse.h"

/* Verifies a parsed instruction and fills what depends on its form: row, type, source_type, space, vector, and type
 * and bits of the operands. Errors: PTX, PTX_TYPE, UNSUPPORTED. */
smk_status smk_verify_instruction(smk_parser *parser, smk_statement *statement);

/* Fills row, type, source_type, space and vector of an instruction by its words alone. */
smk_status smk_verify_words(smk_parser *parser, smk_statement *statement);

/* An operand slot of a form (operand.c). `apply` also writes the type into the operand. */
typedef struct smk_operand_slot {
    char role;    /* d destination, s source, i immediate, m address, a register or address of a variable, x texel */
    bool sink;    /* a destination that may be _ */
    bool special; /* a source that may be a special register */
    bool relaxed; /* the register may be wider than the type */
    bool vector;  /* a list, where the instruction has .v2 .v4 .v8 */
    bool pair;    /* may be written d|p with a predicate behind the bar */
    bool must_pair;
    bool optional;
    bool selects;   /* parts of it may be named, as in %r1.h10 */
    bool negatable; /* may be written -r */
    bool varying;   /* not a constant */
    bool layered;   /* a texel whose first coordinate is the number of a layer */
    unsigned count; /* fixed number of elements of a list, or of a texel's coordinates; 0: no such list */
    smk_type type;
    smk_space space; /* of an address */
    bool ranged;     /* a constant is at least `least`, and at most `most` */
    uint64_t least, most;
} smk_operand_slot;

smk_status smk_operand_check(smk_parser *parser, const smk_statement *statement, unsigned index,
                             const smk_operand_slot *slot, smk_operand *operand, bool apply);
smk_status smk_operand_check_scalar(smk_parser *parser, const smk_statement *statement, unsigned index,
                                    const smk_operand_slot *slot, smk_operand *operand, bool apply);
smk_status smk_operand_check_mov(smk_parser *parser, smk_statement *statement, bool apply);

/* Can a register of type `have` stand where the instruction has `want`? */
bool smk_operand_fits(smk_type have, smk_type want, bool relaxed);

/* Converts an immediate to the width and format of `type`; false where that is not possible. */
bool smk_operand_convert(const smk_operand *operand, smk_type type, uint64_t *bits);

#endif
