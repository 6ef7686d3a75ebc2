/* Declarations of registers, variables and parameters. */
#include "ptx/instruction.h"
#include "ptx/parse.h"
#include "ptx/reference.h"
#include "ptx/texel.h"

#include <stdio.h>
#include <string.h>

#define BYTES_MAX (UINT64_C(1) << 40) /* of one variable */
#define LOCAL_BYTES_MAX (UINT64_C(1) << 24)
#define PARAMETER_BYTES_MAX UINT64_C(32764)
enum { ALIGNMENT_MAX = 1 << 16, RANK_MAX = 16 };

typedef struct extent {
    uint64_t lengths[RANK_MAX + 1]; /* outermost first; the vector width last, where there is one */
    unsigned rank;
    bool unsized; /* lengths[0] is not written */
} extent;

static smk_status parse_alignment(smk_parser *parser, uint32_t *alignment)
{
    smk_token at = parser->token;
    uint64_t value = 0;
    SMK_TRY(smk_constant_parse_count(parser, "the alignment", ALIGNMENT_MAX, &value));
    if (value == 0 || (value & (value - 1)) != 0) {
        return smk_parse_fail(parser, &at, SMK_PTX, "the alignment must be a power of two, found '%.*s'",
                              SMK_TEXT_PRINT(at.text));
    }
    *alignment = (uint32_t)value;
    return SMK_OK;
}

static unsigned vector_width(const smk_parser *parser)
{
    static const struct {
        smk_directive directive;
        unsigned width;
    } widths[] = {{SMK_DIRECTIVE_V2, 2}, {SMK_DIRECTIVE_V4, 4}, {SMK_DIRECTIVE_V8, 8}};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        if (smk_parse_at_directive(parser, widths[i].directive)) {
            return widths[i].width;
        }
    }
    return 0;
}

/* Types of instructions that no register and no variable has. */
static bool is_declarable(smk_type type)
{
    switch (type) {
    case SMK_TYPE_B1:
    case SMK_TYPE_U2:
    case SMK_TYPE_S2:
    case SMK_TYPE_U4:
    case SMK_TYPE_S4:
    case SMK_TYPE_BF16:
    case SMK_TYPE_BF16X2:
    case SMK_TYPE_TF32:
    case SMK_TYPE_F32X2:
    case SMK_TYPE_E4M3:
    case SMK_TYPE_E5M2:
    case SMK_TYPE_E3M2:
    case SMK_TYPE_E2M3:
    case SMK_TYPE_E2M1:
    case SMK_TYPE_UE4M3:
    case SMK_TYPE_UE8M0:
    case SMK_TYPE_E4M3X2:
    case SMK_TYPE_E5M2X2:
    case SMK_TYPE_E2M3X2:
    case SMK_TYPE_E3M2X2:
    case SMK_TYPE_E2M1X2:
    case SMK_TYPE_UE8M0X2:
    case SMK_TYPE_E4M3X4:
    case SMK_TYPE_E5M2X4:
    case SMK_TYPE_E2M3X4:
    case SMK_TYPE_E3M2X4:
    case SMK_TYPE_E2M1X4:
    case SMK_TYPE_B8X16:
    case SMK_TYPE_B6X16_P32:
    case SMK_TYPE_B4X16_P64:
    case SMK_TYPE_U16X2:
    case SMK_TYPE_S16X2:
        return false;
    default: /* types of registers and variables */
        return true;
    }
}

