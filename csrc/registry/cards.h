/* Names of GPUs and their compute capabilities. */
#ifndef SMK_REGISTRY_CARDS_H
#define SMK_REGISTRY_CARDS_H

#include <stddef.h>

/* One row of cards.def. */
typedef struct smk_card {
    int major, minor;
    const char *name;
} smk_card;

size_t smk_cards_count(void);
const smk_card *smk_cards_row(size_t index); /* an index below the count */

/* The card of that name, as people write it: "rtx3060", "NVIDIA GeForce RTX 3060 Laptop GPU". NULL: none. */
const smk_card *smk_cards_find(const char *name);

#endif
