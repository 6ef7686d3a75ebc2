/* Constant expressions: C's integer operators on 64 bits, and the four operations on floats. */
#include "ptx/parse.h"

#include <string.h>

enum { PRECEDENCE_SUM = 9 };

static smk_status parse_ternary(smk_parser *parser, smk_constant *value, unsigned depth);

static bool is_float(const smk_constant *constant)
{
    return smk_module_type_kind(constant->type) == SMK_KIND_FLOAT;
}

double smk_constant_double(const smk_constant *constant)
{
    if (constant->type == SMK_TYPE_F32) {
        uint32_t bits = (uint32_t)constant->bits;
        float single = 0;
        memcpy(&single, &bits, sizeof single);
        return (double)single;
    }
    double value = 0;
    memcpy(&value, &constant->bits, sizeof value);
    return value;
}

static smk_constant from_double(double value)
{
    smk_constant constant = {SMK_TYPE_F64, 0};
    memcpy(&constant.bits, &value, sizeof value);
    return constant;
}

bool smk_constant_float_bits(const smk_constant *constant, smk_type type, uint64_t *bits)
{
    if (type == constant->type) {
        *bits = constant->bits;
        return true;
    }
    if (type == SMK_TYPE_F32 || type == SMK_TYPE_F64) {
        double value = smk_constant_double(constant);
        float single = (float)value;
        uint32_t half = 0;
        memcpy(&half, &single, sizeof half);
        memcpy(bits, &value, sizeof value);
        *bits = type == SMK_TYPE_F32 ? half : *bits;
        return true;
    }
    return false;
}

static bool is_nonzero(const smk_constant *value)
{
    return is_float(value) ? smk_constant_double(value) != 0 : value->bits != 0;
}

static smk_status parse_literal(smk_parser *parser, smk_constant *value)
{
    const smk_token *token = &parser->token;
    switch (token->kind) {
    case SMK_TOKEN_INTEGER:
        *value = (smk_constant){token->is_unsigned ? SMK_TYPE_U64 : SMK_TYPE_S64, token->value};
        return smk_parse_next(parser);
    case SMK_TOKEN_F32:
        *value = (smk_constant){SMK_TYPE_F32, token->value};
        return smk_parse_next(parser);
    case SMK_TOKEN_F64:
    case SMK_TOKEN_DECIMAL:
        *value = (smk_constant){SMK_TYPE_F64, token->value};
        return smk_parse_next(parser);
    case SMK_TOKEN_WORD:
        if (smk_text_is(token->text, "WARP_SZ")) {
            *value = (smk_constant){SMK_TYPE_S64, 32};
            return smk_parse_next(parser);
        }
        break;
    case SMK_TOKEN_END:
    case SMK_TOKEN_DOT_WORD:
    case SMK_TOKEN_STRING:
    case SMK_TOKEN_MARK:
        break;
    }
    return smk_parse_unexpected(parser, "a constant");
}

/* (.s64) and (.u64); the '(' has been taken */
static smk_status parse_cast(smk_parser *parser, smk_type *type)
{
    if (!smk_parse_type(parser, type) || (*type != SMK_TYPE_S64 && *type != SMK_TYPE_U64)) {
        return smk_parse_unexpected(parser, "'.s64' or '.u64'");
    }
    SMK_TRY(smk_parse_next(parser));
    return smk_parse_expect(parser, ')');
}

static smk_status apply_unary(smk_parser *parser, const smk_token *at, smk_constant *value)
{
    if (is_float(value)) {
        if (at->mark == '-') {
            value->bits ^= value->type == SMK_TYPE_F32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
        } else if (at->mark != '+') {
            return smk_parse_fail(parser, at, SMK_PTX, "'%.*s' does not apply to a float", SMK_TEXT_PRINT(at->text));
        }
        return SMK_OK;
    }
    if (at->mark == '-') {
        value->bits = 0 - value->bits;
    } else if (at->mark == '~') {
        value->bits = ~value->bits;
    } else if (at->mark == '!') {
        *value = (smk_constant){SMK_TYPE_S64, value->bits == 0};
    }
    return SMK_OK;
}

