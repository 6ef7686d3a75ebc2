/* Operands of textures and surfaces: [object, {coordinates}], and results with a predicate, {a, b}|p; private to csrc/ptx. */
#ifndef SMK_PTX_TEXEL_H
#define SMK_PTX_TEXEL_H

#include "ptx/verify.h"

/* What stands behind a texture or surface in brackets, from the comma on: coordinates in braces, a sampler before them, or
 * one coordinate without braces. */
smk_status smk_texel_parse(smk_parser *parser, const smk_operand *object, smk_operand *operand);

/* The bar and the predicate that may follow a list of results. */
smk_status smk_texel_parse_residency(smk_parser *parser, smk_operand *operand);

/* As smk_operand_check, of a slot of role x, and of results with a predicate. */
smk_status smk_texel_check(smk_parser *parser, const smk_statement *statement, unsigned index,
                           const smk_operand_slot *slot, smk_operand *operand, bool apply);
smk_status smk_texel_check_resident(smk_parser *parser, const smk_statement *statement, unsigned index,
                                    const smk_operand_slot *slot, smk_operand *operand, bool apply);

/* Is this the type of a texture, surface or sampler that a module declares? */
bool smk_texel_is_reference(smk_type type);

#endif
