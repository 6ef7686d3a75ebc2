/* Bodies: scopes, labels, tables. */
#include "ptx/instruction.h"
#include "ptx/parse.h"
#include "ptx/refuse.h"

#include <string.h>

static smk_status open_scope(smk_parser *parser)
{
    if (parser->symbols.depth == SMK_SCOPES_MAX) {
        return smk_parse_fail(parser, &parser->token, SMK_PTX, "scopes are nested more than %d deep", SMK_SCOPES_MAX);
    }
    smk_symbol_open(&parser->symbols);
    parser->pending_start[parser->symbols.depth] = parser->pending.count;
    return SMK_OK;
}

static void set_pending(smk_parser *parser, const smk_pending_label *pending, uint32_t label)
{
    if (pending->in_table) {
        ((smk_label *)parser->labels.items)[pending->index].table[pending->slot] = label;
    } else {
        ((smk_instruction *)parser->instructions.items)[pending->index].operands[pending->slot].index = label;
    }
}

/* Resolves pending names that are labels of this scope; the others stay pending for an outer scope. */
static smk_status resolve_pending(smk_parser *parser)
{
    unsigned depth = parser->symbols.depth;
    smk_pending_label *pending = parser->pending.items;
    size_t kept = parser->pending_start[depth];
    for (size_t i = kept; i < parser->pending.count; i++) {
        const smk_symbol *symbol = smk_symbol_find(&parser->symbols, pending[i].name.text);
        bool here = symbol != NULL && symbol->scope == depth;
        if (here && symbol->kind == SMK_SYMBOL_LABEL) {
            const smk_label *label = (const smk_label *)parser->labels.items + symbol->index;
            if (label->table != NULL || label->prototype != SMK_NO_INDEX) {
                return smk_parse_fail(parser, &pending[i].name, SMK_PTX,
                                      "'%.*s' is a table, not the label of an instruction",
                                      SMK_TEXT_PRINT(pending[i].name.text));
            }
            set_pending(parser, &pending[i], symbol->index);
        } else if (here) {
            return smk_parse_fail(parser, &pending[i].name, SMK_PTX, "'%.*s' is not a label",
                                  SMK_TEXT_PRINT(pending[i].name.text));
        } else if (depth == 1) {
            return smk_parse_fail(parser, &pending[i].name, SMK_PTX, "no label '%.*s' can be seen from here",
                                  SMK_TEXT_PRINT(pending[i].name.text));
        } else {
            pending[kept++] = pending[i];
        }
    }
    parser->pending.count = kept;
    return SMK_OK;
}

static smk_status close_scope(smk_parser *parser)
{
    SMK_TRY(resolve_pending(parser));
    smk_symbol_close(&parser->symbols);
    return SMK_OK;
}

static smk_label *label_at(smk_parser *parser, uint32_t index)
{
    return (smk_label *)parser->labels.items + index;
}

/* The names of a .calltargets or .branchtargets table. */
static smk_status parse_table(smk_parser *parser, uint32_t index, bool of_functions)
{
    smk_vector entries = {0};
    smk_status status = SMK_OK;
    bool more = true;
    while (status == SMK_OK && more) {
        smk_token name;
        status = smk_parse_name(parser, &name);
        uint32_t *entry = status == SMK_OK ? smk_vector_push(&entries, sizeof *entry) : NULL;
        if (status == SMK_OK && entry == NULL) {
            status = smk_parse_memory(parser);
        }
        if (status == SMK_OK && of_functions) {
            const smk_symbol *symbol = smk_symbol_find(&parser->symbols, name.text);
            if (symbol == NULL || symbol->kind != SMK_SYMBOL_FUNCTION) {
                status = smk_parse_fail(parser, &name, SMK_PTX, "'%.*s' is not declared as a function",
                                        SMK_TEXT_PRINT(name.text));
            } else {
                *entry = symbol->index;
            }
        } else if (status == SMK_OK) {
            status = smk_instruction_add_pending(parser, &name, true, index, (uint32_t)(entries.count - 1));
        }
        if (status == SMK_OK) {
            status = smk_parse_accept(parser, ',', &more);
        }
    }
    if (status == SMK_OK) {
        smk_label *label = label_at(parser, index);
        label->table = smk_vector_copy(&entries, sizeof(uint32_t), &parser->module->arena);
        label->table_count = (uint32_t)entries.count;
        label->of_functions = of_functions;
        status = label->table == NULL ? smk_parse_memory(parser) : smk_parse_expect(parser, ';');
    }
    smk_vector_free(&entries);
    return status;
}

/* name: and the table that may follow it */
static smk_status parse_label(smk_parser *parser)
{
    smk_token name = parser->token;
    smk_symbol *symbol = NULL;
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(smk_parse_next(parser)); /* the colon */
    SMK_TRY(smk_parse_declare(parser, SMK_SYMBOL_LABEL, &name, &symbol));
    uint32_t index = (uint32_t)parser->labels.count;
    smk_label *label = smk_vector_push(&parser->labels, sizeof *label);
    if (label == NULL) {
        return smk_parse_memory(parser);
    }
    label->name = name.text;
    label->target = (uint32_t)parser->instructions.count;
    label->prototype = SMK_NO_INDEX;
    symbol->index = index;
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_CALLPROTOTYPE)) {
        uint32_t prototype = 0;
        SMK_TRY(smk_function_parse_prototype(parser, &prototype));
        label_at(parser, index)->prototype = prototype;
        return SMK_OK;
    }
    bool of_functions = smk_parse_at_directive(parser, SMK_DIRECTIVE_CALLTARGETS);
    if (of_functions || smk_parse_at_directive(parser, SMK_DIRECTIVE_BRANCHTARGETS)) {
        SMK_TRY(smk_parse_next(parser));
        return parse_table(parser, index, of_functions);
    }
    return SMK_OK;
}

