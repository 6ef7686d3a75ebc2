/* Parses instructions: guard, words, operands. verify.c checks them against their forms. */
#include "ptx/instruction.h"

#include "ptx/opcode.h"
#include "ptx/parts.h"
#include "ptx/refuse.h"
#include "ptx/texel.h"
#include "ptx/verify.h"

#include <string.h>

enum { ENVIRONMENT_REGISTERS = 32, MONITORS = 8 };

smk_status smk_instruction_add_pending(smk_parser *parser, const smk_token *name, bool in_table, uint32_t index,
                                       uint32_t slot)
{
    smk_pending_label *pending = smk_vector_push(&parser->pending, sizeof *pending);
    if (pending == NULL) {
        return smk_parse_memory(parser);
    }
    *pending = (smk_pending_label){*name, in_table, index, slot};
    return SMK_OK;
}

/* The innermost range %r<n> that a name such as %r12 belongs to. */
static smk_symbol *find_range(const smk_parser *parser, smk_text name)
{
    smk_symbol *best = NULL;
    uint64_t number = 0;
    uint64_t scale = 1;
    for (size_t length = name.length; length > 1 && name.length - length < 10; length--) {
        char digit = name.start[length - 1];
        if (digit < '0' || digit > '9') {
            break;
        }
        number += scale * (uint64_t)(digit - '0');
        scale *= 10;
        if (digit == '0' && length != name.length) {
            continue; /* %r012 is not a register of %r */
        }
        smk_symbol *range = smk_symbol_find_range(&parser->symbols, (smk_text){name.start, length - 1});
        if (range != NULL && number < range->count && (best == NULL || range->scope > best->scope)) {
            best = range;
        }
    }
    return best;
}

bool smk_instruction_is_in_range(const smk_parser *parser, smk_text name)
{
    const smk_symbol *range = find_range(parser, name);
    return range != NULL && range->scope == parser->symbols.depth;
}

static unsigned deepest_range(const smk_parser *parser)
{
    unsigned depth = parser->symbols.depth;
    while (depth > 0 && parser->symbols.scopes[depth].ranges == 0) {
        depth--;
    }
    return depth;
}

smk_status smk_instruction_add_register(smk_parser *parser, smk_text name, smk_type type, uint32_t *index)
{
    smk_register *slot = smk_vector_push(&parser->registers, sizeof *slot);
    if (slot == NULL) {
        return smk_parse_memory(parser);
    }
    if (parser->registers.count > SMK_REGISTERS_MAX) {
        return smk_parse_fail(parser, &parser->token, SMK_PTX, "a function uses more than %d registers",
                              SMK_REGISTERS_MAX);
    }
    *slot = (smk_register){name, (uint8_t)type};
    *index = (uint32_t)(parser->registers.count - 1);
    return SMK_OK;
}

/* The symbol of a name. A register of a range is created at its first use. NULL with SMK_OK: no such symbol. */
static smk_status find_name(smk_parser *parser, smk_text name, smk_symbol **found)
{
    smk_symbol *symbol = smk_symbol_find(&parser->symbols, name);
    if (symbol == NULL || symbol->scope < deepest_range(parser)) {
        smk_symbol *range = find_range(parser, name);
        if (range != NULL && (symbol == NULL || range->scope > symbol->scope)) {
            symbol = smk_symbol_add(&parser->symbols, SMK_SYMBOL_REGISTER, name, range->scope);
            if (symbol == NULL) {
                return smk_parse_memory(parser);
            }
            symbol->type = range->type;
            symbol->width = range->width;
            symbol->line = range->line;
        }
    }
    if (symbol != NULL && symbol->kind == SMK_SYMBOL_REGISTER && symbol->index == SMK_NO_INDEX) {
        uint32_t first = (uint32_t)parser->registers.count;
        parser->reorders |= symbol->width > 1;
        for (unsigned i = 0; i < symbol->width; i++) { /* a vector is `width` consecutive registers */
            uint32_t index = 0;
            SMK_TRY(smk_instruction_add_register(parser, name, (smk_type)symbol->type, &index));
        }
        symbol->index = first;
    }
    *found = symbol;
    return SMK_OK;
}

static bool is_adjacent(const smk_token *a, const smk_token *b)
{
    return a->text.start + a->text.length == b->text.start;
}

