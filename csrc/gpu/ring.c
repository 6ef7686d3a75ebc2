/* For nanosleep under -std=c11. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "gpu/ring.h"
#include "gpu/held.h"

#include "base/fork.h"
#include "base/heap.h"
#include "base/poll.h"
#include "base/quota.h"

#include <pthread.h>
#include <time.h>

/* At most a part of the host's memory is kept pinned. */
enum { RINGS_MAX = 4, MEMORY_PART = 16, WAIT_NS = 50 * 1000 };

static struct {
    pthread_once_t once;
    smk_fork_lock lock; /* guards the list; none calls CUDA under it */
    bool has_lock;
    smk_ring *first;
    unsigned count; /* also those that are being made */
} rings = {.once = PTHREAD_ONCE_INIT};

static void create_lock(void)
{
    rings.has_lock = smk_fork_lock_create(&rings.lock);
}

static unsigned count_allowed(void)
{
    const uint64_t memory = smk_quota_memory();
    const uint64_t fit = memory == 0 ? RINGS_MAX : memory / MEMORY_PART / SMK_RING_BYTES;
    return fit > RINGS_MAX ? RINGS_MAX : fit < 1 ? 1 : (unsigned)fit;
}

static void free_channel(smk_ring_channel *channel)
{
    cudaError_t code = cudaSuccess;
    if (channel == NULL) {
        return;
    }
    for (size_t i = 0; i < SMK_RING_SLOTS_MAX; i++) {
        code = channel->slot[i] != NULL ? smk_held_destroy_event(channel->slot[i]) : code;
    }
    for (size_t i = 0; i < SMK_STAGED_SLABS_MAX; i++) {
        code = channel->slab[i] != NULL ? smk_held_destroy_event(channel->slab[i]) : code;
    }
    code = channel->ordered != NULL ? smk_held_destroy_event(channel->ordered) : code;
    code = channel->up != NULL ? smk_held_destroy_stream(channel->up) : code;
    code = channel->down != NULL ? smk_held_destroy_stream(channel->down) : code;
    if (code != cudaSuccess) {
        (void)cudaGetLastError(); /* the device was lost: nothing else can be done */
    }
    smk_heap_free(channel);
}

/* The streams wait for no other one, nor others for them, but where an event says so. NULL where the device has no
 * memory for them. */
static smk_ring_channel *make_channel(void)
{
    smk_ring_channel *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    cudaError_t code = smk_held_create_event(&made->ordered, cudaEventDisableTiming);
    code = code == cudaSuccess ? smk_held_create_stream(&made->up, cudaStreamNonBlocking, 0) : code;
    code = code == cudaSuccess ? smk_held_create_stream(&made->down, cudaStreamNonBlocking, 0) : code;
    for (size_t i = 0; i < SMK_RING_SLOTS_MAX && code == cudaSuccess; i++) {
        code = smk_held_create_event(&made->slot[i], cudaEventDisableTiming);
    }
    for (size_t i = 0; i < SMK_STAGED_SLABS_MAX && code == cudaSuccess; i++) {
        code = smk_held_create_event(&made->slab[i], cudaEventDisableTiming);
    }
    if (code != cudaSuccess) {
        (void)cudaGetLastError();
        free_channel(made);
        return NULL;
    }
    return made;
}

static smk_ring *make_ring(void)
{
    smk_ring *made = smk_heap_allocate(1, sizeof *made);
    void *memory = NULL;
    if (made == NULL || !smk_workers_create(&made->workers)) {
        smk_heap_free(made);
        return NULL;
    }
    if (smk_held_pin(&memory, (size_t)SMK_RING_BYTES) != cudaSuccess) {
        (void)cudaGetLastError(); /* copies do without */
        smk_workers_free(&made->workers);
        smk_heap_free(made);
        return NULL;
    }
    made->memory = memory;
    made->busy = true;
    return made;
}