static smk_status parse_directive(smk_parser *parser)
{
    const smk_linkage none = {false, false, false, false};
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_LOC)) {
        return smk_loc_parse(parser);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_REG)) {
        return smk_variable_parse_registers(parser);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_PRAGMA)) {
        return smk_parse_pragma(parser);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_FILE_)) {
        return smk_parse_file(parser);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_SECTION)) {
        return smk_parse_skip_section(parser);
    }
    return smk_variable_parse(parser, none);
}

static smk_status parse_statement(smk_parser *parser)
{
    if (parser->token.kind == SMK_TOKEN_DOT_WORD) {
        return parse_directive(parser);
    }
    if (parser->token.kind == SMK_TOKEN_WORD) {
        SMK_TRY(smk_parse_look_ahead(parser));
        if (parser->ahead.kind == SMK_TOKEN_MARK && parser->ahead.mark == ':') {
            return parse_label(parser);
        }
        return smk_instruction_parse(parser);
    }
    if (smk_parse_at(parser, '@')) {
        return smk_instruction_parse(parser);
    }
    return smk_parse_unexpected(parser, "an instruction");
}

static smk_status keep_body(smk_parser *parser, smk_function *function)
{
    smk_arena *arena = &parser->module->arena;
    function->variable_count = (uint32_t)parser->locals.count;
    function->register_count = (uint32_t)parser->registers.count;
    function->label_count = (uint32_t)parser->labels.count;
    function->instruction_count = (uint32_t)parser->instructions.count;
    function->variables = smk_vector_copy(&parser->locals, sizeof(smk_variable), arena);
    function->registers = smk_vector_copy(&parser->registers, sizeof(smk_register), arena);
    function->parameter_registers = smk_vector_copy(&parser->local_registers, sizeof(uint32_t), arena);
    function->labels = smk_vector_copy(&parser->labels, sizeof(smk_label), arena);
    function->instructions = smk_vector_copy(&parser->instructions, sizeof(smk_instruction), arena);
    bool good = function->variables != NULL && function->registers != NULL && function->parameter_registers != NULL &&
                function->labels != NULL && function->instructions != NULL;
    return good ? SMK_OK : smk_parse_memory(parser);
}

static smk_status fail_unclosed(smk_parser *parser, const smk_token *start, const smk_function *function)
{
    return smk_parse_fail(parser, start, SMK_PTX, "the body of '%.*s' has no closing '}'",
                          SMK_TEXT_PRINT(function->name));
}

static smk_status parse_body(smk_parser *parser, smk_function *function)
{
    smk_token start = parser->token;
    parser->in_body = true;
    parser->in_entry = function->is_entry;
    parser->parameter_registers = (uint32_t)parser->registers.count;
    parser->reorders = false;
    parser->function_name = function->name;
    parser->labels.count = 0;
    parser->instructions.count = 0;
    parser->pending_start[parser->symbols.depth] = 0;
    smk_loc_begin(parser);
    SMK_TRY(smk_parse_next(parser));
    for (;;) {
        if (parser->token.kind == SMK_TOKEN_END) {
            return fail_unclosed(parser, &start, function);
        }
        if (smk_parse_at(parser, '{')) {
            SMK_TRY(open_scope(parser));
            SMK_TRY(smk_parse_next(parser));
        } else if (smk_parse_at(parser, '}')) {
            bool last = parser->symbols.depth == 1;
            SMK_TRY(close_scope(parser));
            SMK_TRY(smk_parse_next(parser));
            if (last) {
                break;
            }
        } else {
            SMK_TRY(parse_statement(parser));
        }
    }
    parser->in_body = false;
    if (parser->reorders) {
        SMK_TRY(smk_expand_number(parser));
    }
    return keep_body(parser, function);
}

/* Skips the body of a refused function; the present token is the '{' that opens it. */
static smk_status skip_body(smk_parser *parser, const smk_function *function)
{
    smk_token start = parser->token;
    unsigned open = 0;
    parser->in_body = false;
    while (parser->symbols.depth > 0) {
        smk_symbol_close(&parser->symbols);
    }
    parser->pending.count = 0;
    do {
        open += smk_parse_at(parser, '{');
        open -= smk_parse_at(parser, '}');
        if (parser->token.kind == SMK_TOKEN_END) {
            return fail_unclosed(parser, &start, function);
        }
        SMK_TRY(smk_parse_next(parser));
    } while (open > 0);
    return SMK_OK;
}

/* Scope 1 is open and holds the parameters; the present token is '{'. */
smk_status smk_body_parse(smk_parser *parser, smk_function *function)
{
    const smk_lex lex = parser->lex;
    const smk_token start = parser->token;
    if (function->refusal != NULL) {
        return skip_body(parser, function);
    }
    smk_status status = parse_body(parser, function);
    if (status == SMK_OK || !smk_refuse_function(parser, status, function)) {
        return status;
    }
    parser->lex = lex;
    parser->token = start;
    parser->has_ahead = false;
    return skip_body(parser, function);
}
