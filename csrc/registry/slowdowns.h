/* Slowdowns: how long kernels take on cards on which they were not measured, by prediction. "auto" takes them in place of
 * the H200's times; on an H200, and on others of its architecture, there are none. */
#ifndef SMK_REGISTRY_SLOWDOWNS_H
#define SMK_REGISTRY_SLOWDOWNS_H

#include "registry/plan.h"

/* One card of slowdowns.def. */
typedef struct smk_slowdown_card {
    const char *name;
    int capability;  /* 86: compute capability 8.6 */
    bool is_geforce; /* such cards have half of their architecture's rate of small matrices */
    uint32_t multiprocessors;
    double memory; /* how many times as long as an H200's memory it takes for a byte */
} smk_slowdown_card;

/* The card whose slowdowns stand for a GPU: that of its name, else the one of its compute capability, and of its kind, whose
 * number of multiprocessors is nearest, else one of a lower compute capability of the same generation. NULL where the
 * H200's measurements serve, or where no card of the table is like it. */
const smk_slowdown_card *smk_slowdowns_find(const char *name, int capability, uint32_t multiprocessors);

/* Whether GPUs of a compute capability need a card of the table: false where the H200's measurements serve. */
bool smk_slowdowns_needed(int capability);

/* How many times as long as an H200's memory the machine's takes for a byte; 1 where there is no slowdown. */
double smk_slowdowns_memory(const smk_machine *machine);

/* How many times as long as one of an H200 a multiprocessor of the machine takes for a share of the variant's work, with
 * elements of the type, which is one of the row's types; 1 where there is no slowdown. */
double smk_slowdowns_variant(const smk_machine *machine, const smk_variant *variant, const char *type);

#endif
