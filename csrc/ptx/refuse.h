/* The errors that say that the simulator does not execute something. */
#ifndef SMK_PTX_REFUSE_H
#define SMK_PTX_REFUSE_H

#include "ptx/feature.h"
#include "ptx/parse.h"

/* The feature of a special register, also of a numbered one; SMK_FEATURE_COUNT where it belongs to none. */
smk_feature smk_refuse_find_special(const smk_parser *parser, smk_text name);

/* The UNSUPPORTED error of a word, or of several, at a token. */
smk_status smk_refuse_words(smk_parser *parser, const smk_token *at, smk_text words, smk_feature feature);

/* The same for a form of opcode.def, whose operands are "! FEATURE". */
smk_status smk_refuse_form(smk_parser *parser, const smk_token *at, smk_text words, const char *operands);

/* Ends the PTX error of a word that is in no table: a later PTX may have it. Returns `status`. */
smk_status smk_refuse_unknown(smk_parser *parser, smk_status status);

/* Refuses the function that is being parsed for the error that the parser has: its body becomes a trap at the place of
 * the error. False where the error is not of a word that is unknown or not executed; then the module is at fault, or
 * the memory. */
bool smk_refuse_function(smk_parser *parser, smk_status status, smk_function *function);

/* Fills the kernel and the source line into the error of a parse that failed within a function. */
void smk_refuse_locate(smk_parser *parser);

#endif
