/* The lexer: PTX text to tokens. Without allocation: a token is a slice of the text with its position. */
#ifndef SMK_PTX_LEX_H
#define SMK_PTX_LEX_H

#include "base/status.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

typedef enum smk_token_kind {
    SMK_TOKEN_END = 0,
    SMK_TOKEN_WORD,     /* add  %r1  $L__BB0_1  _ */
    SMK_TOKEN_DOT_WORD, /* .f32  .shared::cta; `text` keeps the dot */
    SMK_TOKEN_INTEGER,  /* value: the number; is_unsigned: it has a U, or does not fit a signed one */
    SMK_TOKEN_F32,      /* 0f3F800000; value: the bits */
    SMK_TOKEN_F64,      /* 0d3FF0000000000000; value: the bits */
    SMK_TOKEN_DECIMAL,  /* 1.5e3; value: the bits of the nearest double */
    SMK_TOKEN_STRING,   /* "..."; `text` is what stands between the quotes */
    SMK_TOKEN_MARK      /* mark: one of the characters below, or a SMK_MARK_ */
} smk_token_kind;

/* Marks of two characters; single ones are their own character. */
enum {
    SMK_MARK_SHIFT_LEFT = 256,
    SMK_MARK_SHIFT_RIGHT,
    SMK_MARK_LESS_EQUAL,
    SMK_MARK_GREATER_EQUAL,
    SMK_MARK_EQUAL,
    SMK_MARK_NOT_EQUAL,
    SMK_MARK_AND,
    SMK_MARK_OR
};

typedef struct smk_token {
    smk_text text;
    uint64_t value;
    uint32_t line; /* from 1 */
    uint32_t column;
    uint16_t mark;
    uint8_t kind; /* smk_token_kind */
    bool is_unsigned;
} smk_token;

typedef struct smk_lex {
    const char *next;
    const char *end;
    const char *line_start;
    uint32_t line;
} smk_lex;

void smk_lex_start(smk_lex *lex, const char *text, size_t length);

/* The next token; END at the end, and again for each further call. Errors: PTX. */
smk_status smk_lex_next(smk_lex *lex, smk_token *token, smk_error *error);

/* smk_status_fail with the token's line and column. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
smk_status
smk_lex_fail(const smk_token *token, smk_status status, smk_error *error, const char *format, ...);

/* A token in messages: its text, or "the end of the text". Not terminated; use SMK_TEXT_PRINT. */
smk_text smk_lex_show(const smk_token *token);

#endif
