#include "ptx/lex.h"

#include "base/poll.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DECIMAL_MAX = 500, STOP_STRIDE = 256 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}

static int digit_value(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return 99;
}

void smk_lex_start(smk_lex *lex, const char *text, size_t length)
{
    lex->next = text;
    lex->end = text + length;
    lex->line_start = text;
    lex->line = 1;
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        lex->next += 3; /* a byte order mark */
    }
}

smk_status smk_lex_fail(const smk_token *token, smk_status status, smk_error *error, const char *format, ...)
{
    char message[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    smk_status_fail(error, status, "%s", message);
    if (error != NULL) {
        error->ptx_line = token->line;
        error->ptx_column = token->column;
    }
    return status;
}

smk_text smk_lex_show(const smk_token *token)
{
    static const char end[] = "the end of the text";
    smk_text shown = token->text;
    if (token->kind == SMK_TOKEN_END) {
        shown = (smk_text){end, sizeof end - 1};
    }
    return shown;
}

static char peek(const smk_lex *lex, size_t ahead)
{
    return (size_t)(lex->end - lex->next) > ahead ? lex->next[ahead] : '\0';
}

static void start_line(smk_lex *lex)
{
    lex->line_start = lex->next;
    lex->line++;
}

static void skip_line(smk_lex *lex)
{
    while (lex->next < lex->end && *lex->next != '\n') {
        lex->next++;
    }
}

static void set_position(const smk_lex *lex, smk_token *token)
{
    memset(token, 0, sizeof *token);
    token->text.start = lex->next;
    token->line = lex->line;
    token->column = (uint32_t)(lex->next - lex->line_start) + 1;
}

/* Polls inside long stretches without a token, too. */
static bool is_stopped(const smk_lex *lex)
{
    return (uintptr_t)lex->next % STOP_STRIDE == 0 && smk_poll_stop();
}

/* Skips blanks, comments and line marks of a preprocessor. */
static smk_status skip_blank(smk_lex *lex, smk_error *error)
{
    while (lex->next < lex->end && !is_stopped(lex)) {
        char c = *lex->next;
        if (c == '\n') {
            lex->next++;
            start_line(lex);
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            lex->next++;
        } else if (c == '/' && peek(lex, 1) == '/') {
            skip_line(lex);
        } else if (c == '#' && lex->next == lex->line_start) {
            skip_line(lex);
        } else if (c == '/' && peek(lex, 1) == '*') {
            smk_token token;
            set_position(lex, &token);
            lex->next += 2;
            while ((peek(lex, 0) != '*' || peek(lex, 1) != '/') && !is_stopped(lex)) {
                if (lex->next >= lex->end) {
                    return smk_lex_fail(&token, SMK_PTX, error, "the comment that starts with '/*' has no end");
                }
                if (*lex->next++ == '\n') {
                    start_line(lex);
                }
            }
            lex->next += 2;
        } else {
            break;
        }
    }
    return SMK_OK;
}

static smk_status finish(smk_lex *lex, smk_token *token, smk_token_kind kind)
{
    token->kind = (uint8_t)kind;
    token->text.length = (size_t)(lex->next - token->text.start);
    return SMK_OK;
}

static void skip_word(smk_lex *lex)
{
    while (lex->next < lex->end && is_word(*lex->next)) {
        lex->next++;
    }
}

/* 0f and 0d: the bits of a float in exactly `digits` hexadecimal digits. */
static smk_status read_bits(smk_lex *lex, smk_token *token, unsigned digits, smk_token_kind kind, smk_error *error)
{
    lex->next += 2;
    unsigned count = 0;
    for (; digit_value(peek(lex, 0)) < 16; lex->next++, count++) {
        token->value = token->value << 4 | (uint64_t)digit_value(*lex->next);
    }
    bool ended = !is_word(peek(lex, 0));
    skip_word(lex);
    finish(lex, token, kind);
    if (count != digits || !ended) {
        return smk_lex_fail(token, SMK_PTX, error, "'%.*s' must have exactly %u hexadecimal digits behind its prefix",
                            SMK_TEXT_PRINT(token->text), digits);
    }
    return SMK_OK;
}

/* The nearest double of a well-formed literal. */
static smk_status read_decimal(smk_lex *lex, smk_token *token, smk_error *error)
{
    while (is_digit(peek(lex, 0))) {
        lex->next++;
    }
    if (peek(lex, 0) == '.') {
        lex->next++;
        while (is_digit(peek(lex, 0))) {
            lex->next++;
        }
    }
    char sign = peek(lex, 1);
    size_t exponent = sign == '+' || sign == '-' ? 2 : 1;
    if ((peek(lex, 0) == 'e' || peek(lex, 0) == 'E') && is_digit(peek(lex, exponent))) {
        lex->next += exponent;
        while (is_digit(peek(lex, 0))) {
            lex->next++;
        }
    }
    bool ended = !is_word(peek(lex, 0));
    skip_word(lex);
    finish(lex, token, SMK_TOKEN_DECIMAL);
    if (!ended || token->text.length > DECIMAL_MAX) {
        return smk_lex_fail(token, SMK_PTX, error, "'%.*s' is not a number", SMK_TEXT_PRINT(token->text));
    }
    /* strtod expects the decimal point of the process's present locale. */
    char copy[DECIMAL_MAX + 16];
    const char *point = localeconv()->decimal_point;
    size_t point_length = strlen(point);
    size_t length = 0;
    for (size_t i = 0; i < token->text.length; i++) {
        if (token->text.start[i] == '.' && point_length > 0 && point_length < 16) {
            memcpy(copy + length, point, point_length);
            length += point_length;
        } else {
            copy[length++] = token->text.start[i];
        }
    }
    copy[length] = '\0';
    double value = strtod(copy, NULL);
    memcpy(&token->value, &value, sizeof value);
    return SMK_OK;
}

static smk_status read_integer(smk_lex *lex, smk_token *token, smk_error *error)
{
    unsigned base = 10;
    char mark = peek(lex, 1);
    if (*lex->next == '0') {
        base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
        lex->next += base == 8 ? 1 : 2;
    }
    bool overflow = false;
    const char *first = lex->next;
    for (; digit_value(peek(lex, 0)) < (int)base; lex->next++) {
        uint64_t digit = (uint64_t)digit_value(*lex->next);
        overflow |= token->value > (UINT64_MAX - digit) / base;
        token->value = token->value * base + digit;
    }
    bool empty = base != 8 && lex->next == first;
    if (peek(lex, 0) == 'U' || peek(lex, 0) == 'u') {
        token->is_unsigned = true;
        lex->next++;
    }
    token->is_unsigned |= token->value > INT64_MAX;
    bool ended = !is_word(peek(lex, 0));
    skip_word(lex);
    finish(lex, token, SMK_TOKEN_INTEGER);
    if (empty || !ended) {
        return smk_lex_fail(token, SMK_PTX, error, "'%.*s' is not a number", SMK_TEXT_PRINT(token->text));
    }
    if (overflow) {
        return smk_lex_fail(token, SMK_PTX, error, "'%.*s' does not fit into 64 bits", SMK_TEXT_PRINT(token->text));
    }
    return SMK_OK;
}

static smk_status read_number(smk_lex *lex, smk_token *token, smk_error *error)
{
    char mark = peek(lex, 1);
    if (*lex->next == '0' && (mark == 'f' || mark == 'F')) {
        return read_bits(lex, token, 8, SMK_TOKEN_F32, error);
    }
    if (*lex->next == '0' && (mark == 'd' || mark == 'D')) {
        return read_bits(lex, token, 16, SMK_TOKEN_F64, error);
    }
    size_t length = 0;
    while (is_digit(peek(lex, length))) {
        length++;
    }
    char stop = peek(lex, length);
    if (stop == '.' || stop == 'e' || stop == 'E') {
        return read_decimal(lex, token, error);
    }
    return read_integer(lex, token, error);
}

static smk_status read_string(smk_lex *lex, smk_token *token, smk_error *error)
{
    lex->next++;
    while (peek(lex, 0) != '"') {
        if (lex->next >= lex->end || *lex->next == '\n' || *lex->next == '\0') {
            return smk_lex_fail(token, SMK_PTX, error, "the string has no closing quote on its line");
        }
        lex->next += *lex->next == '\\' && lex->end - lex->next > 1 && lex->next[1] != '\n' ? 2 : 1;
    }
    token->kind = SMK_TOKEN_STRING;
    token->text.start++;
    token->text.length = (size_t)(lex->next - token->text.start);
    lex->next++;
    return SMK_OK;
}

/* .f32, and words in several parts: .shared::cta, .L2::128B */
static smk_status read_dot_word(smk_lex *lex, smk_token *token)
{
    lex->next++;
    skip_word(lex);
    while (peek(lex, 0) == ':' && peek(lex, 1) == ':' && is_word(peek(lex, 2))) {
        lex->next += 2;
        skip_word(lex);
    }
    return finish(lex, token, SMK_TOKEN_DOT_WORD);
}

static smk_status read_mark(smk_lex *lex, smk_token *token, smk_error *error)
{
    static const struct {
        char text[3];
        uint16_t mark;
    } pairs[] = {{"<<", SMK_MARK_SHIFT_LEFT},    {">>", SMK_MARK_SHIFT_RIGHT}, {"<=", SMK_MARK_LESS_EQUAL},
                 {">=", SMK_MARK_GREATER_EQUAL}, {"==", SMK_MARK_EQUAL},       {"!=", SMK_MARK_NOT_EQUAL},
                 {"&&", SMK_MARK_AND},           {"||", SMK_MARK_OR}};
    char c = *lex->next;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (c == pairs[i].text[0] && peek(lex, 1) == pairs[i].text[1]) {
            lex->next += 2;
            token->mark = pairs[i].mark;
            return finish(lex, token, SMK_TOKEN_MARK);
        }
    }
    if (c == '\0' || strchr("{}()[]<>,;:+-*/%&|^~!?=@", c) == NULL) {
        return smk_lex_fail(token, SMK_PTX, error,
                            c > ' ' && c <= '~' ? "unexpected character '%c'" : "unexpected byte 0x%02x",
                            (unsigned char)c);
    }
    lex->next++;
    token->mark = (unsigned char)c;
    return finish(lex, token, SMK_TOKEN_MARK);
}

smk_status smk_lex_next(smk_lex *lex, smk_token *token, smk_error *error)
{
    smk_status status = skip_blank(lex, error);
    if (status == SMK_OK) {
        status = smk_poll_check(error);
    }
    if (status != SMK_OK) {
        return status;
    }
    set_position(lex, token);
    if (lex->next >= lex->end) {
        return finish(lex, token, SMK_TOKEN_END);
    }
    char c = *lex->next;
    if (is_digit(c)) {
        return read_number(lex, token, error);
    }
    if (is_letter(c) || ((c == '_' || c == '$' || c == '%') && is_word(peek(lex, 1))) || c == '_' || c == '$') {
        lex->next++;
        skip_word(lex);
        return finish(lex, token, SMK_TOKEN_WORD);
    }
    if (c == '.' && is_word(peek(lex, 1))) {
        return read_dot_word(lex, token);
    }
    if (c == '"') {
        return read_string(lex, token, error);
    }
    return read_mark(lex, token, error);
}