static smk_status parse_unary(smk_parser *parser, smk_constant *value, unsigned depth)
{
    if (depth > SMK_DEPTH_MAX) {
        return smk_parse_fail(parser, &parser->token, SMK_PTX, "the constant expression is nested too deeply");
    }
    smk_token at = parser->token;
    if (smk_parse_at(parser, '-') || smk_parse_at(parser, '+') || smk_parse_at(parser, '!') ||
        smk_parse_at(parser, '~')) {
        SMK_TRY(smk_parse_next(parser));
        SMK_TRY(parse_unary(parser, value, depth + 1));
        return apply_unary(parser, &at, value);
    }
    if (!smk_parse_at(parser, '(')) {
        return parse_literal(parser, value);
    }
    SMK_TRY(smk_parse_next(parser));
    if (parser->token.kind == SMK_TOKEN_DOT_WORD) {
        smk_type type = SMK_TYPE_NONE;
        SMK_TRY(parse_cast(parser, &type));
        SMK_TRY(parse_unary(parser, value, depth + 1));
        if (is_float(value)) {
            return smk_parse_fail(parser, &at, SMK_PTX, "a float cannot be cast in a constant expression");
        }
        value->type = type;
        return SMK_OK;
    }
    SMK_TRY(parse_ternary(parser, value, depth + 1));
    return smk_parse_expect(parser, ')');
}

static unsigned precedence(const smk_token *token)
{
    if (token->kind != SMK_TOKEN_MARK) {
        return 0;
    }
    switch (token->mark) {
    case '*':
    case '/':
    case '%':
        return 10;
    case '+':
    case '-':
        return PRECEDENCE_SUM;
    case SMK_MARK_SHIFT_LEFT:
    case SMK_MARK_SHIFT_RIGHT:
        return 8;
    case '<':
    case '>':
    case SMK_MARK_LESS_EQUAL:
    case SMK_MARK_GREATER_EQUAL:
        return 7;
    case SMK_MARK_EQUAL:
    case SMK_MARK_NOT_EQUAL:
        return 6;
    case '&':
        return 5;
    case '^':
        return 4;
    case '|':
        return 3;
    case SMK_MARK_AND:
        return 2;
    case SMK_MARK_OR:
        return 1;
    default:
        return 0;
    }
}

static smk_status apply_floats(smk_parser *parser, const smk_token *at, smk_constant *a, const smk_constant *b)
{
    if (!is_float(a) || !is_float(b)) {
        return smk_parse_fail(parser, at, SMK_PTX, "'%.*s' mixes an integer and a float", SMK_TEXT_PRINT(at->text));
    }
    double x = smk_constant_double(a);
    double y = smk_constant_double(b);
    switch (at->mark) {
    case '+':
        *a = from_double(x + y);
        return SMK_OK;
    case '-':
        *a = from_double(x - y);
        return SMK_OK;
    case '*':
        *a = from_double(x * y);
        return SMK_OK;
    case '/':
        if (y == 0) {
            break;
        }
        *a = from_double(x / y);
        return SMK_OK;
    default:
        break;
    }
    return smk_parse_fail(parser, at, SMK_PTX, "'%.*s' does not apply to these floats", SMK_TEXT_PRINT(at->text));
}

static smk_status divide(smk_parser *parser, const smk_token *at, smk_constant *a, const smk_constant *b,
                         bool is_unsigned)
{
    if (b->bits == 0) {
        return smk_parse_fail(parser, at, SMK_PTX, "division by zero in a constant expression");
    }
    bool remainder = at->mark == '%';
    if (is_unsigned) {
        a->bits = remainder ? a->bits % b->bits : a->bits / b->bits;
    } else if (b->bits == UINT64_MAX) {
        a->bits = remainder ? 0 : 0 - a->bits; /* INT64_MIN / -1 wraps */
    } else {
        int64_t x = (int64_t)a->bits;
        int64_t y = (int64_t)b->bits;
        a->bits = (uint64_t)(remainder ? x % y : x / y);
    }
    return SMK_OK;
}

static uint64_t shift(const smk_constant *a, uint64_t count, bool left)
{
    bool negative = a->type == SMK_TYPE_S64 && (int64_t)a->bits < 0;
    if (count > 63) {
        return !left && negative ? UINT64_MAX : 0;
    }
    if (left) {
        return a->bits << count;
    }
    return negative ? ~(~a->bits >> count) : a->bits >> count;
}

static bool compare(uint16_t mark, uint64_t a, uint64_t b, bool is_unsigned)
{
    bool less = is_unsigned ? a < b : (int64_t)a < (int64_t)b;
    switch (mark) {
    case '<':
        return less;
    case '>':
        return !less && a != b;
    case SMK_MARK_LESS_EQUAL:
        return less || a == b;
    case SMK_MARK_GREATER_EQUAL:
        return !less;
    case SMK_MARK_EQUAL:
        return a == b;
    default:
        return a != b;
    }
}

