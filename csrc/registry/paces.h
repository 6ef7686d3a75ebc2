/* Paces: how long kernels take on cards on which nobody has measured them, by prediction. "auto" takes them in place of
 * the H200's times; on an H200, and on others of its architecture, there are none. */
#ifndef SMK_REGISTRY_PACES_H
#define SMK_REGISTRY_PACES_H

#include "registry/plan.h"

/* One card of paces.def. */
typedef struct smk_pace_card {
    const char *name;
    int capability;  /* 86: compute capability 8.6 */
    bool is_geforce; /* such cards have half of their architecture's rate of small matrices */
    uint32_t multiprocessors;
    double memory; /* how many times as long as an H200's memory it takes for a byte */
} smk_pace_card;

/* The card whose paces stand for a GPU: that of its name, else the one of its compute capability, and of its kind, whose
 * number of multiprocessors is nearest, else one of a lower compute capability of the same generation. NULL where the
 * H200's measurements serve, or where no card of the table is like it. */
const smk_pace_card *smk_paces_find(const char *name, int capability, uint32_t multiprocessors);

/* Whether GPUs of a compute capability need a card of the table: false where the H200's measurements serve. */
bool smk_paces_needed(int capability);

/* How many times as long as an H200's memory the machine's takes for a byte; 1 where there is no pace. */
double smk_paces_memory(const smk_machine *machine);

/* How many times as long as one of an H200 a multiprocessor of the machine takes for a share of the variant's work, with
 * elements of the type, which is one of the row's types; 1 where there is no pace. */
double smk_paces_variant(const smk_machine *machine, const smk_variant *variant, const char *type);

#endif
