/* Functions: signatures, performance directives, prototypes. Bodies are in body.c. */
#include "ptx/parse.h"
#include "ptx/refuse.h"

#include <string.h>

enum { THREADS_MAX = 1 << 26 };

/* Results and parameters as they are read; `registers` are those of .reg ones. */
typedef struct signature {
    smk_vector variables; /* smk_variable */
    smk_vector slots;     /* uint32_t: number of the register, or SMK_NO_INDEX */
    smk_vector names;     /* smk_token */
    smk_vector registers; /* smk_register */
    uint32_t result_count;
    uint32_t parameter_count;
} signature;

static void free_signature(signature *signature_)
{
    smk_vector_free(&signature_->variables);
    smk_vector_free(&signature_->slots);
    smk_vector_free(&signature_->names);
    smk_vector_free(&signature_->registers);
}

static smk_status parse_parameter(smk_parser *parser, bool is_entry, signature *list)
{
    smk_variable *variable = smk_vector_push(&list->variables, sizeof *variable);
    uint32_t *slot = smk_vector_push(&list->slots, sizeof *slot);
    smk_token *name = smk_vector_push(&list->names, sizeof *name);
    if (variable == NULL || slot == NULL || name == NULL) {
        return smk_parse_memory(parser);
    }
    bool is_register = false;
    *slot = SMK_NO_INDEX;
    SMK_TRY(smk_variable_parse_parameter(parser, is_entry, variable, name, &is_register));
    if (list->variables.count > SMK_PARAMETERS_MAX) {
        return smk_parse_fail(parser, name, SMK_PTX, "a function has more than %d parameters", SMK_PARAMETERS_MAX);
    }
    if (is_register) {
        *slot = (uint32_t)list->registers.count;
        smk_register *created = smk_vector_push(&list->registers, sizeof *created);
        if (created == NULL) {
            return smk_parse_memory(parser);
        }
        *created = (smk_register){variable->name, variable->type};
    }
    return SMK_OK;
}

/* ( parameter, ... ); the '(' is the present token */
static smk_status parse_list(smk_parser *parser, bool is_entry, signature *list, uint32_t *count)
{
    bool closed = false;
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(smk_parse_accept(parser, ')', &closed));
    while (!closed) {
        SMK_TRY(parse_parameter(parser, is_entry, list));
        ++*count;
        bool more = false;
        SMK_TRY(smk_parse_accept(parser, ',', &more));
        if (!more) {
            closed = true;
            SMK_TRY(smk_parse_expect(parser, ')'));
        }
    }
    return SMK_OK;
}

/* {(results)} name {(parameters)} */
static smk_status parse_signature(smk_parser *parser, bool is_entry, signature *list, smk_token *name)
{
    if (smk_parse_at(parser, '(')) {
        if (is_entry) {
            return smk_parse_unexpected(parser, "the name of the entry");
        }
        SMK_TRY(parse_list(parser, false, list, &list->result_count));
    }
    SMK_TRY(smk_parse_name(parser, name));
    if (smk_parse_at(parser, '(')) {
        SMK_TRY(parse_list(parser, is_entry, list, &list->parameter_count));
    }
    return SMK_OK;
}

/* a {, b {, c}} */
static smk_status parse_dimensions(smk_parser *parser, smk_dim3 *size)
{
    uint64_t values[3] = {1, 1, 1};
    bool more = true;
    for (unsigned i = 0; more && i < 3; i++) {
        SMK_TRY(smk_constant_parse_count(parser, "a number of threads", THREADS_MAX, &values[i]));
        SMK_TRY(smk_parse_accept(parser, ',', &more));
    }
    *size = (smk_dim3){(uint32_t)values[0], (uint32_t)values[1], (uint32_t)values[2]};
    return more ? smk_parse_unexpected(parser, "no fourth number") : SMK_OK;
}

static smk_status parse_cluster_size(smk_parser *parser)
{
    smk_token at = parser->token;
    smk_dim3 size = {0, 0, 0};
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(parse_dimensions(parser, &size));
    if (size.x > 1 || size.y > 1 || size.z > 1) {
        return smk_refuse_words(parser, &at, at.text, SMK_FEATURE_CLUSTER);
    }
    return SMK_OK;
}

static smk_status parse_ignored_count(smk_parser *parser)
{
    uint64_t ignored = 0;
    SMK_TRY(smk_parse_next(parser));
    return smk_constant_parse_count(parser, "the count", UINT32_MAX, &ignored);
}

