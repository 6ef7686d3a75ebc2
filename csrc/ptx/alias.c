/* .alias: another name for a function. As in ptxas, the name is a declared .func of the same signature without a body.
 */
#include "ptx/parse.h"

#include <string.h>

static smk_status find_function(smk_parser *parser, smk_token *name, uint32_t *index)
{
    SMK_TRY(smk_parse_name(parser, name));
    const smk_symbol *symbol = smk_symbol_find(&parser->symbols, name->text);
    if (symbol == NULL || symbol->kind != SMK_SYMBOL_FUNCTION) {
        return smk_parse_fail(parser, name, SMK_PTX, "'%.*s' is not declared as a function",
                              SMK_TEXT_PRINT(name->text));
    }
    *index = symbol->index;
    const smk_function *function = (const smk_function *)parser->functions.items + *index;
    if (function->is_entry) {
        return smk_parse_fail(parser, name, SMK_PTX, "'%.*s' is an entry, which has no other name",
                              SMK_TEXT_PRINT(name->text));
    }
    return SMK_OK;
}

static bool same_types(const smk_function *a, const smk_function *b)
{
    bool same = smk_function_same_signature(a, b) && a->is_noreturn == b->is_noreturn;
    for (uint32_t i = 0; same && i < a->result_count + a->parameter_count; i++) {
        same = a->variables[i].type == b->variables[i].type;
    }
    return same;
}

smk_status smk_alias_parse(smk_parser *parser)
{
    smk_alias alias;
    smk_token target;
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(find_function(parser, &alias.at, &alias.name));
    SMK_TRY(smk_parse_expect(parser, ','));
    SMK_TRY(find_function(parser, &target, &alias.function));
    const smk_function *functions = parser->functions.items;
    if (functions[alias.name].is_defined) {
        return smk_parse_fail(parser, &alias.at, SMK_PTX, "'%.*s' has a body and cannot stand for '%.*s'",
                              SMK_TEXT_PRINT(alias.at.text), SMK_TEXT_PRINT(target.text));
    }
    if (!same_types(&functions[alias.name], &functions[alias.function])) {
        return smk_parse_fail(parser, &alias.at, SMK_PTX_TYPE, "'%.*s' is declared differently from '%.*s'",
                              SMK_TEXT_PRINT(alias.at.text), SMK_TEXT_PRINT(target.text));
    }
    smk_alias *slot = smk_vector_push(&parser->aliases, sizeof *slot);
    if (slot == NULL) {
        return smk_parse_memory(parser);
    }
    *slot = alias;
    return smk_parse_expect(parser, ';');
}

/* The function at the end of a chain of aliases, found by path halving (as in union-find) in at most *steps steps. */
static uint32_t find_end(uint32_t *same, uint32_t function, size_t *steps)
{
    while (same[function] != function && *steps > 0) {
        same[function] = same[same[function]];
        function = same[function];
        --*steps;
    }
    return function;
}

smk_status smk_alias_resolve(smk_parser *parser, uint32_t *same)
{
    const smk_function *functions = parser->functions.items;
    const smk_alias *aliases = parser->aliases.items;
    for (uint32_t i = 0; i < parser->functions.count; i++) {
        same[i] = i;
    }
    for (size_t i = 0; i < parser->aliases.count; i++) {
        const smk_alias *alias = &aliases[i];
        if (same[alias->name] != alias->name) {
            return smk_parse_fail(parser, &alias->at, SMK_PTX, "'%.*s' stands for another function already",
                                  SMK_TEXT_PRINT(alias->at.text));
        }
        same[alias->name] = alias->function; /* a body that follows is ignored, as by ptxas */
    }
    for (size_t i = 0; i < parser->aliases.count; i++) {
        const smk_alias *alias = &aliases[i];
        size_t steps = parser->aliases.count;
        same[alias->name] = find_end(same, alias->name, &steps);
        if (!functions[same[alias->name]].is_defined) {
            return smk_parse_fail(parser, &alias->at, SMK_PTX, "'%.*s' stands for '%.*s', which has no body",
                                  SMK_TEXT_PRINT(alias->at.text), SMK_TEXT_PRINT(functions[same[alias->name]].name));
        }
    }
    return SMK_OK;
}
