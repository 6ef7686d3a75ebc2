/* What is to be copied between the host's memory and that of a device, perhaps around work of the device: the operands
 * to it, slab by slab, and the results back. */
#ifndef SMK_BASE_STAGED_COPY_H
#define SMK_BASE_STAGED_COPY_H

#include "base/pack.h"
#include "base/status.h"

enum { SMK_STAGED_SLABS_MAX = 16 };

/* Memory of the device, side by side, and as many bytes of the host. */
typedef struct smk_staged_range {
    uint64_t address;
    unsigned char *host;
    uint64_t bytes;
    const smk_pack_layout *layout; /* of the host's memory; NULL: side by side too */
    size_t slab;                   /* the one that needs it, or makes it */
} smk_staged_range;

/* `run` makes the launches of a slab, behind all that has been copied to the device before, and does not wait for
 * them. */
typedef struct smk_staged_copy {
    const smk_staged_range *up, *down; /* to the device, and back; in the order of their slabs */
    size_t up_count, down_count;
    size_t slabs; /* 0: nothing runs */
    smk_status (*run)(void *context, size_t slab, smk_error *error);
    void *context;
    bool late; /* nothing is copied back before all slabs have ended, and then all of it is, whatever signals come */
} smk_staged_copy;

#endif