/* One directive between the signature and the body. */
static smk_status parse_directive(smk_parser *parser, smk_function *function)
{
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_NORETURN)) {
        function->is_noreturn = true;
        return smk_parse_next(parser);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_MAXNTID)) {
        SMK_TRY(smk_parse_next(parser));
        return parse_dimensions(parser, &function->maxntid);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_REQNTID)) {
        SMK_TRY(smk_parse_next(parser));
        return parse_dimensions(parser, &function->reqntid);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_MINNCTAPERSM)) {
        uint64_t count = 0;
        SMK_TRY(smk_parse_next(parser));
        SMK_TRY(smk_constant_parse_count(parser, "the count", UINT32_MAX, &count));
        function->minnctapersm = (uint32_t)count;
        return SMK_OK;
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_MAXNREG) ||
        smk_parse_at_directive(parser, SMK_DIRECTIVE_MAXNCTAPERSM) ||
        smk_parse_at_directive(parser, SMK_DIRECTIVE_MAXCLUSTERRANK) ||
        smk_parse_at_directive(parser, SMK_DIRECTIVE_ABI_PRESERVE) ||
        smk_parse_at_directive(parser, SMK_DIRECTIVE_ABI_PRESERVE_CONTROL)) {
        return parse_ignored_count(parser);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_REQNCTAPERCLUSTER)) {
        return parse_cluster_size(parser);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_EXPLICITCLUSTER)) {
        return smk_parse_next(parser); /* how many blocks it has says .reqnctapercluster, or the launch */
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_BLOCKSARECLUSTERS)) {
        return smk_refuse_words(parser, &parser->token, parser->token.text, SMK_FEATURE_CLUSTER);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_PRAGMA)) {
        return smk_parse_pragma(parser);
    }
    if (parser->token.kind == SMK_TOKEN_DOT_WORD) {
        return smk_parse_refuse_directive(parser);
    }
    return smk_parse_unexpected(parser, "'{' or ';'");
}

/* The same, where a directive that is not executed refuses the function: its others are skipped. */
static smk_status take_directive(smk_parser *parser, smk_function *function)
{
    smk_status status = parse_directive(parser, function);
    if (status == SMK_OK || !smk_refuse_function(parser, status, function)) {
        return status;
    }
    while (!smk_parse_at(parser, '{') && !smk_parse_at(parser, ';') && parser->token.kind != SMK_TOKEN_END) {
        SMK_TRY(smk_parse_next(parser));
    }
    return SMK_OK;
}

bool smk_function_same_signature(const smk_function *a, const smk_function *b)
{
    if (a->is_entry != b->is_entry || a->result_count != b->result_count || a->parameter_count != b->parameter_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->result_count + a->parameter_count; i++) {
        const smk_variable *x = &a->variables[i];
        const smk_variable *y = &b->variables[i];
        if (x->space != y->space || x->bytes != y->bytes || x->unsized != y->unsized) {
            return false;
        }
    }
    return true;
}

/* The function's number: that of an earlier declaration, or a new one. */
static smk_status find_or_declare(smk_parser *parser, const smk_token *name, uint32_t *index)
{
    smk_symbol *symbol = smk_symbol_find(&parser->symbols, name->text);
    if (symbol != NULL && symbol->kind == SMK_SYMBOL_FUNCTION) {
        *index = symbol->index;
        return SMK_OK;
    }
    SMK_TRY(smk_parse_declare(parser, SMK_SYMBOL_FUNCTION, name, &symbol));
    symbol->index = (uint32_t)parser->functions.count;
    *index = symbol->index;
    return smk_vector_push(&parser->functions, sizeof(smk_function)) == NULL ? smk_parse_memory(parser) : SMK_OK;
}

static smk_status keep_signature(smk_parser *parser, const signature *list, smk_function *function)
{
    smk_arena *arena = &parser->module->arena;
    function->result_count = list->result_count;
    function->parameter_count = list->parameter_count;
    function->variable_count = (uint32_t)list->variables.count;
    function->register_count = (uint32_t)list->registers.count;
    function->variables = smk_vector_copy(&list->variables, sizeof(smk_variable), arena);
    function->registers = smk_vector_copy(&list->registers, sizeof(smk_register), arena);
    function->parameter_registers = smk_vector_copy(&list->slots, sizeof(uint32_t), arena);
    bool good = function->variables != NULL && function->registers != NULL && function->parameter_registers != NULL;
    return good ? SMK_OK : smk_parse_memory(parser);
}

/* The names of the parameters in the body's scope. */
static smk_status declare_parameters(smk_parser *parser, const signature *list)
{
    for (size_t i = 0; i < list->names.count; i++) {
        const smk_token *name = (const smk_token *)list->names.items + i;
        uint32_t slot = ((const uint32_t *)list->slots.items)[i];
        smk_symbol *symbol = NULL;
        if (smk_text_is(name->text, "_")) {
            continue;
        }
        SMK_TRY(
            smk_parse_declare(parser, slot == SMK_NO_INDEX ? SMK_SYMBOL_VARIABLE : SMK_SYMBOL_REGISTER, name, &symbol));
        symbol->type = ((const smk_variable *)list->variables.items)[i].type;
        symbol->index = slot == SMK_NO_INDEX ? SMK_PARSE_LOCAL + (uint32_t)i : slot;
    }
    return SMK_OK;
}