/* Makes a list of `count` operands. */
static smk_status make_list(smk_parser *parser, const smk_operand *elements, uint32_t count, smk_operand *operand)
{
    memset(operand, 0, sizeof *operand);
    operand->kind = SMK_OPERAND_LIST;
    operand->count = count;
    operand->element = smk_arena_allocate(&parser->module->arena, count, sizeof *elements);
    if (operand->element == NULL) {
        return smk_parse_memory(parser);
    }
    memcpy(operand->element, elements, count * sizeof *elements);
    return SMK_OK;
}

/* %tid and its like: a vector of four, of which the last is 0, and %tid.w, which is that 0. */
static smk_status parse_special_vector(smk_parser *parser, const smk_token *name, bool component, smk_operand *operand,
                                       bool *found)
{
    static const struct {
        const char *name;
        smk_special first;
    } vectors[] = {{"%tid", SMK_SPECIAL_TID_X},
                   {"%ntid", SMK_SPECIAL_NTID_X},
                   {"%ctaid", SMK_SPECIAL_CTAID_X},
                   {"%nctaid", SMK_SPECIAL_NCTAID_X},
                   {"%clusterid", SMK_SPECIAL_CLUSTERID_X},
                   {"%nclusterid", SMK_SPECIAL_NCLUSTERID_X},
                   {"%cluster_ctaid", SMK_SPECIAL_CLUSTER_CTAID_X},
                   {"%cluster_nctaid", SMK_SPECIAL_CLUSTER_NCTAID_X}};
    smk_operand elements[4] = {{.kind = SMK_OPERAND_SPECIAL},
                               {.kind = SMK_OPERAND_SPECIAL},
                               {.kind = SMK_OPERAND_SPECIAL},
                               {.kind = SMK_OPERAND_IMMEDIATE, .type = SMK_TYPE_S64}};
    *found = false;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        if (!smk_text_is(name->text, vectors[i].name)) {
            continue;
        }
        for (uint32_t k = 0; k < 3; k++) {
            elements[k].index = (uint32_t)vectors[i].first + k;
        }
        if (component && !smk_text_is(parser->token.text, ".w")) {
            return smk_parse_fail(parser, name, SMK_PTX, "unknown special register '%.*s%.*s'",
                                  SMK_TEXT_PRINT(name->text), SMK_TEXT_PRINT(parser->token.text));
        }
        *found = true;
        if (component) {
            *operand = elements[3];
            return smk_parse_next(parser);
        }
        return make_list(parser, elements, 4, operand);
    }
    return SMK_OK;
}

/* %reserved_smem_offset_begin and its like: addresses in a shared variable, and its size. */
static smk_status parse_reserved(smk_parser *parser, smk_text name, smk_operand *operand, bool *found)
{
    static const char prefix[] = "%reserved_smem_offset_";
    static const char *const ends[] = {"begin", "0", "1", "end", "cap"};
    enum { END = 3, CAP, COUNT };
    unsigned which = 0;
    smk_text end = {name.start + sizeof prefix - 1, name.length - (sizeof prefix - 1)};
    *found = name.length > sizeof prefix - 1 && memcmp(name.start, prefix, sizeof prefix - 1) == 0;
    while (*found && which < COUNT && !smk_text_is(end, ends[which])) {
        which++;
    }
    *found = *found && which < COUNT;
    if (!*found) {
        return SMK_OK;
    }
    SMK_TRY(smk_variable_find_reserved(parser, &operand->index));
    operand->kind = which == CAP ? SMK_OPERAND_IMMEDIATE : SMK_OPERAND_VARIABLE;
    operand->type = which == CAP ? SMK_TYPE_S64 : SMK_TYPE_NONE;
    operand->bits = which == CAP ? SMK_RESERVED_BYTES : 0;
    operand->index = which == CAP ? 0 : operand->index;
    operand->offset = which == END ? SMK_RESERVED_BYTES : 0;
    return SMK_OK;
}

/* Is it the prefix, a number below `count`, and the suffix? */
static bool is_numbered(smk_text name, const char *prefix, unsigned count, const char *suffix)
{
    const size_t digits = strlen(prefix), end = name.length - strlen(suffix);
    unsigned number = 0;
    if (name.length <= digits + strlen(suffix) || end > digits + 2 || memcmp(name.start, prefix, digits) != 0 ||
        memcmp(name.start + end, suffix, strlen(suffix)) != 0) {
        return false;
    }
    for (size_t i = digits; i < end; i++) {
        const char digit = name.start[i];
        number = digit >= '0' && digit <= '9' ? 10 * number + (unsigned)(digit - '0') : count;
    }
    return number < count;
}

