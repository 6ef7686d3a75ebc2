#include "ptx/parse.h"

#include "base/heap.h"
#include "base/poll.h"
#include "ptx/refuse.h"

#include <string.h>

/* The newest PTX that is known. A later minor version adds words, which are refused where they stand; a later major
   version may change what known words mean. */
enum { VERSION_MAJOR = 9, VERSION_MINOR = 0 };
enum { TARGET_MAX = 999 };

static const char *const directives[] = {
#define SMK_PTX_DIRECTIVE(id, spelling) spelling,
#include "ptx/directive.def"
#undef SMK_PTX_DIRECTIVE
};

const char *smk_parse_directive_name(smk_directive directive)
{
    return directives[directive];
}

smk_status smk_parse_memory(smk_parser *parser)
{
    SMK_TRY(smk_poll_check(parser->error)); /* interrupted work has not run out of memory */
    return smk_status_fail(parser->error, SMK_MEMORY, "no memory left for a PTX module of %zu bytes",
                           parser->module->text.length);
}

smk_text smk_parse_tail(smk_text text)
{
    return (smk_text){text.start + 1, text.length - 1};
}

smk_status smk_parse_next(smk_parser *parser)
{
    parser->last_end = (uint64_t)(parser->token.text.start + parser->token.text.length - parser->module->text.start);
    if (parser->has_ahead) {
        parser->token = parser->ahead;
        parser->has_ahead = false;
        return SMK_OK;
    }
    return smk_lex_next(&parser->lex, &parser->token, parser->error);
}

smk_status smk_parse_look_ahead(smk_parser *parser)
{
    if (!parser->has_ahead) {
        SMK_TRY(smk_lex_next(&parser->lex, &parser->ahead, parser->error));
        parser->has_ahead = true;
    }
    return SMK_OK;
}

bool smk_parse_at(const smk_parser *parser, unsigned mark)
{
    return parser->token.kind == SMK_TOKEN_MARK && parser->token.mark == mark;
}

bool smk_parse_at_directive(const smk_parser *parser, smk_directive directive)
{
    return parser->token.kind == SMK_TOKEN_DOT_WORD &&
           smk_text_is(smk_parse_tail(parser->token.text), directives[directive]);
}

smk_status smk_parse_unexpected(smk_parser *parser, const char *wanted)
{
    return smk_parse_fail(parser, &parser->token, SMK_PTX, "expected %s, found '%.*s'", wanted,
                          SMK_TEXT_PRINT(smk_lex_show(&parser->token)));
}

smk_status smk_parse_expect(smk_parser *parser, unsigned mark)
{
    if (!smk_parse_at(parser, mark)) {
        char wanted[] = "'?'";
        wanted[1] = (char)mark;
        return smk_parse_unexpected(parser, wanted);
    }
    return smk_parse_next(parser);
}

smk_status smk_parse_accept(smk_parser *parser, unsigned mark, bool *taken)
{
    *taken = smk_parse_at(parser, mark);
    return *taken ? smk_parse_next(parser) : SMK_OK;
}

smk_status smk_parse_accept_directive(smk_parser *parser, smk_directive directive, bool *taken)
{
    *taken = smk_parse_at_directive(parser, directive);
    return *taken ? smk_parse_next(parser) : SMK_OK;
}

smk_status smk_parse_name(smk_parser *parser, smk_token *name)
{
    if (parser->token.kind != SMK_TOKEN_WORD) {
        return smk_parse_unexpected(parser, "a name");
    }
    *name = parser->token;
    return smk_parse_next(parser);
}

bool smk_parse_type(const smk_parser *parser, smk_type *type)
{
    if (parser->token.kind != SMK_TOKEN_DOT_WORD) {
        return false;
    }
    uint32_t index = smk_symbol_word(&parser->words, SMK_WORD_TYPE, smk_parse_tail(parser->token.text));
    if (index == SMK_NO_INDEX) {
        return false;
    }
    *type = (smk_type)index;
    return true;
}

smk_status smk_parse_declare(smk_parser *parser, smk_symbol_kind kind, const smk_token *name, smk_symbol **symbol)
{
    unsigned depth = parser->symbols.depth;
    smk_symbol *old = kind == SMK_SYMBOL_RANGE ? smk_symbol_find_range(&parser->symbols, name->text)
                                               : smk_symbol_find(&parser->symbols, name->text);
    if (old != NULL && old->scope == depth) {
        return smk_parse_fail(parser, name, SMK_PTX, "'%.*s' is declared twice; the first time in line %u",
                              SMK_TEXT_PRINT(name->text), (unsigned)old->line);
    }
    *symbol = smk_symbol_add(&parser->symbols, kind, name->text, depth);
    if (*symbol == NULL) {
        return smk_parse_memory(parser);
    }
    (*symbol)->line = name->line;
    return SMK_OK;
}