static smk_status parse_definition(smk_parser *parser, signature *list, smk_function *function)
{
    smk_symbol_open(&parser->symbols);
    SMK_TRY(declare_parameters(parser, list));
    /* The body adds to what the signature declared. */
    smk_vector empty = {0};
    smk_vector *from[] = {&list->variables, &list->slots, &list->registers};
    smk_vector *to[] = {&parser->locals, &parser->local_registers, &parser->registers};
    for (size_t i = 0; i < sizeof from / sizeof from[0]; i++) {
        smk_vector_free(to[i]);
        *to[i] = *from[i];
        *from[i] = empty;
    }
    function->is_defined = true;
    return smk_body_parse(parser, function);
}

static smk_status check_again(smk_parser *parser, const smk_token *name, const smk_function *first,
                              const smk_function *second)
{
    if (first->name.length == 0) {
        return SMK_OK; /* the first declaration of this name */
    }
    if (!smk_function_same_signature(first, second)) {
        return smk_parse_fail(parser, name, SMK_PTX, "'%.*s' is declared differently in line %u",
                              SMK_TEXT_PRINT(name->text), (unsigned)first->line);
    }
    if (first->is_defined && smk_parse_at(parser, '{')) {
        return smk_parse_fail(parser, name, SMK_PTX, "'%.*s' is defined twice; the first time in line %u",
                              SMK_TEXT_PRINT(name->text), (unsigned)first->line);
    }
    return SMK_OK;
}

/* A declaration of a .func without a semicolon ends before the next declaration of the module. */
static bool at_next_declaration(const smk_parser *parser)
{
    static const smk_directive starts[] = {SMK_DIRECTIVE_VISIBLE, SMK_DIRECTIVE_EXTERN,  SMK_DIRECTIVE_WEAK,
                                           SMK_DIRECTIVE_COMMON,  SMK_DIRECTIVE_FUNC,    SMK_DIRECTIVE_ENTRY,
                                           SMK_DIRECTIVE_GLOBAL,  SMK_DIRECTIVE_CONST,   SMK_DIRECTIVE_SHARED,
                                           SMK_DIRECTIVE_FILE_,   SMK_DIRECTIVE_SECTION, SMK_DIRECTIVE_ALIAS};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        if (smk_parse_at_directive(parser, starts[i])) {
            return true;
        }
    }
    return parser->token.kind == SMK_TOKEN_END;
}

static smk_status parse_function(smk_parser *parser, bool is_extern, signature *list)
{
    smk_function function = {0};
    smk_token name;
    uint32_t index = 0;
    function.is_entry = smk_parse_at_directive(parser, SMK_DIRECTIVE_ENTRY);
    SMK_TRY(smk_parse_next(parser));
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_NORETURN)) {
        SMK_TRY(parse_directive(parser, &function));
    } else if (parser->token.kind == SMK_TOKEN_DOT_WORD) {
        return smk_parse_refuse_directive(parser);
    }
    SMK_TRY(parse_signature(parser, function.is_entry, list, &name));
    function.name = name.text;
    function.line = name.line;
    SMK_TRY(keep_signature(parser, list, &function));
    bool open_end = !function.is_entry; /* only .func may do without its semicolon */
    while (!smk_parse_at(parser, '{') && !smk_parse_at(parser, ';') && !(open_end && at_next_declaration(parser))) {
        SMK_TRY(take_directive(parser, &function));
    }
    SMK_TRY(find_or_declare(parser, &name, &index));
    smk_function *slot = (smk_function *)parser->functions.items + index;
    SMK_TRY(check_again(parser, &name, slot, &function));
    bool was_defined = slot->is_defined;
    slot->name = name.text; /* declared from here on, so that it can call itself */
    if (!was_defined) {
        *slot = function;
    }
    if (!smk_parse_at(parser, '{')) {
        bool written = false;
        return smk_parse_accept(parser, ';', &written);
    }
    if (is_extern) {
        return smk_parse_fail(parser, &name, SMK_PTX, "'%.*s' is .extern and has a body", SMK_TEXT_PRINT(name.text));
    }
    SMK_TRY(parse_definition(parser, list, &function));
    ((smk_function *)parser->functions.items)[index] = function;
    return SMK_OK;
}

smk_status smk_function_parse(smk_parser *parser, bool is_extern)
{
    signature list = {0};
    smk_status status = parse_function(parser, is_extern, &list);
    free_signature(&list);
    return status;
}

static smk_status parse_prototype(smk_parser *parser, signature *list, uint32_t *index)
{
    smk_function function = {.is_prototype = true};
    smk_token name;
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(parse_signature(parser, false, list, &name));
    function.name = name.text;
    function.line = name.line;
    SMK_TRY(keep_signature(parser, list, &function));
    while (!smk_parse_at(parser, ';')) {
        SMK_TRY(parse_directive(parser, &function));
    }
    SMK_TRY(smk_parse_next(parser));
    *index = (uint32_t)parser->prototypes.count;
    smk_function *slot = smk_vector_push(&parser->prototypes, sizeof *slot);
    if (slot == NULL) {
        return smk_parse_memory(parser);
    }
    *slot = function;
    return SMK_OK;
}

smk_status smk_function_parse_prototype(smk_parser *parser, uint32_t *index)
{
    signature list = {0};
    smk_status status = parse_prototype(parser, &list, index);
    free_signature(&list);
    return status;
}