/* (.managed {, .unified(a, b)}) behind .attribute, which is the present token: where the host sees the variable */
static smk_status parse_attribute(smk_parser *parser, bool *managed)
{
    bool more = true, named = false;
    uint64_t ignored = 0;
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(smk_parse_expect(parser, '('));
    while (more) {
        SMK_TRY(smk_parse_accept_directive(parser, SMK_DIRECTIVE_UNIFIED, &named));
        if (named) {
            SMK_TRY(smk_parse_expect(parser, '('));
            SMK_TRY(smk_constant_parse_count(parser, "the first half of the id", UINT64_MAX, &ignored));
            SMK_TRY(smk_parse_expect(parser, ','));
            SMK_TRY(smk_constant_parse_count(parser, "the second half of the id", UINT64_MAX, &ignored));
            SMK_TRY(smk_parse_expect(parser, ')'));
        } else if (smk_parse_at_directive(parser, SMK_DIRECTIVE_MANAGED)) {
            *managed = true;
            SMK_TRY(smk_parse_next(parser));
        } else {
            return smk_parse_unexpected(parser, "'.managed' or '.unified'");
        }
        SMK_TRY(smk_parse_accept(parser, ',', &more));
    }
    return smk_parse_expect(parser, ')');
}

/* {.align n} {.v4} .type, in any order; alignment 0 where it is not written */
static smk_status parse_qualifiers(smk_parser *parser, smk_type *type, unsigned *width, uint32_t *alignment)
{
    *type = SMK_TYPE_NONE;
    *width = 1;
    *alignment = 0;
    while (parser->token.kind == SMK_TOKEN_DOT_WORD && *type == SMK_TYPE_NONE) {
        unsigned vector = vector_width(parser);
        bool align = false;
        SMK_TRY(smk_parse_accept_directive(parser, SMK_DIRECTIVE_ALIGN, &align));
        if (align) {
            SMK_TRY(parse_alignment(parser, alignment));
        } else if (vector != 0) {
            *width = vector;
            SMK_TRY(smk_parse_next(parser));
        } else if (smk_parse_type(parser, type)) {
            if (!is_declarable(*type)) {
                return smk_parse_fail(parser, &parser->token, SMK_PTX_TYPE, "'%.*s' is a type of instructions only",
                                      SMK_TEXT_PRINT(parser->token.text));
            }
            SMK_TRY(smk_parse_next(parser));
        } else {
            return smk_parse_refuse_directive(parser);
        }
    }
    return *type == SMK_TYPE_NONE ? smk_parse_unexpected(parser, "a type") : SMK_OK;
}

static smk_status parse_shape(smk_parser *parser, unsigned width, extent *shape)
{
    memset(shape, 0, sizeof *shape);
    bool more = false;
    SMK_TRY(smk_parse_accept(parser, '[', &more));
    while (more) {
        smk_token at = parser->token;
        if (shape->rank == RANK_MAX) {
            return smk_parse_fail(parser, &at, SMK_PTX, "an array has more than %d dimensions", RANK_MAX);
        }
        if (smk_parse_at(parser, ']')) {
            if (shape->rank != 0) {
                return smk_parse_fail(parser, &at, SMK_PTX, "only the first dimension may be left out");
            }
            shape->unsized = true;
        } else {
            SMK_TRY(
                smk_constant_parse_count(parser, "the length of an array", BYTES_MAX, &shape->lengths[shape->rank]));
        }
        shape->rank++;
        SMK_TRY(smk_parse_expect(parser, ']'));
        SMK_TRY(smk_parse_accept(parser, '[', &more));
    }
    if (width != 1) {
        shape->lengths[shape->rank++] = width;
    }
    return SMK_OK;
}

