#include "registry/slowdowns.h"

#include "registry/cards.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const smk_slowdown_card cards[] = {
#define SMK_SLOWDOWN_CARD(name_, capability_, is_geforce_, multiprocessors_, memory_)                                  \
    {.name = name_,                                                                                                    \
     .capability = capability_,                                                                                        \
     .is_geforce = is_geforce_,                                                                                        \
     .multiprocessors = multiprocessors_,                                                                              \
     .memory = memory_},
#define SMK_SLOWDOWN(family, variant, type, ...)
#include "registry/slowdowns.def"
#undef SMK_SLOWDOWN_CARD
#undef SMK_SLOWDOWN
};

enum { CARDS = sizeof cards / sizeof cards[0] };

/* The place of each row in variants.def. */
enum {
#define SMK_VARIANT(family, name, block_x, block_y, tile_x, tile_y, types, arch, plan, speed, summary)                 \
    ROW_##family##_##name,
#include "registry/variants.def"
#undef SMK_VARIANT
};

static const struct {
    size_t variant;
    const char *type;
    float slowdowns[CARDS]; /* 0: the card cannot run it */
} slowdowns[] = {
#define SMK_SLOWDOWN_CARD(name, capability, is_geforce, multiprocessors, memory)
#define SMK_SLOWDOWN(family, variant_, type_, ...)                                                                     \
    {.variant = ROW_##family##_##variant_, .type = #type_, .slowdowns = {__VA_ARGS__}},
#include "registry/slowdowns.def"
#undef SMK_SLOWDOWN_CARD
#undef SMK_SLOWDOWN
};

/* The architecture on which the speeds of variants.def and the times of gemm_tiles.def were measured. */
enum { MEASURED_MAJOR = 9 };

/* Whether the name is that of a GeForce card: it says so, or it is one as "RTX 3070", not as "RTX A2000". */
static bool is_geforce(const char *name)
{
    const bool has_number = (strncmp(name, "RTX ", 4) == 0 || strncmp(name, "GTX ", 4) == 0) &&
                            isdigit((unsigned char)name[4]) && strstr(name, "Ada") == NULL;
    return has_number || strstr(name, "GeForce") != NULL;
}

/* How unlike a GPU a card of its generation is; the least is taken. */
static int64_t compare(const smk_slowdown_card *card, bool of_kind, int capability, uint32_t multiprocessors)
{
    enum { LOWER = 1 << 24, OTHER_KIND = 1 << 20 };
    return (int64_t)(capability - card->capability) * LOWER + (card->is_geforce == of_kind ? 0 : OTHER_KIND) +
           llabs((int64_t)card->multiprocessors - (int64_t)multiprocessors);
}

bool smk_slowdowns_needed(int capability)
{
    return capability / 10 != MEASURED_MAJOR;
}

const smk_slowdown_card *smk_slowdowns_find(const char *name, int capability, uint32_t multiprocessors)
{
    const smk_card *known = smk_cards_find(name);
    const smk_slowdown_card *best = NULL;
    int64_t least = 0;
    if (!smk_slowdowns_needed(capability)) {
        return NULL;
    }
    for (size_t i = 0; i < CARDS; i++) {
        const smk_slowdown_card *card = &cards[i];
        if (known != NULL && strcmp(known->name, card->name) == 0) {
            return card;
        }
        if (card->capability / 10 != capability / 10 || card->capability > capability) {
            continue;
        }
        const int64_t unlike = compare(card, is_geforce(name), capability, multiprocessors);
        if (best == NULL || unlike < least) {
            best = card;
            least = unlike;
        }
    }
    return best;
}

double smk_slowdowns_memory(const smk_machine *machine)
{
    const smk_slowdown_card *card = machine->slowdown;
    if (card == NULL || machine->multiprocessors == 0) {
        return 1.0;
    }
    return card->memory * (double)card->multiprocessors / (double)machine->multiprocessors;
}

double smk_slowdowns_variant(const smk_machine *machine, const smk_variant *variant, const char *type)
{
    if (machine->slowdown == NULL) {
        return 1.0;
    }
    const size_t row = (size_t)(variant - smk_registry_variant(0)), column = (size_t)(machine->slowdown - cards);
    for (size_t i = 0; i < sizeof slowdowns / sizeof slowdowns[0]; i++) {
        if (slowdowns[i].variant == row && strcmp(slowdowns[i].type, type) == 0 &&
            slowdowns[i].slowdowns[column] > 0.0F) {
            return (double)slowdowns[i].slowdowns[column];
        }
    }
    return 1.0;
}