static smk_status apply_binary(smk_parser *parser, const smk_token *at, smk_constant *a, const smk_constant *b)
{
    if (at->mark == SMK_MARK_AND || at->mark == SMK_MARK_OR) {
        bool x = is_nonzero(a);
        bool y = is_nonzero(b);
        *a = (smk_constant){SMK_TYPE_S64, at->mark == SMK_MARK_AND ? (x && y) : (x || y)};
        return SMK_OK;
    }
    if (is_float(a) || is_float(b)) {
        return apply_floats(parser, at, a, b);
    }
    bool is_unsigned = a->type == SMK_TYPE_U64 || b->type == SMK_TYPE_U64;
    switch (at->mark) {
    case '*':
        a->bits *= b->bits;
        break;
    case '/':
    case '%':
        SMK_TRY(divide(parser, at, a, b, is_unsigned));
        break;
    case '+':
        a->bits += b->bits;
        break;
    case '-':
        a->bits -= b->bits;
        break;
    case SMK_MARK_SHIFT_LEFT:
    case SMK_MARK_SHIFT_RIGHT:
        a->bits = shift(a, b->bits, at->mark == SMK_MARK_SHIFT_LEFT);
        return SMK_OK;
    case '&':
        a->bits &= b->bits;
        break;
    case '^':
        a->bits ^= b->bits;
        break;
    case '|':
        a->bits |= b->bits;
        break;
    default:
        *a = (smk_constant){SMK_TYPE_S64, compare(at->mark, a->bits, b->bits, is_unsigned)};
        return SMK_OK;
    }
    a->type = is_unsigned ? SMK_TYPE_U64 : SMK_TYPE_S64;
    return SMK_OK;
}

static smk_status parse_binary(smk_parser *parser, smk_constant *value, unsigned least, unsigned depth)
{
    SMK_TRY(parse_unary(parser, value, depth));
    while (precedence(&parser->token) >= least) {
        smk_token at = parser->token;
        smk_constant right = {SMK_TYPE_S64, 0};
        SMK_TRY(smk_parse_next(parser));
        SMK_TRY(parse_binary(parser, &right, precedence(&at) + 1, depth + 1));
        SMK_TRY(apply_binary(parser, &at, value, &right));
    }
    return SMK_OK;
}

static smk_status parse_ternary(smk_parser *parser, smk_constant *value, unsigned depth)
{
    SMK_TRY(parse_binary(parser, value, 1, depth));
    if (!smk_parse_at(parser, '?')) {
        return SMK_OK;
    }
    smk_constant yes = {SMK_TYPE_S64, 0};
    smk_constant no = {SMK_TYPE_S64, 0};
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(parse_ternary(parser, &yes, depth + 1));
    SMK_TRY(smk_parse_expect(parser, ':'));
    SMK_TRY(parse_ternary(parser, &no, depth + 1));
    *value = is_nonzero(value) ? yes : no;
    return SMK_OK;
}

smk_status smk_constant_parse(smk_parser *parser, smk_constant *constant)
{
    return parse_ternary(parser, constant, 0);
}

static smk_status check_count(smk_parser *parser, const smk_token *at, const smk_constant *constant, const char *noun,
                              uint64_t max, uint64_t *count)
{
    bool negative = constant->type == SMK_TYPE_S64 && (int64_t)constant->bits < 0;
    if (is_float(constant) || negative || constant->bits > max) {
        return smk_parse_fail(parser, at, SMK_PTX, "%s must be an integer of 0 to %llu, found '%.*s'", noun,
                              (unsigned long long)max, SMK_TEXT_PRINT(at->text));
    }
    *count = constant->bits;
    return SMK_OK;
}

smk_status smk_constant_parse_count(smk_parser *parser, const char *noun, uint64_t max, uint64_t *count)
{
    smk_token at = parser->token;
    smk_constant constant = {SMK_TYPE_S64, 0};
    SMK_TRY(smk_constant_parse(parser, &constant));
    return check_count(parser, &at, &constant, noun, max, count);
}

smk_status smk_constant_parse_angle_count(smk_parser *parser, const char *noun, uint64_t max, uint64_t *count)
{
    smk_token at = parser->token;
    smk_constant constant = {SMK_TYPE_S64, 0};
    SMK_TRY(parse_binary(parser, &constant, PRECEDENCE_SUM, 0)); /* a '>' closes the brackets */
    return check_count(parser, &at, &constant, noun, max, count);
}
