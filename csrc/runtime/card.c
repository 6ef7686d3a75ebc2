#include "runtime/card.h"

#include "registry/cards.h"
#include "runtime/outcome.h"
#include "runtime/settings.h"
#include "runtime/watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#include "runtime/card.def"
#undef SMK_RUNTIME_CARD
};

enum { CARDS = sizeof cards / sizeof cards[0] };

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

/* Ends the program, which has not begun. */
static _Noreturn void refuse_card(void)
{
    smk_watch_add_refused_card();
    _exit(STATUS_OF_MISTAKES);
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
    if (find_card(name) < CARDS) {
        return;
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