static void free_ring(smk_ring *ring)
{
    int before = 0;
    for (int device = 0; device < SMK_DEVICES_MAX; device++) {
        if (ring->channels[device] != NULL && smk_context_enter(device, &before, NULL) == SMK_OK) {
            free_channel(ring->channels[device]);
            smk_context_leave(device, before);
        }
    }
    smk_workers_free(&ring->workers);
    if (smk_held_unpin(ring->memory) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    smk_heap_free(ring);
}

/* A free ring of the list, best one that has served the device before; or leave to make one. */
static smk_ring *find_ring(int device, bool *make)
{
    smk_ring *found = NULL;
    smk_fork_lock_take(&rings.lock);
    for (smk_ring *ring = rings.first; ring != NULL; ring = ring->next) {
        if (!ring->busy && !smk_workers_are_lost(&ring->workers) && (found == NULL || ring->channels[device] != NULL)) {
            found = ring;
        }
    }
    *make = found == NULL && rings.count < count_allowed();
    rings.count += *make ? 1 : 0;
    if (found != NULL) {
        found->busy = true;
    }
    smk_fork_lock_give(&rings.lock);
    return found;
}

static void add_ring(smk_ring *made)
{
    smk_fork_lock_take(&rings.lock);
    if (made != NULL) {
        made->next = rings.first;
        rings.first = made;
    } else {
        rings.count--;
    }
    smk_fork_lock_give(&rings.lock);
}

static smk_status wait_for_ring(int device, smk_ring **ring, smk_error *error)
{
    const struct timespec pause = {0, WAIT_NS};
    for (;;) {
        bool make = false;
        smk_ring *found = find_ring(device, &make);
        if (make) {
            found = make_ring();
            add_ring(found);
        }
        if (found != NULL || make) {
            *ring = found;
            return SMK_OK;
        }
        if (smk_poll_stop_now()) {
            return smk_status_fail(error, SMK_INTERRUPTED, "a copy was interrupted");
        }
        (void)nanosleep(&pause, NULL);
    }
}

smk_status smk_ring_take(smk_ring **ring, smk_ring_channel **channel, smk_error *error)
{
    int device = 0;
    *ring = NULL;
    *channel = NULL;
    (void)pthread_once(&rings.once, create_lock);
    if (!rings.has_lock || cudaGetDevice(&device) != cudaSuccess || device >= SMK_DEVICES_MAX) {
        (void)cudaGetLastError();
        return SMK_OK;
    }
    smk_ring *found = NULL;
    smk_status status = wait_for_ring(device, &found, error);
    if (status != SMK_OK || found == NULL) {
        return status;
    }
    if (found->channels[device] == NULL) {
        found->channels[device] = make_channel();
    }
    if (found->channels[device] == NULL) {
        smk_ring_give(found);
        return SMK_OK;
    }
    *ring = found;
    *channel = found->channels[device];
    return SMK_OK;
}

void smk_ring_give(smk_ring *ring)
{
    smk_fork_lock_take(&rings.lock);
    ring->busy = false;
    smk_fork_lock_give(&rings.lock);
}

smk_ring_memory smk_ring_kept(void)
{
    smk_ring_memory kept = {0};
    (void)pthread_once(&rings.once, create_lock);
    if (rings.has_lock) {
        smk_fork_lock_take(&rings.lock);
        for (const smk_ring *ring = rings.first; ring != NULL; ring = ring->next) {
            kept.rings++;
            kept.busy += ring->busy ? 1 : 0;
        }
        smk_fork_lock_give(&rings.lock);
    }
    kept.bytes = kept.rings * SMK_RING_BYTES;
    return kept;
}

void smk_ring_free_kept(void)
{
    smk_ring *freed = NULL;
    (void)pthread_once(&rings.once, create_lock);
    if (!rings.has_lock) {
        return;
    }
    smk_fork_lock_take(&rings.lock);
    for (smk_ring **link = &rings.first; *link != NULL;) {
        smk_ring *ring = *link;
        if (ring->busy) {
            link = &ring->next;
            continue;
        }
        *link = ring->next;
        ring->next = freed;
        freed = ring;
        rings.count--;
    }
    smk_fork_lock_give(&rings.lock);
    while (freed != NULL) {
        smk_ring *next = freed->next;
        free_ring(freed);
        freed = next;
    }
}
