#include "runtime/card.h"

#include "registry/cards.h"
#include "runtime/outcome.h"
#include "runtime/settings.h"
#include "runtime/watch.h"

#include <ctype.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { NAMES_BYTES = 384, STATUS_OF_MISTAKES = 2 };

static const smk_runtime_card cards[] = {
#define SMK_RUNTIME_CARD(name_, multiprocessors_, memory_gib_, l2_kib_, bus_bits_, clock_mhz_, memory_mhz_)            \
    {.name = name_,                                                                                                    \
     .multiprocessors = multiprocessors_,                                                                              \
     .memory_gib = memory_gib_,                                                                                        \
     .l2_kib = l2_kib_,                                                                                                \
     .bus_bits = bus_bits_,                                                                                            \
     .clock_mhz = clock_mhz_,                                                                                          \
     .memory_mhz = memory_mhz_},
#define SMK_RUNTIME_CARD_FORM(name, memory_gib, memory_mhz)
#include "runtime/card.def"
#undef SMK_RUNTIME_CARD
#undef SMK_RUNTIME_CARD_FORM
};

/* Cards of one name with another memory. */
typedef struct card_form {
    const char *name;
    int memory_gib, memory_mhz;
} card_form;

static const card_form forms[] = {
#define SMK_RUNTIME_CARD(name, multiprocessors, memory_gib, l2_kib, bus_bits, clock_mhz, memory_mhz)
#define SMK_RUNTIME_CARD_FORM(name_, memory_gib_, memory_mhz_)                                                         \
    {.name = name_, .memory_gib = memory_gib_, .memory_mhz = memory_mhz_},
#include "runtime/card.def"
#undef SMK_RUNTIME_CARD
#undef SMK_RUNTIME_CARD_FORM
};

enum { CARDS = sizeof cards / sizeof cards[0], FORMS = sizeof forms / sizeof forms[0] };

static smk_runtime_card chosen;

/* The index of the card that a name means, 0 where none is named; CARDS: it is not known. */
static size_t find_card(const char *name)
{
    const smk_card *known = name == NULL ? NULL : smk_cards_find(name);
    size_t i = 0;
    while (name != NULL && i < CARDS && (known == NULL || strcmp(cards[i].name, known->name) != 0)) {
        i++;
    }
    return i;
}

/* The gigabytes that a name says, as "80GB" or "12 GB"; 0: none. */
static int read_gib(const char *name)
{
    for (const char *at = name; name != NULL && *at != '\0'; at++) {
        if (isdigit((unsigned char)*at) && (at == name || !isalnum((unsigned char)at[-1]))) {
            char *end;
            const long count = strtol(at, &end, 10);
            end += *end == ' ';
            if (count > 0 && count < INT_MAX && strncasecmp(end, "GB", 2) == 0 && !isalnum((unsigned char)end[2])) {
                return (int)count;
            }
        }
    }
    return 0;
}

/* Gives a card the memory that its name says; false where it is not sold with it. */
static bool choose_memory(const char *name, smk_runtime_card *card)
{
    const int wanted = read_gib(name);
    for (size_t i = 0; i < FORMS; i++) {
        if (forms[i].memory_gib == wanted && strcmp(forms[i].name, card->name) == 0) {
            card->memory_gib = wanted;
            card->memory_mhz = forms[i].memory_mhz;
        }
    }
    return wanted == 0 || wanted == card->memory_gib;
}

/* Ends the program, which has not begun. */
static _Noreturn void refuse_card(void)
{
    smk_watch_add_refused_card();
    _exit(STATUS_OF_MISTAKES);
}

/* Are the names one, but for capitals and blanks? */
static bool is_same_name(const char *a, const char *b)
{
    while (*a != '\0' || *b != '\0') {
        if (*a == ' ') {
            a++;
        } else if (*b == ' ') {
            b++;
        } else if (tolower((unsigned char)*a++) != tolower((unsigned char)*b++)) {
            return false;
        }
    }
    return true;
}

/* " or 80 GB": what else a card is sold with. */
static const char *write_forms(const char *name, char *text, size_t bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < FORMS && used < bytes; i++) {
        if (strcmp(forms[i].name, name) == 0) {
            used += (size_t)snprintf(text + used, bytes - used, " or %d GB", forms[i].memory_gib);
        }
    }
    return text;
}

/* Before the program begins: results of another card than the one that was asked for would be taken for right. */
__attribute__((constructor)) static void refuse_unknown_card(void)
{
    const char *name = smk_settings_get()->card;
    char names[NAMES_BYTES] = "";
    size_t used = 0;
    uint32_t count = 0;
    smk_error error;
    if (smk_cards_multiprocessors(1, &count, &error) != SMK_OK) {
        smk_outcome_say("%s", error.message);
        refuse_card();
    }
    const size_t found = find_card(name);
    smk_runtime_card card = cards[found < CARDS ? found : 0];
    if (found < CARDS && choose_memory(name, &card)) {
        if (name != NULL && !is_same_name(name, card.name)) { /* it may say more than is known here */
            smk_outcome_say("%s is taken for the %s with %d GB and %d multiprocessors", name, card.name,
                            card.memory_gib, card.multiprocessors);
        }
        return;
    }
    if (found < CARDS) {
        smk_outcome_say("%s: the %s is known here with %d GB%s of memory", name, card.name, card.memory_gib,
                        write_forms(card.name, names, sizeof names));
        refuse_card();
    }
    for (size_t i = 0; i < CARDS && used < sizeof names; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ", cards[i].name);
    }
    smk_outcome_say("%s is no card that is known here; known are %s", name, names);
    refuse_card();
}

static void choose(void)
{
    uint32_t count = 0;
    chosen = cards[find_card(smk_settings_get()->card)];
    (void)choose_memory(smk_settings_get()->card, &chosen);
    const smk_card *card = smk_cards_find(chosen.name);
    chosen.limits = card == NULL ? NULL : smk_occupancy_find(card->major, card->minor);
    if (smk_cards_multiprocessors((uint32_t)chosen.multiprocessors, &count, NULL) == SMK_OK) {
        chosen.multiprocessors = (int)count;
    }
}

const smk_runtime_card *smk_runtime_card_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, choose);
    return &chosen;
}

int smk_runtime_card_capability(void)
{
    const smk_limits *limits = smk_runtime_card_get()->limits;
    return 10 * limits->major + limits->minor;
}

int smk_runtime_card_persisting_bytes(void)
{
    return smk_runtime_card_capability() >= 80 ? smk_runtime_card_get()->l2_kib * 1024 / 8 * 5 : 0;
}
