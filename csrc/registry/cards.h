/* Names of GPUs, their compute capabilities, and how fast they are. */
#ifndef SMK_REGISTRY_CARDS_H
#define SMK_REGISTRY_CARDS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* One row of cards.def. */
typedef struct smk_card {
    int major, minor;
    const char *name;
} smk_card;

size_t smk_cards_count(void);
const smk_card *smk_cards_row(size_t index); /* an index below the count */

/* The card of that name, as people write it: "rtx3060", "NVIDIA GeForce RTX 3060 Laptop GPU". NULL: none. */
const smk_card *smk_cards_find(const char *name);

/* The multiprocessors of the simulated machine: SMEMKIT_SM_COUNT, or `otherwise` where that is not set. Errors:
 * ARGUMENT. */
smk_status smk_cards_multiprocessors(uint32_t otherwise, uint32_t *count, smk_error *error);

/* One row of card_rates.def. */
typedef struct smk_card_rate {
    const char *owner, *quantity;
    double value;
    const char *source;
} smk_card_rate;

size_t smk_cards_rate_count(void);
const smk_card_rate *smk_cards_rate(size_t index); /* an index below the count */

#endif