/* Registers that read 0: %envreg0 to %envreg31, which drivers set for two alone (special registers of their own), and
 * the performance monitors %pm0 to %pm7, of 32 or 64 bits, while nothing is measured. */
static bool parse_zero(smk_text name, smk_operand *operand)
{
    if (!is_numbered(name, "%envreg", ENVIRONMENT_REGISTERS, "") && !is_numbered(name, "%pm", MONITORS, "") &&
        !is_numbered(name, "%pm", MONITORS, "_64")) {
        return false;
    }
    *operand = (smk_operand){.kind = SMK_OPERAND_IMMEDIATE, .type = SMK_TYPE_S64};
    return true;
}

/* %tid.x, %laneid */
static smk_status parse_special(smk_parser *parser, const smk_token *name, smk_operand *operand, bool *found)
{
    smk_token whole = *name;
    bool component = parser->token.kind == SMK_TOKEN_DOT_WORD && is_adjacent(name, &parser->token);
    if (component) {
        whole.text.length += parser->token.text.length;
    }
    uint32_t index = smk_symbol_word(&parser->words, SMK_WORD_SPECIAL, whole.text);
    *found = index != SMK_NO_INDEX;
    if (*found) {
        operand->kind = SMK_OPERAND_SPECIAL;
        operand->index = index;
        return component ? smk_parse_next(parser) : SMK_OK;
    }
    SMK_TRY(parse_special_vector(parser, name, component, operand, found));
    if (!*found) {
        SMK_TRY(parse_reserved(parser, whole.text, operand, found));
    }
    *found = *found || parse_zero(whole.text, operand);
    if (*found) {
        return SMK_OK;
    }
    smk_feature refused = smk_refuse_find_special(parser, name->text);
    return refused == SMK_FEATURE_COUNT ? SMK_OK : smk_refuse_words(parser, name, whole.text, refused);
}

static smk_status parse_offset(smk_parser *parser, int64_t *offset)
{
    smk_token at = parser->token;
    smk_constant constant = {SMK_TYPE_S64, 0};
    if (!smk_parse_at(parser, '+') && !smk_parse_at(parser, '-')) {
        return SMK_OK;
    }
    SMK_TRY(smk_constant_parse(parser, &constant)); /* the sign is a part of it */
    if (smk_module_type_kind(constant.type) == SMK_KIND_FLOAT) {
        return smk_parse_fail(parser, &at, SMK_PTX, "a float cannot be added to an address");
    }
    *offset = (int64_t)constant.bits;
    return SMK_OK;
}

/* name[i]: the i-th element of a variable */
static smk_status parse_subscript(smk_parser *parser, const smk_variable *variable, int64_t *offset)
{
    uint64_t index = 0;
    uint64_t bytes = smk_module_type_bits((smk_type)variable->type) / 8;
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(smk_constant_parse_count(parser, "the index", UINT32_MAX, &index));
    *offset = (int64_t)(index * bytes);
    return smk_parse_expect(parser, ']');
}

/* Is this the name of a vector of registers? Then a dot and a component may follow. */
static bool is_vector(const smk_parser *parser, smk_text name)
{
    const smk_symbol *symbol = smk_symbol_find(&parser->symbols, name);
    symbol = symbol == NULL ? find_range(parser, name) : symbol;
    return symbol != NULL && symbol->width > 1;
}

/* %v.x, or %v: all of its components */
static smk_status parse_vector(smk_parser *parser, const smk_token *name, const smk_symbol *symbol,
                               smk_operand *operand)
{
    smk_operand elements[4] = {{0}};
    smk_text word = parser->token.text;
    if (parser->token.kind != SMK_TOKEN_DOT_WORD) {
        for (uint32_t i = 0; i < symbol->width; i++) {
            elements[i].kind = SMK_OPERAND_REGISTER;
            elements[i].index = symbol->index + i;
        }
        return make_list(parser, elements, symbol->width, operand);
    }
    for (uint32_t i = 0; i < symbol->width && word.length == 2; i++) {
        if (word.start[1] == "xyzw"[i] || word.start[1] == "rgba"[i]) {
            operand->kind = SMK_OPERAND_REGISTER;
            operand->index = symbol->index + i;
            return smk_parse_next(parser);
        }
    }
    return smk_parse_fail(parser, &parser->token, SMK_PTX, "'%.*s' has %u components, and none is '%.*s'",
                          SMK_TEXT_PRINT(name->text), (unsigned)symbol->width, SMK_TEXT_PRINT(word));
}

