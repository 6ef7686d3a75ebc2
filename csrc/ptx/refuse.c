#include "ptx/refuse.h"

#include <string.h>

smk_feature smk_refuse_find_special(const smk_parser *parser, smk_text name)
{
    uint32_t feature = smk_symbol_word(&parser->words, SMK_WORD_UNSUPPORTED_SPECIAL, name);
    while (feature == SMK_NO_INDEX && name.length > 1 && name.start[name.length - 1] >= '0' &&
           name.start[name.length - 1] <= '9') {
        name.length--;
        feature = smk_symbol_word(&parser->words, SMK_WORD_UNSUPPORTED_SPECIAL, name);
    }
    return feature == SMK_NO_INDEX ? SMK_FEATURE_COUNT : (smk_feature)feature;
}

smk_status smk_refuse_words(smk_parser *parser, const smk_token *at, smk_text words, smk_feature feature)
{
    return smk_parse_fail(parser, at, SMK_UNSUPPORTED, "'%.*s' is not supported: %s", SMK_TEXT_PRINT(words),
                          smk_feature_reason(feature));
}

smk_status smk_refuse_form(smk_parser *parser, const smk_token *at, smk_text words, const char *operands)
{
    smk_feature feature = smk_feature_find(operands + strlen("! "));
    return feature != SMK_FEATURE_COUNT
               ? smk_refuse_words(parser, at, words, feature)
               : smk_parse_fail(parser, at, SMK_INTERNAL, "unsupported.def has no row for '%s'", operands);
}

/* The name of a file by its number. Compilers write the names behind the functions, so the search reads on. */
static smk_text find_file(smk_parser *parser, uint32_t number)
{
    const smk_text *files = parser->files.items;
    const uint32_t *numbers = parser->file_numbers.items;
    for (size_t i = 0; i < parser->files.count; i++) {
        if (numbers[i] == number) {
            return files[i];
        }
    }
    smk_lex lex = parser->lex;
    smk_token token;
    bool behind = false, right = false;
    while (smk_lex_next(&lex, &token, NULL) == SMK_OK && token.kind != SMK_TOKEN_END) {
        if (right && token.kind == SMK_TOKEN_STRING) {
            return token.text;
        }
        right = behind && token.kind == SMK_TOKEN_INTEGER && token.value == number;
        behind = token.kind == SMK_TOKEN_DOT_WORD && smk_text_is(token.text, ".file");
    }
    return (smk_text){"", 0};
}

void smk_refuse_locate(smk_parser *parser)
{
    smk_error *error = parser->error;
    if (error == NULL || !parser->in_body) {
        return;
    }
    if (parser->in_entry) {
        smk_text name = parser->function_name;
        size_t length = name.length < sizeof error->kernel ? name.length : sizeof error->kernel - 1;
        memcpy(error->kernel, name.start, length);
    }
    /* an error of a line before the last mark, such as an absent label at the end of a function, is not of that mark */
    if (parser->has_loc && parser->source_line != 0 && error->ptx_line > parser->source_mark.ptx_line) {
        smk_text file = find_file(parser, parser->source_number);
        size_t length = file.length < sizeof error->source_file ? file.length : sizeof error->source_file - 1;
        memcpy(error->source_file, file.start, length);
        error->source_line = parser->source_line;
    }
}