/* Type, alignment and bytes of a variable; `at` is where a message points. */
static smk_status lay_out(smk_parser *parser, const smk_token *at, const extent *shape, unsigned width,
                          uint32_t alignment, smk_variable *variable)
{
    unsigned bits = smk_module_type_bits((smk_type)variable->type);
    if (bits < 8) {
        return smk_parse_fail(parser, at, SMK_PTX_TYPE, "'%.*s': a predicate cannot lie in memory",
                              SMK_TEXT_PRINT(at->text));
    }
    uint64_t bytes = bits / 8;
    uint32_t natural = (uint32_t)bytes * width;
    for (unsigned i = shape->unsized ? 1 : 0; i < shape->rank; i++) {
        uint64_t length = shape->lengths[i];
        if (length != 0 && bytes > BYTES_MAX / length) {
            return smk_parse_fail(parser, at, SMK_PTX, "the variable '%.*s' is larger than %llu bytes",
                                  SMK_TEXT_PRINT(at->text), (unsigned long long)BYTES_MAX);
        }
        bytes *= length;
    }
    if (variable->space == SMK_SPACE_LOCAL && bytes > LOCAL_BYTES_MAX) {
        return smk_parse_fail(parser, at, SMK_PTX, "the local variable '%.*s' is larger than %llu bytes",
                              SMK_TEXT_PRINT(at->text), (unsigned long long)LOCAL_BYTES_MAX);
    }
    if (variable->space == SMK_SPACE_PARAM && bytes > PARAMETER_BYTES_MAX) {
        return smk_parse_fail(parser, at, SMK_PTX, "the parameter '%.*s' is larger than %llu bytes",
                              SMK_TEXT_PRINT(at->text), (unsigned long long)PARAMETER_BYTES_MAX);
    }
    variable->unsized = shape->unsized;
    variable->bytes = shape->unsized ? 0 : bytes;
    variable->alignment = alignment > natural ? alignment : natural;
    if (alignment != 0 && alignment < natural) {
        /* The alignment is at least that of an element. */
        variable->alignment = alignment > bits / 8 ? alignment : bits / 8;
    }
    return SMK_OK;
}

static smk_status take_space(smk_parser *parser, smk_variable *variable)
{
    static const struct {
        smk_directive directive;
        smk_space space;
    } spaces[] = {{SMK_DIRECTIVE_GLOBAL, SMK_SPACE_GLOBAL},
                  {SMK_DIRECTIVE_CONST, SMK_SPACE_CONST},
                  {SMK_DIRECTIVE_SHARED, SMK_SPACE_SHARED},
                  {SMK_DIRECTIVE_LOCAL, SMK_SPACE_LOCAL},
                  {SMK_DIRECTIVE_PARAM, SMK_SPACE_PARAM}};
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        if (smk_parse_at_directive(parser, spaces[i].directive)) {
            bool in_body_only = spaces[i].space == SMK_SPACE_LOCAL || spaces[i].space == SMK_SPACE_PARAM;
            if (!parser->in_body && in_body_only) {
                return smk_parse_fail(parser, &parser->token, SMK_UNSUPPORTED,
                                      "'%.*s' variables are not supported outside a function",
                                      SMK_TEXT_PRINT(parser->token.text));
            }
            variable->space = (uint8_t)spaces[i].space;
            return smk_parse_next(parser);
        }
    }
    return smk_parse_refuse_directive(parser);
}

/* An earlier declaration of the same module-scope variable, which this one may repeat or define. */
static smk_status find_declared(smk_parser *parser, const smk_token *name, const smk_variable *variable,
                                uint32_t *index)
{
    const smk_symbol *old = smk_symbol_find(&parser->symbols, name->text);
    *index = SMK_NO_INDEX;
    if (parser->in_body || old == NULL || old->kind != SMK_SYMBOL_VARIABLE) {
        return SMK_OK;
    }
    const smk_variable *first = smk_parse_variable(parser, old->index);
    if (!first->is_extern && !variable->is_extern) {
        return SMK_OK; /* the declaration that follows fails */
    }
    bool same_size = first->bytes == variable->bytes || first->unsized || variable->unsized;
    if (first->space != variable->space || first->type != variable->type || !same_size) {
        return smk_parse_fail(parser, name, SMK_PTX, "'%.*s' is declared differently in line %u",
                              SMK_TEXT_PRINT(name->text), (unsigned)old->line);
    }
    *index = old->index;
    return SMK_OK;
}

/* The name of a module variable that a function declares, "function$name$12", so that it differs from those of the
 * module and of other functions. */
