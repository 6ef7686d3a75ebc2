/* The card that the program sees, and its limits. */
#ifndef SMK_RUNTIME_CARD_H
#define SMK_RUNTIME_CARD_H

#include "registry/occupancy.h"

#include <stdint.h>

typedef struct smk_runtime_card {
    const char *name;
    int multiprocessors, memory_gib, l2_kib, bus_bits, clock_mhz, memory_mhz;
    const smk_limits *limits; /* of its compute capability */
} smk_runtime_card;

/* The card that the settings name, or an H200. SMEMKIT_SM_COUNT replaces its number of multiprocessors. */
const smk_runtime_card *smk_runtime_card_get(void);

/* What of the L2 cache may be set aside for memory that stays there: five eighths of an H200's, as it says itself; 0
 * before compute capability 8.0. */
int smk_runtime_card_persisting_bytes(void);

/* 90 for 9.0 */
int smk_runtime_card_capability(void);

#endif
