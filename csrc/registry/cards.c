#include "registry/cards.h"

#include <stdbool.h>
#include <stdlib.h>
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

enum { LETTERS_MAX = 64, MULTIPROCESSORS_MAX = 1024 };

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

static bool is_digits(const char *text)
{
    return *text != '\0' && strspn(text, "0123456789") == strlen(text);
}

/* Is a word, in lower case, what drivers and shops write behind a name: how the card is built, or its memory? */
static bool is_form(const char *word)
{
    const size_t digits = strspn(word, "0123456789");
    return (strncmp(word, "sxm", 3) == 0 && (word[3] == '\0' || is_digits(word + 3))) || strcmp(word, "pcie") == 0 ||
           strcmp(word, "nvl") == 0 || strncmp(word, "hbm", 3) == 0 || (digits > 0 && strcmp(word + digits, "gb") == 0);
}

/* The letters and digits of a name in lower case, its first LETTERS_MAX, without words of its form. */
static void simplify(const char *name, char letters[LETTERS_MAX + 1])
{
    size_t count = 0, word = 0, before = 0; /* where this word and the one before it begin */
    for (;; name++) {
        const char c = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
        const bool ends = c == ' ' || c == '-' || c == '\0';
        if (((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) && count < LETTERS_MAX) {
            letters[count++] = c;
        }
        letters[count] = '\0';
        if (ends && word > 0 && is_form(letters + word)) {
            count = word;
        } else if (ends && before > 0 && strcmp(letters + word, "gb") == 0 &&
                   strspn(letters + before, "0123456789") == word - before) {
            count = before;
        } else if (ends && count > word) {
            before = word;
        }
        if (ends) {
            word = count;
        }
        if (c == '\0') {
            break;
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

smk_status smk_cards_multiprocessors(uint32_t otherwise, uint32_t *count, smk_error *error)
{
    const char *text = getenv("SMEMKIT_SM_COUNT");
    char *end = NULL;
    *count = otherwise;
    if (text == NULL || text[0] == '\0') {
        return SMK_OK;
    }
    const unsigned long long asked = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || asked == 0 || asked > MULTIPROCESSORS_MAX) {
        return smk_status_fail(
            error, SMK_ARGUMENT,
            "the environment variable SMEMKIT_SM_COUNT is '%.100s'; a whole number from 1 to %d is needed", text,
            MULTIPROCESSORS_MAX);
    }
    *count = (uint32_t)asked;
    return SMK_OK;
}