static smk_status name_apart(smk_parser *parser, smk_variable *variable)
{
    char number[16];
    int digits = snprintf(number, sizeof number, "$%zu", parser->variables.count);
    smk_text outer = parser->function_name, own = variable->name;
    size_t length = outer.length + 1 + own.length + (size_t)digits;
    char *name = smk_arena_allocate(&parser->module->arena, length + 1, 1);
    if (name == NULL) {
        return smk_parse_memory(parser);
    }
    memcpy(name, outer.start, outer.length);
    name[outer.length] = '$';
    memcpy(name + outer.length + 1, own.start, own.length);
    memcpy(name + outer.length + 1 + own.length, number, (size_t)digits);
    variable->name = (smk_text){name, length};
    return SMK_OK;
}

/* A variable in global or constant memory whose name ends with the scope that declares it. */
static smk_status add_function_global(smk_parser *parser, const smk_token *name, const smk_variable *variable)
{
    smk_symbol *symbol = NULL;
    SMK_TRY(smk_parse_declare(parser, SMK_SYMBOL_VARIABLE, name, &symbol));
    smk_variable *slot = smk_vector_push(&parser->variables, sizeof *slot);
    if (slot == NULL) {
        return smk_parse_memory(parser);
    }
    *slot = *variable;
    symbol->index = (uint32_t)(parser->variables.count - 1);
    return name_apart(parser, slot);
}

static smk_status add_variable(smk_parser *parser, const smk_token *name, const smk_variable *variable)
{
    smk_vector *variables = parser->in_body ? &parser->locals : &parser->variables;
    uint32_t index = SMK_NO_INDEX;
    if (parser->in_body && (variable->space == SMK_SPACE_GLOBAL || variable->space == SMK_SPACE_CONST)) {
        return add_function_global(parser, name, variable);
    }
    SMK_TRY(find_declared(parser, name, variable, &index));
    if (index != SMK_NO_INDEX) {
        smk_variable *first = (smk_variable *)parser->variables.items + index;
        if (!variable->is_extern) {
            *first = *variable;
        }
        return SMK_OK;
    }
    smk_symbol *symbol = NULL;
    SMK_TRY(smk_parse_declare(parser, SMK_SYMBOL_VARIABLE, name, &symbol));
    smk_variable *slot = smk_vector_push(variables, sizeof *slot);
    uint32_t *no_register = parser->in_body ? smk_vector_push(&parser->local_registers, sizeof *no_register) : NULL;
    if (slot == NULL || (parser->in_body && no_register == NULL)) {
        return smk_parse_memory(parser);
    }
    *slot = *variable;
    symbol->index = (uint32_t)(variables->count - 1) + (parser->in_body ? SMK_PARSE_LOCAL : 0);
    if (no_register != NULL) {
        *no_register = SMK_NO_INDEX;
    }
    return SMK_OK;
}

smk_status smk_variable_find_reserved(smk_parser *parser, uint32_t *index)
{
    static const char name[] = "__reserved_smem";
    const smk_text text = {name, sizeof name - 1};
    smk_symbol *symbol = smk_symbol_find(&parser->symbols, text);
    if (symbol == NULL) {
        symbol = smk_symbol_add(&parser->symbols, SMK_SYMBOL_VARIABLE, text, 0);
        smk_variable *slot = symbol == NULL ? NULL : smk_vector_push(&parser->variables, sizeof *slot);
        if (slot == NULL) {
            return smk_parse_memory(parser);
        }
        *slot = (smk_variable){.name = text,
                               .space = SMK_SPACE_SHARED,
                               .type = SMK_TYPE_B8,
                               .alignment = 16,
                               .line = parser->token.line,
                               .bytes = SMK_RESERVED_BYTES};
        symbol->index = (uint32_t)(parser->variables.count - 1);
        symbol->line = parser->token.line;
    }
    *index = symbol->index;
    return SMK_OK;
}

