/* Rings of pinned buffers, through which pageable memory goes to a device and back; private to csrc/gpu.
 *
 * A ring serves one copy at a time, for any device: its memory is pinned for all of them, and it has streams and events
 * for each that it has served, and threads that copy. Rings are kept for the next copy. There are few, so the pinned memory is bounded; a copy
 * waits where all of them are in use.
 */
#ifndef SMK_GPU_RING_H
#define SMK_GPU_RING_H

#include "base/staged_copy.h"
#include "base/status.h"
#include "base/workers.h"
#include "gpu/gpu.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SMK_RING_SLOTS_MAX = 64 };

#define SMK_RING_BYTES (UINT64_C(1) << 26)

/* The streams and events of one device. */
typedef struct smk_ring_channel {
    cudaStream_t up, down;
    cudaEvent_t slot[SMK_RING_SLOTS_MAX];
    cudaEvent_t slab[SMK_STAGED_SLABS_MAX];
    cudaEvent_t ordered;
} smk_ring_channel;

typedef struct smk_ring {
    struct smk_ring *next;
    unsigned char *memory; /* SMK_RING_BYTES */
    smk_ring_channel *channels[SMK_DEVICES_MAX];
    smk_workers workers; /* that fill and empty its slots */
    bool busy;
} smk_ring;

/* A ring for the present device, and its channel there; both NULL where there is no pinned memory, or no stream. The
 * wait for a ring that others use can be interrupted (base/poll.h). Errors: INTERRUPTED. */
smk_status smk_ring_take(smk_ring **ring, smk_ring_channel **channel, smk_error *error);

/* No copy of the ring may be under way. */
void smk_ring_give(smk_ring *ring);

#endif