/* %r1.b2 in a video instruction */
static smk_status parse_selected(smk_parser *parser, const smk_token *name, smk_operand *operand)
{
    smk_symbol *symbol = NULL;
    const uint16_t select = smk_parts_read(parser->token.text);
    if (!parser->selects || parser->token.kind != SMK_TOKEN_DOT_WORD || select == 0) {
        return SMK_OK;
    }
    SMK_TRY(find_name(parser, name->text, &symbol));
    if (symbol != NULL && symbol->kind == SMK_SYMBOL_REGISTER && symbol->width == 1) {
        *operand = (smk_operand){.kind = SMK_OPERAND_REGISTER, .index = symbol->index, .select = select};
        return smk_parse_next(parser);
    }
    return SMK_OK;
}

static smk_status parse_named(smk_parser *parser, smk_operand *operand)
{
    smk_token name = parser->token;
    smk_symbol *symbol = NULL;
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(parse_selected(parser, &name, operand));
    if (operand->select != 0) {
        return SMK_OK;
    }
    if (parser->token.kind != SMK_TOKEN_DOT_WORD || is_vector(parser, name.text)) {
        SMK_TRY(find_name(parser, name.text, &symbol));
    }
    if (symbol == NULL) {
        bool special = false;
        SMK_TRY(parse_special(parser, &name, operand, &special));
        return special ? SMK_OK
                       : smk_parse_fail(parser, &name, SMK_PTX, "'%.*s' is not declared", SMK_TEXT_PRINT(name.text));
    }
    operand->index = symbol->index;
    switch (symbol->kind) {
    case SMK_SYMBOL_REGISTER:
        if (symbol->width > 1) {
            return parse_vector(parser, &name, symbol, operand);
        }
        operand->kind = SMK_OPERAND_REGISTER;
        return smk_parse_at(parser, '+') ? parse_offset(parser, &operand->offset) : SMK_OK;
    case SMK_SYMBOL_FUNCTION:
        operand->kind = SMK_OPERAND_FUNCTION;
        return SMK_OK;
    case SMK_SYMBOL_VARIABLE:
        operand->kind = SMK_OPERAND_VARIABLE;
        if (smk_parse_at(parser, '[')) {
            operand->base_kind = SMK_OPERAND_VARIABLE; /* a mark for verify.c: this may be an address */
            return parse_subscript(parser, smk_parse_variable(parser, symbol->index), &operand->offset);
        }
        return parse_offset(parser, &operand->offset);
    case SMK_SYMBOL_RANGE:
    case SMK_SYMBOL_LABEL:
    case SMK_SYMBOL_WORD:
        break;
    }
    return smk_parse_fail(parser, &name, SMK_PTX, "'%.*s' is a label, not an operand", SMK_TEXT_PRINT(name.text));
}

static smk_status parse_constant(smk_parser *parser, smk_operand *operand)
{
    smk_constant constant = {SMK_TYPE_S64, 0};
    SMK_TRY(smk_constant_parse(parser, &constant));
    operand->kind = SMK_OPERAND_IMMEDIATE;
    operand->type = (uint8_t)constant.type; /* the type as written; verify.c replaces it by that of the slot */
    operand->bits = constant.bits;
    return SMK_OK;
}

/* [base + offset] and, outside lists, [object, {coordinates}]; the '[' is the present token */
static smk_status parse_address(smk_parser *parser, bool in_list, smk_operand *operand)
{
    SMK_TRY(smk_parse_next(parser));
    smk_token at = parser->token;
    smk_operand base = {0};
    if (at.kind == SMK_TOKEN_WORD && !smk_text_is(at.text, "WARP_SZ")) {
        SMK_TRY(parse_named(parser, &base));
    } else {
        SMK_TRY(parse_constant(parser, &base));
    }
    bool good = base.kind == SMK_OPERAND_REGISTER || base.kind == SMK_OPERAND_VARIABLE ||
                (base.kind == SMK_OPERAND_IMMEDIATE && smk_module_type_kind((smk_type)base.type) != SMK_KIND_FLOAT);
    if (!good) {
        return smk_parse_fail(parser, &at, SMK_PTX, "'%.*s' cannot be an address", SMK_TEXT_PRINT(at.text));
    }
    if (base.kind == SMK_OPERAND_REGISTER && smk_parse_at(parser, '-')) {
        SMK_TRY(parse_offset(parser, &base.offset));
    }
    if (!in_list && (base.kind == SMK_OPERAND_REGISTER || base.kind == SMK_OPERAND_VARIABLE) && base.offset == 0 &&
        smk_parse_at(parser, ',')) {
        return smk_texel_parse(parser, &base, operand);
    }
    *operand = base;
    operand->kind = SMK_OPERAND_ADDRESS;
    operand->base_kind = base.kind;
    operand->type = SMK_TYPE_NONE;
    return smk_parse_expect(parser, ']');
}