static smk_status parse_initializer(smk_parser *parser, const smk_token *name, smk_variable *variable, extent *shape)
{
    bool written = false;
    SMK_TRY(smk_parse_accept(parser, '=', &written));
    if (written && smk_texel_is_reference((smk_type)variable->type) && shape->rank == 0) {
        return smk_reference_parse(parser, variable);
    }
    if (written) {
        bool can = variable->space == SMK_SPACE_GLOBAL || variable->space == SMK_SPACE_CONST;
        if (!can || variable->is_extern) {
            return smk_parse_fail(parser, name, SMK_PTX, "'%.*s' cannot have an initial value",
                                  SMK_TEXT_PRINT(name->text));
        }
        return smk_initializer_parse(parser, variable, shape->lengths, shape->rank);
    }
    if (variable->unsized && !variable->is_extern && variable->space != SMK_SPACE_PARAM) {
        return smk_parse_fail(parser, name, SMK_PTX, "'%.*s' has neither a size nor an initial value",
                              SMK_TEXT_PRINT(name->text));
    }
    return SMK_OK;
}

/* A texture, surface or sampler of the module. It holds the object that the host has bound to it, which no kernel can
 * change, so that it lies in constant memory. */
static smk_status set_reference_space(smk_parser *parser, const smk_token *name, smk_variable *variable)
{
    if (variable->space != SMK_SPACE_GLOBAL && variable->space != SMK_SPACE_CONST) {
        return smk_parse_fail(parser, name, SMK_PTX, "'%.*s': a .%s is declared in .global", SMK_TEXT_PRINT(name->text),
                              smk_module_type_name((smk_type)variable->type));
    }
    variable->space = SMK_SPACE_CONST;
    return SMK_OK;
}

smk_status smk_variable_parse(smk_parser *parser, smk_linkage linkage)
{
    smk_variable variable = {0};
    smk_type type = SMK_TYPE_NONE;
    unsigned width = 1;
    uint32_t alignment = 0;
    bool more = true;
    SMK_TRY(take_space(parser, &variable));
    if (variable.space == SMK_SPACE_GLOBAL && smk_parse_at_directive(parser, SMK_DIRECTIVE_ATTRIBUTE)) {
        SMK_TRY(parse_attribute(parser, &variable.is_managed));
    }
    SMK_TRY(parse_qualifiers(parser, &type, &width, &alignment));
    while (more) {
        extent shape;
        smk_token name;
        SMK_TRY(smk_parse_name(parser, &name));
        SMK_TRY(parse_shape(parser, width, &shape));
        smk_variable declared = variable;
        declared.type = (uint8_t)type;
        declared.name = name.text;
        declared.line = name.line;
        declared.is_extern = linkage.is_extern;
        if (smk_texel_is_reference(type)) {
            SMK_TRY(set_reference_space(parser, &name, &declared));
        }
        SMK_TRY(lay_out(parser, &name, &shape, width, alignment, &declared));
        SMK_TRY(parse_initializer(parser, &name, &declared, &shape));
        SMK_TRY(add_variable(parser, &name, &declared));
        SMK_TRY(smk_parse_accept(parser, ',', &more));
    }
    return smk_parse_expect(parser, ';');
}

/* .ptr {.space} {.align n}: what a pointer parameter points to, which is ignored */
static smk_status parse_pointer(smk_parser *parser)
{
    uint32_t ignored = 0;
    bool align = false;
    SMK_TRY(smk_parse_next(parser));
    if (smk_parse_at_directive(parser, SMK_DIRECTIVE_GLOBAL) || smk_parse_at_directive(parser, SMK_DIRECTIVE_CONST) ||
        smk_parse_at_directive(parser, SMK_DIRECTIVE_SHARED) || smk_parse_at_directive(parser, SMK_DIRECTIVE_LOCAL)) {
        SMK_TRY(smk_parse_next(parser));
    }
    SMK_TRY(smk_parse_accept_directive(parser, SMK_DIRECTIVE_ALIGN, &align));
    return align ? parse_alignment(parser, &ignored) : SMK_OK;
}