const smk_variable *smk_parse_variable(const smk_parser *parser, uint32_t index)
{
    return index >= SMK_PARSE_LOCAL ? (const smk_variable *)parser->locals.items + (index - SMK_PARSE_LOCAL)
                                    : (const smk_variable *)parser->variables.items + index;
}

smk_status smk_parse_refuse_directive(smk_parser *parser)
{
    const smk_token *token = &parser->token;
    smk_text word = smk_parse_tail(token->text);
    uint32_t refused = smk_symbol_word(&parser->words, SMK_WORD_UNSUPPORTED, word);
    if (refused != SMK_NO_INDEX) {
        return smk_refuse_words(parser, token, token->text, (smk_feature)refused);
    }
    bool known = smk_symbol_word(&parser->words, SMK_WORD_DIRECTIVE, word) != SMK_NO_INDEX;
    return smk_parse_fail(parser, token, SMK_PTX, known ? "'%.*s' does not belong here" : "unknown directive '%.*s'",
                          SMK_TEXT_PRINT(token->text));
}

/* .section name { ... }: debugging data, which is skipped. */
smk_status smk_parse_skip_section(smk_parser *parser)
{
    smk_token start = parser->token;
    SMK_TRY(smk_parse_next(parser));
    if (parser->token.kind != SMK_TOKEN_DOT_WORD && parser->token.kind != SMK_TOKEN_WORD) {
        return smk_parse_unexpected(parser, "the name of the section");
    }
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(smk_parse_expect(parser, '{'));
    while (!smk_parse_at(parser, '}')) {
        if (parser->token.kind == SMK_TOKEN_END) {
            return smk_parse_fail(parser, &start, SMK_PTX, "the section that starts here has no closing '}'");
        }
        SMK_TRY(smk_parse_next(parser));
    }
    return smk_parse_next(parser);
}

/* .file number "name" {, time, size} */
smk_status smk_parse_file(smk_parser *parser)
{
    SMK_TRY(smk_parse_next(parser));
    uint64_t number = 0;
    uint64_t ignored = 0;
    SMK_TRY(smk_constant_parse_count(parser, "the file number", UINT32_MAX, &number));
    if (parser->token.kind != SMK_TOKEN_STRING) {
        return smk_parse_unexpected(parser, "a file name in quotes");
    }
    smk_text *file = smk_vector_push(&parser->files, sizeof *file);
    uint32_t *slot = smk_vector_push(&parser->file_numbers, sizeof *slot);
    if (file == NULL || slot == NULL) {
        return smk_parse_memory(parser);
    }
    *file = parser->token.text;
    *slot = (uint32_t)number;
    SMK_TRY(smk_parse_next(parser));
    bool more = false;
    SMK_TRY(smk_parse_accept(parser, ',', &more));
    if (more) {
        SMK_TRY(smk_constant_parse_count(parser, "the file's time", UINT64_MAX, &ignored));
        SMK_TRY(smk_parse_expect(parser, ','));
        SMK_TRY(smk_constant_parse_count(parser, "the file's size", UINT64_MAX, &ignored));
    }
    return SMK_OK;
}

/* .pragma "word" {, "word"}; advice to a compiler, which does not change results */
smk_status smk_parse_pragma(smk_parser *parser)
{
    bool more = true;
    SMK_TRY(smk_parse_next(parser));
    while (more) {
        if (parser->token.kind != SMK_TOKEN_STRING) {
            return smk_parse_unexpected(parser, "a string");
        }
        SMK_TRY(smk_parse_next(parser));
        SMK_TRY(smk_parse_accept(parser, ',', &more));
    }
    return smk_parse_expect(parser, ';');
}

