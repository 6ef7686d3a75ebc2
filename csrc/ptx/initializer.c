/* Initial values of variables: numbers, addresses, and nested braces of them. */
#include "ptx/parse.h"

#include "base/heap.h"

#include <string.h>

#define INITIAL_BYTES_MAX (UINT64_C(1) << 26) /* of a whole module */

/* The value of a variable while it is read. */
typedef struct initializer {
    smk_variable *variable;
    const uint64_t *lengths;
    unsigned rank;
    unsigned element_bytes;
    uint8_t *bytes;
    uint64_t capacity;
    smk_vector relocations;
    unsigned run; /* number of bytes of an address given by masks so far: 0xFF(f), 0xFF00(f), ... */
} initializer;

static smk_status reserve(smk_parser *parser, initializer *value, uint64_t end)
{
    if (end <= value->capacity) {
        return SMK_OK;
    }
    uint64_t capacity = value->variable->unsized ? value->capacity * 2 + 64 : value->variable->bytes;
    capacity = capacity < end ? end : capacity;
    if (parser->initializer_bytes + capacity > INITIAL_BYTES_MAX) {
        return smk_parse_fail(parser, &parser->token, SMK_UNSUPPORTED,
                              "initialised variables of more than %llu bytes are not supported",
                              (unsigned long long)INITIAL_BYTES_MAX);
    }
    uint8_t *grown = smk_heap_resize(value->bytes, (size_t)value->capacity, (size_t)capacity);
    if (grown == NULL) {
        return smk_parse_memory(parser);
    }
    value->bytes = grown;
    value->capacity = capacity;
    return SMK_OK;
}

static void store(initializer *value, uint64_t offset, uint64_t bits)
{
    for (unsigned i = 0; i < value->element_bytes && i < 8; i++) {
        value->bytes[offset + i] = (uint8_t)(bits >> (8 * i));
    }
}

static smk_status parse_number(smk_parser *parser, initializer *value, uint64_t offset)
{
    smk_token at = parser->token;
    smk_constant constant = {SMK_TYPE_S64, 0};
    smk_type type = (smk_type)value->variable->type;
    smk_type_kind kind = smk_module_type_kind(type);
    SMK_TRY(smk_constant_parse(parser, &constant));
    bool is_float = smk_module_type_kind(constant.type) == SMK_KIND_FLOAT;
    uint64_t bits = constant.bits;
    bool good = is_float == (kind == SMK_KIND_FLOAT);
    if (is_float && kind == SMK_KIND_FLOAT) {
        good = smk_constant_float_bits(&constant, type, &bits);
    } else if (is_float && kind == SMK_KIND_BITS) {
        good = smk_module_type_bits(constant.type) == smk_module_type_bits(type);
    }
    if (!good || value->element_bytes > 8) {
        return smk_parse_fail(parser, &at, SMK_PTX_TYPE, "'%.*s' cannot be the initial value of a .%s",
                              SMK_TEXT_PRINT(at.text), smk_module_type_name(type));
    }
    store(value, offset, bits);
    return SMK_OK;
}

/* name, generic(name), each with + constant behind it */
static smk_status parse_address(smk_parser *parser, smk_relocation *relocation)
{
    smk_token name;
    SMK_TRY(smk_parse_name(parser, &name));
    if (smk_text_is(name.text, "generic") && smk_parse_at(parser, '(')) {
        relocation->is_generic = true;
        SMK_TRY(smk_parse_next(parser));
        SMK_TRY(smk_parse_name(parser, &name));
        SMK_TRY(smk_parse_expect(parser, ')'));
    }
    const smk_symbol *symbol = smk_symbol_find(&parser->symbols, name.text);
    if (symbol == NULL || (symbol->kind != SMK_SYMBOL_VARIABLE && symbol->kind != SMK_SYMBOL_FUNCTION)) {
        return smk_parse_fail(parser, &name, SMK_PTX, "'%.*s' is not declared as a variable or function",
                              SMK_TEXT_PRINT(name.text));
    }
    relocation->is_function = symbol->kind == SMK_SYMBOL_FUNCTION;
    relocation->index = symbol->index;
    if (smk_parse_at(parser, '+') || smk_parse_at(parser, '-')) {
        smk_token at = parser->token;
        smk_constant addend = {SMK_TYPE_S64, 0};
        SMK_TRY(smk_constant_parse(parser, &addend)); /* the sign is a part of it */
        if (smk_module_type_kind(addend.type) == SMK_KIND_FLOAT) {
            return smk_parse_fail(parser, &at, SMK_PTX, "a float cannot be added to an address");
        }
        relocation->addend = (int64_t)addend.bits;
    }
    return SMK_OK;
}

static smk_status push_relocation(smk_parser *parser, initializer *value, const smk_relocation *relocation)
{
    smk_relocation *slot = smk_vector_push(&value->relocations, sizeof *slot);
    if (slot == NULL) {
        return smk_parse_memory(parser);
    }
    *slot = *relocation;
    return SMK_OK;
}

