#include "registry/cards.h"

#include <string.h>

static const smk_card table[] = {
#define SMK_CARD(major_, minor_, name_) {.major = major_, .minor = minor_, .name = name_},
#include "registry/cards.def"
#undef SMK_CARD
};

static const smk_card_rate rates[] = {
#define SMK_CARD_RATE(owner_, quantity_, value_, source_)                                                              \
    {.owner = owner_, .quantity = #quantity_, .value = value_, .source = source_},
#include "registry/card_rates.def"
#undef SMK_CARD_RATE
};

enum { LETTERS_MAX = 64 };

size_t smk_cards_rate_count(void)
{
    return sizeof rates / sizeof rates[0];
}

const smk_card_rate *smk_cards_rate(size_t index)
{
    return &rates[index];
}

size_t smk_cards_count(void)
{
    return sizeof table / sizeof table[0];
}

const smk_card *smk_cards_row(size_t index)
{
    return &table[index];
}

/* The letters and digits of a name, lower case; its first LETTERS_MAX. */
static void simplify(const char *name, char letters[LETTERS_MAX + 1])
{
    size_t count = 0;
    for (; *name != '\0' && count < LETTERS_MAX; name++) {
        const char c = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            letters[count++] = c;
        }
    }
    letters[count] = '\0';
}

static const char *skip(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0 ? text + strlen(start) : text;
}

static void cut(char *text, const char *end)
{
    const size_t length = strlen(text), bytes = strlen(end);
    if (length > bytes && strcmp(text + length - bytes, end) == 0) {
        text[length - bytes] = '\0';
    }
}

const smk_card *smk_cards_find(const char *name)
{
    static const char *const starts[] = {"nvidia", "geforce", "tesla"};
    static const char *const ends[] = {"gpu", "laptop", "mobile"};
    char wanted[LETTERS_MAX + 1], letters[LETTERS_MAX + 1];
    const char *start = wanted;
    simplify(name, wanted);
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        start = skip(start, starts[i]);
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        cut(wanted, ends[i]);
    }
    for (size_t i = 0; i < smk_cards_count(); i++) {
        simplify(table[i].name, letters);
        if (strcmp(start, letters) == 0) {
            return &table[i];
        }
    }
    return NULL;
}