static smk_status parse_version(smk_parser *parser)
{
    if (!smk_parse_at_directive(parser, SMK_DIRECTIVE_VERSION)) {
        return smk_parse_unexpected(parser, "'.version' at the start of the module");
    }
    SMK_TRY(smk_parse_next(parser));
    /* 9.0 has the shape of a decimal literal */
    smk_text text = parser->token.text;
    uint32_t part[2] = {0, 0};
    unsigned index = 0;
    bool good = parser->token.kind == SMK_TOKEN_DECIMAL && text.length < 8;
    for (size_t i = 0; good && i < text.length; i++) {
        if (text.start[i] == '.') {
            index++;
        } else {
            part[index] = part[index] * 10 + (uint32_t)(text.start[i] - '0');
            good = text.start[i] >= '0' && text.start[i] <= '9';
        }
    }
    if (!good || part[0] == 0) {
        return smk_parse_unexpected(parser, "a version such as 9.0");
    }
    if (part[0] > VERSION_MAJOR) {
        return smk_parse_fail(parser, &parser->token, SMK_UNSUPPORTED,
                              "PTX version %.*s is not supported; the newest that is known is %d.%d",
                              SMK_TEXT_PRINT(text), VERSION_MAJOR, VERSION_MINOR);
    }
    parser->module->version_major = part[0];
    parser->module->version_minor = part[1];
    return smk_parse_next(parser);
}

static bool parse_target_number(smk_text text, uint32_t *target)
{
    uint32_t number = 0;
    if (text.length < 5 || memcmp(text.start, "sm_", 3) != 0) {
        return false;
    }
    size_t i = 3;
    for (; i < text.length && text.start[i] >= '0' && text.start[i] <= '9' && number <= TARGET_MAX; i++) {
        number = number * 10 + (uint32_t)(text.start[i] - '0');
    }
    bool suffix = i + 1 == text.length && (text.start[i] == 'a' || text.start[i] == 'f');
    *target = number;
    return number >= 10 && number <= TARGET_MAX && (i == text.length || suffix);
}

static bool is_target_option(smk_text text)
{
    static const char *const options[] = {"debug", "texmode_independent", "texmode_unified", "map_f64_to_f32"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (smk_text_is(text, options[i])) {
            return true;
        }
    }
    return false;
}

static smk_status parse_target(smk_parser *parser)
{
    smk_module *module = parser->module;
    if (!smk_parse_at_directive(parser, SMK_DIRECTIVE_TARGET)) {
        return smk_parse_unexpected(parser, "'.target'");
    }
    SMK_TRY(smk_parse_next(parser));
    module->target_text = parser->token.text;
    bool more = true;
    while (more) {
        smk_token name;
        SMK_TRY(smk_parse_name(parser, &name));
        uint32_t target = 0;
        if (parse_target_number(name.text, &target)) {
            module->target = target > module->target ? target : module->target;
        } else if (smk_text_is(name.text, "map_f64_to_f32")) {
            return smk_parse_fail(parser, &name, SMK_UNSUPPORTED, "'map_f64_to_f32' is not supported");
        } else if (!is_target_option(name.text)) {
            return smk_parse_fail(parser, &name, SMK_PTX, "unknown target '%.*s'", SMK_TEXT_PRINT(name.text));
        }
        const char *end = name.text.start + name.text.length;
        module->target_text.length = (size_t)(end - module->target_text.start);
        SMK_TRY(smk_parse_accept(parser, ',', &more));
    }
    if (module->target == 0) {
        return smk_parse_unexpected(parser, "a target such as sm_90");
    }
    return SMK_OK;
}

static smk_status parse_address_size(smk_parser *parser)
{
    bool present = false;
    SMK_TRY(smk_parse_accept_directive(parser, SMK_DIRECTIVE_ADDRESS_SIZE, &present));
    smk_token at = parser->token;
    uint64_t bits = 64; /* the default of ptxas */
    if (present) {
        SMK_TRY(smk_constant_parse_count(parser, "the address size", 64, &bits));
    }
    if (bits != 64) {
        return smk_parse_fail(parser, &at, bits == 32 ? SMK_UNSUPPORTED : SMK_PTX,
                              "only '.address_size 64' is supported");
    }
    return SMK_OK;
}

static smk_status parse_linkage(smk_parser *parser, smk_linkage *linkage)
{
    const struct {
        smk_directive directive;
        bool *flag;
    } flags[] = {{SMK_DIRECTIVE_EXTERN, &linkage->is_extern},
                 {SMK_DIRECTIVE_VISIBLE, &linkage->is_visible},
                 {SMK_DIRECTIVE_WEAK, &linkage->is_weak},
                 {SMK_DIRECTIVE_COMMON, &linkage->is_common}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (smk_parse_at_directive(parser, flags[i].directive)) {
            *flags[i].flag = true;
            return smk_parse_next(parser);
        }
    }
    return SMK_OK;
}