smk_status smk_instruction_parse_scalar(smk_parser *parser, smk_operand *operand)
{
    memset(operand, 0, sizeof *operand);
    if (smk_parse_at(parser, '!')) {
        smk_token at = parser->token;
        SMK_TRY(smk_parse_look_ahead(parser));
        if (parser->ahead.kind == SMK_TOKEN_WORD) {
            SMK_TRY(smk_parse_next(parser));
            SMK_TRY(parse_named(parser, operand));
            operand->negate = true;
            return operand->kind == SMK_OPERAND_REGISTER
                       ? SMK_OK
                       : smk_parse_fail(parser, &at, SMK_PTX, "'!' applies to predicates only");
        }
    }
    if (parser->selects && smk_parse_at(parser, '-')) { /* vmad -a */
        SMK_TRY(smk_parse_look_ahead(parser));
        if (parser->ahead.kind == SMK_TOKEN_WORD && !smk_text_is(parser->ahead.text, "WARP_SZ")) {
            SMK_TRY(smk_parse_next(parser));
            SMK_TRY(parse_named(parser, operand));
            operand->negate = true;
            return SMK_OK;
        }
    }
    if (smk_parse_at(parser, '[')) {
        return parse_address(parser, true, operand);
    }
    if (parser->token.kind != SMK_TOKEN_WORD || smk_text_is(parser->token.text, "WARP_SZ")) {
        return parse_constant(parser, operand);
    }
    if (smk_text_is(parser->token.text, "_")) {
        operand->kind = SMK_OPERAND_SINK;
        return smk_parse_next(parser);
    }
    return parse_named(parser, operand);
}

static smk_status keep_list(smk_parser *parser, smk_operand *operand)
{
    memset(operand, 0, sizeof *operand);
    operand->kind = SMK_OPERAND_LIST;
    operand->count = (uint32_t)parser->elements.count;
    operand->element = smk_vector_copy(&parser->elements, sizeof(smk_operand), &parser->module->arena);
    return operand->element == NULL ? smk_parse_memory(parser) : SMK_OK;
}

/* Operands up to the mark `close`; the present token is the mark that opens the list. */
smk_status smk_instruction_parse_list(smk_parser *parser, unsigned close, smk_operand *operand)
{
    bool done = false;
    parser->elements.count = 0;
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(smk_parse_accept(parser, close, &done));
    while (!done) {
        smk_operand *element = smk_vector_push(&parser->elements, sizeof *element);
        if (element == NULL) {
            return smk_parse_memory(parser);
        }
        smk_token at = parser->token;
        SMK_TRY(smk_instruction_parse_scalar(parser, element));
        if (element->kind == SMK_OPERAND_LIST || (element->kind == SMK_OPERAND_REGISTER && element->offset != 0)) {
            return smk_parse_fail(parser, &at, SMK_PTX, "'%.*s' cannot stand in a list like this",
                                  SMK_TEXT_PRINT(at.text));
        }
        bool more = false;
        SMK_TRY(smk_parse_accept(parser, ',', &more));
        if (!more) {
            done = true;
            SMK_TRY(smk_parse_expect(parser, close));
        }
    }
    return keep_list(parser, operand);
}