smk_status smk_variable_parse_parameter(smk_parser *parser, bool is_entry, smk_variable *variable, smk_token *name,
                                        bool *is_register)
{
    smk_type type = SMK_TYPE_NONE;
    unsigned width = 1;
    uint32_t alignment = 0;
    extent shape;
    memset(variable, 0, sizeof *variable);
    SMK_TRY(smk_parse_accept_directive(parser, SMK_DIRECTIVE_REG, is_register));
    if (*is_register && is_entry) {
        return smk_parse_fail(parser, &parser->token, SMK_PTX, "a parameter of an entry cannot be a register");
    }
    if (!*is_register) {
        bool param = false;
        SMK_TRY(smk_parse_accept_directive(parser, SMK_DIRECTIVE_PARAM, &param));
        if (!param) {
            return smk_parse_unexpected(parser, is_entry ? "'.param'" : "'.param' or '.reg'");
        }
    }
    variable->space = *is_register ? SMK_SPACE_GENERIC : SMK_SPACE_PARAM;
    SMK_TRY(parse_qualifiers(parser, &type, &width, &alignment));
    variable->type = (uint8_t)type;
    variable->by_pointer = smk_parse_at_directive(parser, SMK_DIRECTIVE_PTR);
    if (variable->by_pointer) {
        SMK_TRY(parse_pointer(parser));
    }
    SMK_TRY(smk_parse_name(parser, name));
    variable->name = name->text;
    variable->line = name->line;
    if (*is_register) {
        variable->bytes = (smk_module_type_bits(type) + 7) / 8;
        variable->alignment = (uint32_t)variable->bytes;
        return width == 1
                   ? SMK_OK
                   : smk_parse_fail(parser, name, SMK_UNSUPPORTED, "vector registers are not supported as parameters");
    }
    SMK_TRY(parse_shape(parser, width, &shape));
    return lay_out(parser, name, &shape, width, alignment, variable);
}

/* name, or name<count> */
static smk_status parse_register(smk_parser *parser, smk_type type, unsigned width)
{
    smk_token name;
    smk_symbol *symbol = NULL;
    bool range = false;
    SMK_TRY(smk_parse_name(parser, &name));
    SMK_TRY(smk_parse_accept(parser, '<', &range));
    if (!range && smk_instruction_is_in_range(parser, name.text)) {
        return smk_parse_fail(parser, &name, SMK_PTX, "'%.*s' is declared twice; it belongs to a range of registers",
                              SMK_TEXT_PRINT(name.text));
    }
    SMK_TRY(smk_parse_declare(parser, range ? SMK_SYMBOL_RANGE : SMK_SYMBOL_REGISTER, &name, &symbol));
    symbol->type = (uint8_t)type;
    symbol->width = (uint8_t)width;
    if (range) {
        uint64_t count = 0;
        SMK_TRY(smk_constant_parse_angle_count(parser, "the number of registers", SMK_REGISTERS_MAX, &count));
        symbol->count = (uint32_t)count;
        return smk_parse_expect(parser, '>');
    }
    return SMK_OK;
}

smk_status smk_variable_parse_registers(smk_parser *parser)
{
    smk_type type = SMK_TYPE_NONE;
    unsigned width = 1;
    uint32_t alignment = 0;
    bool more = true;
    SMK_TRY(smk_parse_next(parser));
    smk_token at = parser->token;
    SMK_TRY(parse_qualifiers(parser, &type, &width, &alignment));
    if (type == SMK_TYPE_B128 && width == 1) { /* a pair of registers, the low half first */
        type = SMK_TYPE_B64;
        width = 2;
    }
    unsigned bits = smk_module_type_bits(type) * width;
    if (smk_texel_is_reference(type)) {
        return smk_parse_fail(parser, &at, SMK_PTX_TYPE, "there are no registers of .%s", smk_module_type_name(type));
    }
    if (width != 1 && (bits > 128 || width > 4 || type == SMK_TYPE_PRED)) {
        return smk_parse_fail(parser, &at, SMK_PTX, "there are no .v%u registers of .%s", width,
                              smk_module_type_name(type));
    }
    while (more) {
        SMK_TRY(parse_register(parser, type, width));
        SMK_TRY(smk_parse_accept(parser, ',', &more));
    }
    return smk_parse_expect(parser, ';');
}