/* 0xFF00(address): one byte of an address. A whole run of eight such bytes is one address. */
static smk_status parse_masked(smk_parser *parser, initializer *value, uint64_t offset)
{
    smk_token at = parser->token;
    smk_relocation relocation = {.offset = offset, .bytes = 8};
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(smk_parse_expect(parser, '('));
    SMK_TRY(parse_address(parser, &relocation));
    SMK_TRY(smk_parse_expect(parser, ')'));
    smk_relocation *last = value->relocations.count == 0
                               ? NULL
                               : (smk_relocation *)value->relocations.items + value->relocations.count - 1;
    bool same = value->run != 0 && last != NULL && last->index == relocation.index &&
                last->is_function == relocation.is_function && last->is_generic == relocation.is_generic &&
                last->addend == relocation.addend && last->offset + value->run == offset;
    bool good = value->element_bytes == 1 && at.value == UINT64_C(0xFF) << (8 * value->run);
    if (!good || (value->run != 0 && !same)) {
        return smk_parse_fail(parser, &at, SMK_UNSUPPORTED,
                              "'%.*s': only the eight bytes of an address in order are supported",
                              SMK_TEXT_PRINT(at.text));
    }
    if (value->run == 0) {
        SMK_TRY(push_relocation(parser, value, &relocation));
    }
    value->run = (value->run + 1) % 8;
    return SMK_OK;
}

static smk_status parse_scalar(smk_parser *parser, initializer *value, uint64_t offset)
{
    smk_token at = parser->token;
    SMK_TRY(reserve(parser, value, offset + value->element_bytes));
    if (at.kind == SMK_TOKEN_INTEGER) {
        SMK_TRY(smk_parse_look_ahead(parser));
        if (parser->ahead.kind == SMK_TOKEN_MARK && parser->ahead.mark == '(') {
            return parse_masked(parser, value, offset);
        }
    }
    if (value->run != 0) {
        return smk_parse_fail(parser, &at, SMK_UNSUPPORTED,
                              "masks select only a part of the bytes of an address before '%.*s'",
                              SMK_TEXT_PRINT(at.text));
    }
    if (at.kind != SMK_TOKEN_WORD || smk_text_is(at.text, "WARP_SZ")) {
        return parse_number(parser, value, offset);
    }
    smk_relocation relocation = {.offset = offset, .bytes = value->element_bytes};
    smk_type_kind kind = smk_module_type_kind((smk_type)value->variable->type);
    SMK_TRY(parse_address(parser, &relocation));
    if ((value->element_bytes != 8 && value->element_bytes != 4) || kind == SMK_KIND_FLOAT) {
        return smk_parse_fail(parser, &at, SMK_PTX_TYPE, "an address cannot be the initial value of a .%s",
                              smk_module_type_name((smk_type)value->variable->type));
    }
    return push_relocation(parser, value, &relocation);
}

/* Dimension `level` and those inside it, from byte `offset` on. */
static smk_status parse_level(smk_parser *parser, initializer *value, unsigned level, uint64_t offset)
{
    if (level == value->rank) {
        return parse_scalar(parser, value, offset);
    }
    uint64_t stride = value->element_bytes;
    for (unsigned i = level + 1; i < value->rank; i++) {
        stride *= value->lengths[i];
    }
    bool open = level == 0 && value->variable->unsized;
    uint64_t count = 0;
    bool more = true;
    SMK_TRY(smk_parse_expect(parser, '{'));
    if (smk_parse_at(parser, '}')) {
        more = false;
    }
    while (more) {
        if (!open && count == value->lengths[level]) {
            return smk_parse_fail(parser, &parser->token, SMK_PTX, "more initial values than the %llu elements",
                                  (unsigned long long)value->lengths[level]);
        }
        SMK_TRY(parse_level(parser, value, level + 1, offset + count * stride));
        count++;
        SMK_TRY(smk_parse_accept(parser, ',', &more));
    }
    if (open) {
        value->variable->bytes = count * stride;
    }
    return smk_parse_expect(parser, '}');
}

static smk_status keep(smk_parser *parser, initializer *value)
{
    smk_variable *variable = value->variable;
    SMK_TRY(reserve(parser, value, variable->bytes));
    if (value->run != 0) {
        return smk_parse_fail(parser, &parser->token, SMK_UNSUPPORTED,
                              "masks select only a part of the bytes of an address");
    }
    variable->unsized = false;
    variable->initializer = smk_arena_allocate(&parser->module->arena, (size_t)variable->bytes, 1);
    variable->relocation_count = (uint32_t)value->relocations.count;
    variable->relocations = smk_vector_copy(&value->relocations, sizeof(smk_relocation), &parser->module->arena);
    if (variable->initializer == NULL || variable->relocations == NULL) {
        return smk_parse_memory(parser);
    }
    if (variable->bytes != 0) {
        memcpy(variable->initializer, value->bytes, (size_t)variable->bytes);
    }
    parser->initializer_bytes += variable->bytes;
    return SMK_OK;
}

smk_status smk_initializer_parse(smk_parser *parser, smk_variable *variable, const uint64_t *lengths, unsigned rank)
{
    initializer value = {.variable = variable, .lengths = lengths, .rank = rank};
    value.element_bytes = smk_module_type_bits((smk_type)variable->type) / 8;
    smk_status status = parse_level(parser, &value, 0, 0);
    if (status == SMK_OK) {
        status = keep(parser, &value);
    }
    smk_heap_free(value.bytes);
    smk_vector_free(&value.relocations);
    return status;
}