smk_status smk_instruction_parse_operand(smk_parser *parser, smk_operand *operand)
{
    if (smk_parse_at(parser, '{')) {
        SMK_TRY(smk_instruction_parse_list(parser, '}', operand));
        return smk_texel_parse_residency(parser, operand);
    }
    if (smk_parse_at(parser, '[')) {
        return parse_address(parser, false, operand);
    }
    SMK_TRY(smk_instruction_parse_scalar(parser, operand));
    bool pair = false;
    bool can = operand->kind == SMK_OPERAND_REGISTER || operand->kind == SMK_OPERAND_SINK;
    if (can) {
        SMK_TRY(smk_parse_accept(parser, '|', &pair));
    }
    if (pair) {
        parser->elements.count = 0;
        smk_operand *first = smk_vector_push(&parser->elements, sizeof *first);
        if (first == NULL) {
            return smk_parse_memory(parser);
        }
        *first = *operand;
        smk_operand *second = smk_vector_push(&parser->elements, sizeof *second);
        if (second == NULL) {
            return smk_parse_memory(parser);
        }
        SMK_TRY(smk_instruction_parse_scalar(parser, second));
        if (second->kind != SMK_OPERAND_REGISTER && second->kind != SMK_OPERAND_SINK) {
            return smk_parse_unexpected(parser, "a predicate behind '|'");
        }
        SMK_TRY(keep_list(parser, operand));
        operand->pair = true;
    }
    return SMK_OK;
}

smk_status smk_instruction_parse_table(smk_parser *parser, smk_operand *operand)
{
    smk_token name;
    SMK_TRY(smk_parse_name(parser, &name));
    const smk_symbol *symbol = smk_symbol_find(&parser->symbols, name.text);
    if (symbol == NULL || symbol->kind != SMK_SYMBOL_LABEL) {
        return smk_parse_fail(parser, &name, SMK_PTX, "'%.*s' is not declared as a table or prototype before this line",
                              SMK_TEXT_PRINT(name.text));
    }
    memset(operand, 0, sizeof *operand);
    operand->kind = SMK_OPERAND_LABEL;
    operand->index = symbol->index;
    return SMK_OK;
}

/* The operands of bra and brx, which name labels. */
static smk_status parse_target(smk_parser *parser, smk_statement *statement, unsigned slot)
{
    smk_operand *operand = &statement->instruction.operands[slot];
    smk_token name;
    if (statement->instruction.opcode == SMK_OPCODE_BRX) {
        return slot == 0 ? smk_instruction_parse_operand(parser, operand)
                         : smk_instruction_parse_table(parser, operand);
    }
    SMK_TRY(smk_parse_name(parser, &name));
    operand->kind = SMK_OPERAND_LABEL;
    return smk_instruction_add_pending(parser, &name, false, (uint32_t)parser->instructions.count, slot);
}

static smk_status parse_operands(smk_parser *parser, smk_statement *statement)
{
    smk_instruction *instruction = &statement->instruction;
    bool more = !smk_parse_at(parser, ';');
    parser->selects = *smk_module_opcode_name((smk_opcode)instruction->opcode) == 'v';
    while (more) {
        unsigned slot = instruction->operand_count;
        if (slot == SMK_OPERANDS_MAX) {
            return smk_parse_fail(parser, &parser->token, SMK_PTX, "'%s' has more than %d operands",
                                  smk_module_opcode_name((smk_opcode)instruction->opcode), SMK_OPERANDS_MAX);
        }
        smk_token *at = &statement->operand_at[slot];
        *at = parser->token;
        if (smk_opcode_class(instruction) == SMK_CLASS_BRANCH) {
            SMK_TRY(parse_target(parser, statement, slot));
        } else {
            SMK_TRY(smk_instruction_parse_operand(parser, &instruction->operands[slot]));
        }
        at->text.length = (size_t)(parser->module->text.start + parser->last_end - at->text.start);
        instruction->operand_count++;
        SMK_TRY(smk_parse_accept(parser, ',', &more));
    }
    return SMK_OK;
}

