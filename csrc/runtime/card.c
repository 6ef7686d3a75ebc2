#include "runtime/card.h"

#include "registry/cards.h"
#include "runtime/outcome.h"
#include "runtime/settings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MULTIPROCESSORS_MAX = 1024 };

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

/* The index of the card that a name means; 0 where there is none. */
static size_t find_card(const char *name)
{
    const smk_card *known = name == NULL ? NULL : smk_cards_find(name);
    for (size_t i = 0; known != NULL && i < CARDS; i++) {
        if (strcmp(cards[i].name, known->name) == 0) {
            return i;
        }
    }
    if (name != NULL) {
        smk_outcome_say("%s is no card that is known here; the program runs as on an %s", name, cards[0].name);
    }
    return 0;
}

static void choose(void)
{
    const char *count = getenv("SMEMKIT_SM_COUNT");
    const long wanted = count != NULL ? strtol(count, NULL, 10) : 0;
    chosen = cards[find_card(smk_settings_get()->card)];
    const smk_card *card = smk_cards_find(chosen.name);
    chosen.limits = card == NULL ? NULL : smk_occupancy_find(card->major, card->minor);
    if (wanted > 0 && wanted <= MULTIPROCESSORS_MAX) {
        chosen.multiprocessors = (int)wanted;
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
