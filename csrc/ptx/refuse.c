#include "ptx/refuse.h"

#include "ptx/verify.h"

#include <string.h>

smk_feature smk_refuse_find_special(const smk_parser *parser, smk_text name)
{
    const uint32_t feature = smk_symbol_word(&parser->words, SMK_WORD_UNSUPPORTED_SPECIAL, name);
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

smk_status smk_refuse_unknown(smk_parser *parser, smk_status status)
{
    parser->unknown_word = true;
    return status;
}

/* The body of a refused function. */
static bool make_trap(smk_parser *parser, smk_function *function)
{
    smk_statement statement = {.instruction = {.opcode = SMK_OPCODE_TRAP}};
    smk_instruction *trap = &statement.instruction;
    trap->line = function->refusal->ptx_line;
    trap->column = function->refusal->ptx_column;
    trap->source_file = parser->in_body && parser->has_loc ? parser->source_number : SMK_NO_INDEX;
    trap->source_line = parser->in_body ? function->refusal->source_line : 0;
    function->instructions = smk_arena_allocate(&parser->module->arena, 1, sizeof *trap);
    if (function->instructions == NULL || smk_verify_words(parser, &statement) != SMK_OK) {
        return false;
    }
    *function->instructions = *trap;
    function->instruction_count = 1;
    return true;
}

bool smk_refuse_function(smk_parser *parser, smk_status status, smk_function *function)
{
    bool unknown = parser->unknown_word;
    parser->unknown_word = false;
    if (status != SMK_UNSUPPORTED && !(unknown && (status == SMK_PTX || status == SMK_PTX_TYPE))) {
        return false;
    }
    smk_refuse_locate(parser);
    smk_error *refusal = smk_arena_allocate(&parser->module->arena, 1, sizeof *refusal);
    if (refusal == NULL) {
        return false;
    }
    *refusal = parser->fault;
    function->refusal = refusal;
    parser->module->refuses = true;
    return make_trap(parser, function);
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