static bool at_variable(const smk_parser *parser)
{
    return smk_parse_at_directive(parser, SMK_DIRECTIVE_GLOBAL) ||
           smk_parse_at_directive(parser, SMK_DIRECTIVE_CONST) ||
           smk_parse_at_directive(parser, SMK_DIRECTIVE_SHARED) || smk_parse_at_directive(parser, SMK_DIRECTIVE_LOCAL);
}

static smk_status parse_top(smk_parser *parser)
{
    smk_linkage linkage = {false, false, false, false};
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_FILE_)) {
        return smk_parse_file(parser);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_SECTION)) {
        return smk_parse_skip_section(parser);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_PRAGMA)) {
        return smk_parse_pragma(parser);
    }
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_ALIAS)) {
        return smk_alias_parse(parser);
    }
    SMK_TRY(parse_linkage(parser, &linkage));
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_FUNC) || smk_parse_at_directive(parser, SMK_DIRECTIVE_ENTRY)) {
        return smk_function_parse(parser, linkage.is_extern);
    }
    if (at_variable(parser)) {
        return smk_variable_parse(parser, linkage);
    }
    if (parser->token.kind == SMK_TOKEN_DOT_WORD) {
        return smk_parse_refuse_directive(parser);
    }
    return smk_parse_unexpected(parser, "a directive");
}

static smk_status parse_module(smk_parser *parser)
{
    SMK_TRY(smk_lex_next(&parser->lex, &parser->token, parser->error));
    SMK_TRY(parse_version(parser));
    SMK_TRY(parse_target(parser));
    SMK_TRY(parse_address_size(parser));
    while (parser->token.kind != SMK_TOKEN_END) {
        SMK_TRY(parse_top(parser));
    }
    return smk_resolve_module(parser);
}

static void free_parser(smk_parser *parser)
{
    smk_vector *vectors[] = {&parser->variables,       &parser->functions, &parser->prototypes,   &parser->files,
                             &parser->file_numbers,    &parser->aliases,   &parser->registers,    &parser->locals,
                             &parser->local_registers, &parser->labels,    &parser->instructions, &parser->pending,
                             &parser->inlined,         &parser->elements,  &parser->locations};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        smk_vector_free(vectors[i]);
    }
    smk_symbol_end(&parser->words);
    smk_symbol_end(&parser->symbols);
    smk_heap_free(parser);
}

static smk_status start_parser(smk_parser *parser, const char *text, size_t length)
{
    smk_module *module = parser->module;
    char *copy = smk_arena_allocate(&module->arena, length + 1, 1);
    if (copy == NULL || !smk_symbol_start(&parser->symbols, length / 8) || !smk_symbol_start_words(&parser->words)) {
        module->text.length = length;
        return smk_parse_memory(parser);
    }
    if (length != 0) {
        memcpy(copy, text, length);
    }
    /* Text that was read as a C string may carry its terminator along. */
    while (length > 0 && copy[length - 1] == '\0') {
        length--;
    }
    module->text = (smk_text){copy, length};
    smk_lex_start(&parser->lex, copy, length);
    parser->token.text.start = copy;
    return SMK_OK;
}

smk_status smk_parse_module(const char *text, size_t length, smk_module **module, smk_error *error)
{
    if (length >= UINT32_MAX) {
        return smk_status_fail(error, SMK_PTX, "a PTX text of %zu bytes is too long", length);
    }
    smk_parser *parser = smk_heap_allocate(1, sizeof *parser);
    smk_module *result = smk_heap_allocate(1, sizeof *result);
    if (parser == NULL || result == NULL) {
        smk_heap_free(parser);
        smk_heap_free(result);
        return smk_status_fail(error, SMK_MEMORY, "no memory left for a PTX module of %zu bytes", length);
    }
    parser->module = result;
    parser->error = &parser->fault;
    smk_status status = start_parser(parser, text, length);
    if (status == SMK_OK) {
        status = parse_module(parser);
    }
    if (status != SMK_OK) {
        smk_refuse_locate(parser);
    }
    if (status != SMK_OK && error != NULL) {
        *error = parser->fault;
    }
    free_parser(parser);
    if (status != SMK_OK) {
        smk_module_free(result);
        return status;
    }
    *module = result;
    return SMK_OK;
}