static smk_status parse_words(smk_parser *parser, smk_statement *statement)
{
    smk_instruction *instruction = &statement->instruction;
    for (; parser->token.kind == SMK_TOKEN_DOT_WORD; instruction->word_count++) {
        const smk_token *token = &parser->token;
        smk_text text = smk_parse_tail(token->text);
        if (instruction->word_count == SMK_WORDS_MAX) {
            return smk_parse_fail(parser, token, SMK_PTX, "more than %d words behind the opcode", SMK_WORDS_MAX);
        }
        smk_word *word = &instruction->words[instruction->word_count];
        uint32_t index = smk_symbol_word(&parser->words, SMK_WORD_TYPE, text);
        word->is_type = index != SMK_NO_INDEX;
        if (!word->is_type) {
            index = smk_symbol_word(&parser->words, SMK_WORD_MODIFIER, text);
        }
        if (index == SMK_NO_INDEX) {
            uint32_t refused = smk_symbol_word(&parser->words, SMK_WORD_UNSUPPORTED, text);
            smk_text whole = statement->opcode_at.text;
            whole.length = (size_t)(token->text.start + token->text.length - whole.start);
            if (refused != SMK_NO_INDEX) {
                return smk_refuse_words(parser, token, whole, (smk_feature)refused);
            }
            return smk_refuse_unknown(parser, smk_parse_fail(parser, token, SMK_PTX, "unknown word '%.*s' behind '%s'",
                                                             SMK_TEXT_PRINT(token->text),
                                                             smk_module_opcode_name((smk_opcode)instruction->opcode)));
        }
        word->value = (uint8_t)index;
        if (!word->is_type) {
            instruction->has[index / 64] |= UINT64_C(1) << (index % 64);
        }
        statement->word_at[instruction->word_count] = *token;
        SMK_TRY(smk_parse_next(parser));
    }
    return SMK_OK;
}

static smk_status parse_opcode(smk_parser *parser, smk_statement *statement)
{
    const smk_token *token = &parser->token;
    if (token->kind != SMK_TOKEN_WORD) {
        return smk_parse_unexpected(parser, "an instruction");
    }
    uint32_t opcode = smk_symbol_word(&parser->words, SMK_WORD_OPCODE, token->text);
    if (opcode == SMK_NO_INDEX) {
        uint32_t refused = smk_symbol_word(&parser->words, SMK_WORD_UNSUPPORTED_OPCODE, token->text);
        if (refused != SMK_NO_INDEX) {
            return smk_refuse_words(parser, token, token->text, (smk_feature)refused);
        }
        return smk_refuse_unknown(
            parser, smk_parse_fail(parser, token, SMK_PTX, "unknown instruction '%.*s'", SMK_TEXT_PRINT(token->text)));
    }
    statement->opcode_at = *token;
    statement->instruction.opcode = (uint16_t)opcode;
    statement->instruction.line = token->line;
    statement->instruction.column = token->column;
    return smk_parse_next(parser);
}

/* @p or @!p; the present token is '@' */
static smk_status parse_guard(smk_parser *parser, smk_instruction *instruction)
{
    smk_operand operand = {0};
    SMK_TRY(smk_parse_next(parser));
    smk_token at = parser->token;
    SMK_TRY(smk_parse_accept(parser, '!', &instruction->guard_negate));
    if (parser->token.kind != SMK_TOKEN_WORD) {
        return smk_parse_unexpected(parser, "a predicate");
    }
    at = parser->token;
    SMK_TRY(parse_named(parser, &operand));
    const smk_register *registers = parser->registers.items;
    if (operand.kind != SMK_OPERAND_REGISTER || operand.offset != 0 || registers[operand.index].type != SMK_TYPE_PRED) {
        return smk_parse_fail(parser, &at, SMK_PTX_TYPE, "the guard '%.*s' is not a predicate",
                              SMK_TEXT_PRINT(at.text));
    }
    instruction->guarded = true;
    instruction->guard = operand.index;
    return SMK_OK;
}

smk_status smk_instruction_parse(smk_parser *parser)
{
    smk_statement statement;
    smk_instruction *instruction = &statement.instruction;
    memset(instruction, 0, sizeof *instruction);
    instruction->source_file = parser->has_loc ? parser->source_number : SMK_NO_INDEX;
    instruction->source_line = parser->has_loc ? parser->source_line : 0;
    if (smk_parse_at(parser, '@')) {
        SMK_TRY(parse_guard(parser, instruction));
    }
    SMK_TRY(parse_opcode(parser, &statement));
    SMK_TRY(parse_words(parser, &statement));
    SMK_TRY(smk_loc_location(parser, &instruction->source_location));
    if (instruction->opcode == SMK_OPCODE_CALL) {
        SMK_TRY(smk_call_parse(parser, &statement));
    } else {
        SMK_TRY(parse_operands(parser, &statement));
    }
    if (!smk_parse_at(parser, ';')) {
        return smk_parse_unexpected(parser, "',' or ';'");
    }
    if (instruction->opcode != SMK_OPCODE_CALL) {
        SMK_TRY(smk_verify_instruction(parser, &statement));
    }
    SMK_TRY(smk_parse_next(parser));
    return smk_expand_push(parser, &statement);
}
