#include "ptx/symbol.h"

#include "base/heap.h"
#include "ptx/feature.h"
#include "ptx/parse.h"

#include <string.h>

enum { BUCKETS_MIN = 64, WORDS_MAX = 1024 };
#define BUCKETS_MAX ((size_t)1 << 22)

static uint64_t hash_text(const smk_symbol_table *table, smk_text text, unsigned salt)
{
    uint64_t hash = table->seed ^ (salt * UINT64_C(0x9E3779B97F4A7C15));
    for (size_t i = 0; i < text.length; i++) {
        hash = (hash ^ (unsigned char)text.start[i]) * UINT64_C(0x100000001B3);
    }
    return hash ^ hash >> 29;
}

bool smk_symbol_start(smk_symbol_table *table, size_t names)
{
    memset(table, 0, sizeof *table);
    size_t count = BUCKETS_MIN;
    while (count < names && count < BUCKETS_MAX) {
        count *= 2;
    }
    table->buckets = smk_heap_allocate(count, sizeof *table->buckets);
    table->bucket_count = table->buckets == NULL ? 0 : count;
    table->seed = UINT64_C(0xCBF29CE484222325);
    return table->buckets != NULL;
}

void smk_symbol_end(smk_symbol_table *table)
{
    smk_heap_free(table->buckets);
    smk_arena_free(&table->arena);
    memset(table, 0, sizeof *table);
}

/* Ranges and each kind of language word are name spaces of their own. */
static unsigned salt_of(smk_symbol_kind kind, unsigned depth)
{
    return kind == SMK_SYMBOL_RANGE ? 1 : kind == SMK_SYMBOL_WORD ? 2 + depth : 0;
}

smk_symbol *smk_symbol_add(smk_symbol_table *table, smk_symbol_kind kind, smk_text name, unsigned depth)
{
    smk_symbol *symbol = smk_arena_allocate(&table->arena, 1, sizeof *symbol);
    if (symbol == NULL) {
        return NULL;
    }
    symbol->kind = (uint8_t)kind;
    symbol->name = name;
    symbol->scope = (uint16_t)depth;
    symbol->index = SMK_NO_INDEX;
    symbol->width = 1;
    symbol->hash = hash_text(table, name, salt_of(kind, depth));
    smk_symbol **bucket = &table->buckets[symbol->hash & (table->bucket_count - 1)];
    symbol->chain = *bucket;
    *bucket = symbol;
    if (kind != SMK_SYMBOL_WORD) {
        symbol->next = table->scopes[depth].first;
        table->scopes[depth].first = symbol;
        table->scopes[depth].ranges += kind == SMK_SYMBOL_RANGE;
    }
    return symbol;
}

static smk_symbol *find(const smk_symbol_table *table, smk_text name, unsigned salt)
{
    uint64_t hash = hash_text(table, name, salt);
    smk_symbol *symbol = table->buckets[hash & (table->bucket_count - 1)];
    while (symbol != NULL && (symbol->hash != hash || !smk_text_equal(symbol->name, name) ||
                              salt_of((smk_symbol_kind)symbol->kind, symbol->scope) != salt)) {
        symbol = symbol->chain;
    }
    return symbol;
}

smk_symbol *smk_symbol_find(const smk_symbol_table *table, smk_text name)
{
    return find(table, name, 0);
}

smk_symbol *smk_symbol_find_range(const smk_symbol_table *table, smk_text prefix)
{
    return find(table, prefix, 1);
}

void smk_symbol_open(smk_symbol_table *table)
{
    table->depth++;
    table->scopes[table->depth].first = NULL;
    table->scopes[table->depth].ranges = 0;
}

void smk_symbol_close(smk_symbol_table *table)
{
    for (smk_symbol *symbol = table->scopes[table->depth].first; symbol != NULL; symbol = symbol->next) {
        smk_symbol **link = &table->buckets[symbol->hash & (table->bucket_count - 1)];
        while (*link != symbol) {
            link = &(*link)->chain;
        }
        *link = symbol->chain;
    }
    table->depth--;
}

static bool add_word(smk_symbol_table *table, smk_word_kind kind, const char *text, unsigned index)
{
    smk_symbol *symbol = smk_symbol_add(table, SMK_SYMBOL_WORD, (smk_text){text, strlen(text)}, (unsigned)kind);
    if (symbol != NULL) {
        symbol->index = index;
    }
    return symbol != NULL;
}

static bool add_refused_words(smk_symbol_table *table)
{
    static const struct {
        const char *text;
        smk_word_kind kind;
        smk_feature feature;
    } refused[] = {
#define SMK_PTX_UNSUPPORTED_OPCODE(spelling, feature) {spelling, SMK_WORD_UNSUPPORTED_OPCODE, SMK_FEATURE_##feature},
#define SMK_PTX_UNSUPPORTED_WORD(spelling, feature) {spelling, SMK_WORD_UNSUPPORTED, SMK_FEATURE_##feature},
#define SMK_PTX_UNSUPPORTED_SPECIAL(spelling, feature) {spelling, SMK_WORD_UNSUPPORTED_SPECIAL, SMK_FEATURE_##feature},
#include "ptx/unsupported.def"
    };
    bool good = true;
    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        good = good && add_word(table, refused[i].kind, refused[i].text, refused[i].feature);
    }
    return good;
}

bool smk_symbol_start_words(smk_symbol_table *table)
{
    bool good = smk_symbol_start(table, WORDS_MAX);
    for (unsigned i = 1; i < SMK_TYPE_COUNT; i++) {
        good = good && add_word(table, SMK_WORD_TYPE, smk_module_type_name((smk_type)i), i);
    }
    for (unsigned i = 0; i < SMK_MODIFIER_COUNT; i++) {
        good = good && add_word(table, SMK_WORD_MODIFIER, smk_module_modifier_name((smk_modifier)i), i);
    }
    for (unsigned i = 1; i < SMK_OPCODE_COUNT; i++) {
        good = good && add_word(table, SMK_WORD_OPCODE, smk_module_opcode_name((smk_opcode)i), i);
    }
    for (unsigned i = 0; i < SMK_SPECIAL_COUNT; i++) {
        good = good && add_word(table, SMK_WORD_SPECIAL, smk_module_special_name((smk_special)i), i);
    }
    for (unsigned i = 0; i < SMK_DIRECTIVE_COUNT; i++) {
        good = good && add_word(table, SMK_WORD_DIRECTIVE, smk_parse_directive_name((smk_directive)i), i);
    }
    return good && add_refused_words(table);
}

uint32_t smk_symbol_word(const smk_symbol_table *table, smk_word_kind kind, smk_text text)
{
    const smk_symbol *symbol = find(table, text, 2 + (unsigned)kind);
    return symbol == NULL ? SMK_NO_INDEX : symbol->index;
}
