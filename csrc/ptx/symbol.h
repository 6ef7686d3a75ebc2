/* Symbol tables: names in nested scopes, and the fixed words of the language. A lookup takes constant time, so the time
 * to parse a text grows with its length alone. */
#ifndef SMK_PTX_SYMBOL_H
#define SMK_PTX_SYMBOL_H

#include "base/arena.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum smk_symbol_kind {
    SMK_SYMBOL_REGISTER,
    SMK_SYMBOL_RANGE,    /* %r<10>: the name is the prefix, count the number of registers */
    SMK_SYMBOL_VARIABLE, /* of the module or of the function */
    SMK_SYMBOL_FUNCTION,
    SMK_SYMBOL_LABEL,
    SMK_SYMBOL_WORD /* of the language; scope: smk_word_kind */
} smk_symbol_kind;

typedef struct smk_symbol {
    struct smk_symbol *chain; /* same bucket */
    struct smk_symbol *next;  /* same scope */
    smk_text name;
    uint64_t hash;
    uint32_t index; /* register, variable, function, label; registers: SMK_NO_INDEX until used */
    uint32_t count;
    uint32_t line;
    uint16_t scope; /* depth */
    uint8_t kind;   /* smk_symbol_kind */
    uint8_t type;   /* smk_type of a register */
    uint8_t width;  /* vector width of a register, 1 for a scalar */
} smk_symbol;

enum { SMK_SCOPES_MAX = 64 };

typedef struct smk_symbol_table {
    smk_arena arena;
    smk_symbol **buckets;
    size_t bucket_count; /* a power of two */
    uint64_t seed;
    unsigned depth; /* of the present scope; 0 is the module's */
    struct {
        smk_symbol *first;
        uint32_t ranges; /* how many ranges it declares */
    } scopes[SMK_SCOPES_MAX + 1];
} smk_symbol_table;

/* `names`: the expected number of names. False where there is no memory. */
bool smk_symbol_start(smk_symbol_table *table, size_t names);
void smk_symbol_end(smk_symbol_table *table);

/* Adds to scope `depth` without looking for duplicates; NULL where there is no memory. */
smk_symbol *smk_symbol_add(smk_symbol_table *table, smk_symbol_kind kind, smk_text name, unsigned depth);

/* The innermost symbol of that name; ranges have a name space of their own. NULL where there is none. */
smk_symbol *smk_symbol_find(const smk_symbol_table *table, smk_text name);
smk_symbol *smk_symbol_find_range(const smk_symbol_table *table, smk_text prefix);

/* Opens and closes scopes; closing forgets their symbols. The caller watches SMK_SCOPES_MAX. */
void smk_symbol_open(smk_symbol_table *table);
void smk_symbol_close(smk_symbol_table *table);

/* The words of the language, by kind. */
typedef enum smk_word_kind {
    SMK_WORD_TYPE,
    SMK_WORD_MODIFIER,
    SMK_WORD_OPCODE,
    SMK_WORD_SPECIAL,
    SMK_WORD_DIRECTIVE,   /* smk_directive of parse.h */
    SMK_WORD_UNSUPPORTED, /* known PTX that is refused, behind a dot */
    SMK_WORD_UNSUPPORTED_OPCODE,
    SMK_WORD_UNSUPPORTED_SPECIAL
} smk_word_kind;

bool smk_symbol_start_words(smk_symbol_table *table);

/* The word's number; SMK_NO_INDEX where there is no such word of this kind. */
uint32_t smk_symbol_word(const smk_symbol_table *table, smk_word_kind kind, smk_text text);

#endif
