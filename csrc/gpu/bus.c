/* Copies between pageable memory and a device at the speed of the bus.
 *
 * The bus reads and writes pinned memory alone. So the host's memory is cut into chunks, each of which goes through a
 * slot of a ring (ring.h): workers fill the slot and the bus takes it to the device, or the bus fills it and workers
 * empty it. The bus pauses for some microseconds between two chunks, so these are large; and workers copy parts of them
 * (tasks.h), so that all work on the chunk that the bus waits for. Where the host's pages are new, the workers are also
 * the ones that fault them in, each in huge pages of its own. The caller's thread alone calls CUDA. Chunks of pinned
 * memory need no slot's memory and no worker.
 *
 * Around launches (smk_staged_copy.run) the chunks of a slab go to the device, then it runs, then its results come back:
 * each while the chunks of other slabs move in both directions.
 */
/* For nanosleep under -std=c11. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "gpu/gpu.h"

#include "base/pages.h"
#include "base/poll.h"
#include "base/quota.h"
#include "base/workers.h"
#include "gpu/cuda_error.h"
#include "gpu/ring.h"
#include "gpu/stream.h"
#include "gpu/tasks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* Threads, the caller's included, beyond which more gain nothing: they fill the bus where the host's memory is in use, and
 * more of them share the work of the system where it is new. With fewer than HELPERS_MIN beside it the caller's thread
 * copies, too. */
enum {
    THREADS_MAX = 10,
    THREADS_FRESH_MAX = 16,
    HELPERS_MIN = 3,
    PARTS_MAX = 16,
    POLL_NS = 200 * 1000,
    IDLE_NS = 200 * 1000,
    PAUSE_NS = 20 * 1000,
    EDGE_PARTS = 8
};
_Static_assert(SMK_TASKS_MAX >= SMK_RING_SLOTS_MAX * PARTS_MAX, "each part of each slot may be a task");

/* Of copies in one direction to memory in use; else slots are a page. */
#define SLOT_BYTES (UINT64_C(1) << 22)
#define SLOTS_UP UINT64_C(5) /* at most, of copies to a device alone: what is filled should still lie in the caches */
#define PINNED_BYTES (UINT64_C(1) << 24)
#define PART_BYTES_MIN (UINT64_C(1) << 16)
#define PAGE_BYTES (UINT64_C(1) << 21) /* a huge page: none of them is written by two workers where it is new */
#define THREAD_BYTES (UINT64_C(1) << 20)
#define SLOT_BYTES_MIN (UINT64_C(1) << 12)

static struct {
    atomic_uint threads, slots;
    _Atomic uint64_t slot_bytes, part_bytes;
} preset;

void smk_bus_set(const smk_bus_settings *settings)
{
    atomic_store(&preset.threads, settings->threads);
    atomic_store(&preset.slots, settings->slots);
    atomic_store(&preset.slot_bytes, settings->slot_bytes);
    atomic_store(&preset.part_bytes, settings->part_bytes);
}

/* EMPTYING ends as FREE, FILLING as FULL, both by the worker that copies the last part; the caller's
 * thread makes all other changes. */
typedef enum slot_state { FREE, FILLING, FULL, MOVING, EMPTYING } slot_state;

/* A chunk on its way. */
typedef struct slot {
    atomic_int state;
    unsigned char *buffer; /* of the ring */
    unsigned char *pinned; /* what the bus reads or writes: the buffer, or the host's memory itself */
    cudaEvent_t moved;
    const smk_staged_range *range;
    uint64_t first, bytes, part_bytes;
    atomic_uint parts_left; /* that workers have not copied yet */
} slot;

/* The chunks of one direction, in order, and the slots that they take in turn. */
typedef struct direction {
    bool results; /* from the device */
    const smk_staged_range *ranges;
    size_t range_count, range; /* of the next chunk */
    uint64_t at;
    size_t asked; /* ranges of which is known what follows */
    bool pinned;  /* the host memory of the present one is */
    bool fresh;   /* and here the system has to find pages for it */
    slot *slots;
    uint64_t slot_count;
    uint64_t begun, moving, moved; /* chunks that have a slot; that the bus has been given; that it has moved */
    uint64_t bytes, begun_bytes, moved_bytes;
} direction;

typedef struct bus {
    const smk_staged_copy *copy;
    smk_ring_channel *channel;
    uint64_t bytes; /* to be copied */
    uint64_t slot_bytes, part_bytes;
    unsigned workers;
    slot slots[SMK_RING_SLOTS_MAX];
    direction up, down;
    size_t launched, ended; /* slabs */
    bool helps;             /* the caller's thread copies, too */
    smk_tasks tasks;        /* slot * PARTS_MAX + part */
} bus;

/* Workers ------------------------------------------------------------------------------------------ */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void push(bus *b, slot *s, slot_state state)
{
    const unsigned parts = (unsigned)((s->bytes + s->part_bytes - 1) / s->part_bytes);
    atomic_store(&s->parts_left, parts);
    atomic_store(&s->state, state);
    smk_tasks_push(&b->tasks, (uint64_t)(s - b->slots) * PARTS_MAX, parts);
}

/* A buffer is filled through the caches: the ring fits into them, and the bus reads it from there. The host's memory is
 * written past them. */
static void fill(const slot *s, uint64_t at, uint64_t bytes)
{
    const smk_staged_range *range = s->range;
    if (range->layout != NULL) {
        smk_pack_gather(range->layout, range->host, s->first + at, bytes, s->buffer + at);
    } else {
        (void)memcpy(s->buffer + at, range->host + s->first + at, (size_t)bytes);
    }
}

static void empty(const slot *s, uint64_t at, uint64_t bytes)
{
    const smk_staged_range *range = s->range;
    if (range->layout != NULL) {
        smk_pack_scatter(range->layout, range->host, s->first + at, bytes, s->buffer + at);
    } else {
        smk_pack_copy(range->host + s->first + at, s->buffer + at, (size_t)bytes);
    }
}

static void copy_part(bus *b, uint64_t task)
{
    slot *s = &b->slots[task / PARTS_MAX];
    const uint64_t at = task % PARTS_MAX * s->part_bytes, left = s->bytes - at;
    const uint64_t bytes = left < s->part_bytes ? left : s->part_bytes;
    const bool fills = atomic_load(&s->state) == FILLING;
    if (fills) {
        fill(s, at, bytes);
    } else {
        empty(s, at, bytes);
    }
    if (atomic_fetch_sub(&s->parts_left, 1) == 1) {
        atomic_store(&s->state, fills ? FULL : FREE);
    }
}

static void run_worker(void *context)
{
    bus *b = context;
    for (uint64_t task = 0; smk_tasks_take(&b->tasks, true, &task);) {
        copy_part(b, task);
    }
}

/* Chunks ------------------------------------------------------------------------------------------- */

static bool is_pinned(const smk_staged_range *range)
{
    return range->layout == NULL && smk_pinned_has(range->host) && smk_pinned_has(range->host + range->bytes - 1);
}

/* Does the system have to find pages for a result? It is asked about the middle, which nothing has written when the
 * beginning has been. */
static bool is_fresh(const smk_staged_range *range)
{
    return range->layout == NULL && range->bytes >= PAGE_BYTES &&
           !smk_pages_is_resident(range->host + range->bytes / 2);
}

/* Leaves ranges that are done, and those without bytes. False where no chunk is left. */
static bool find_chunk(direction *d)
{
    while (d->range < d->range_count && d->at >= d->ranges[d->range].bytes) {
        d->range++;
        d->at = 0;
    }
    if (d->range == d->range_count) {
        return false;
    }
    if (d->asked <= d->range) {
        d->asked = d->range + 1;
        d->pinned = is_pinned(&d->ranges[d->range]);
        d->fresh = d->results && !d->pinned && is_fresh(&d->ranges[d->range]);
    }
    return true;
}

static slot *get_slot(direction *d, uint64_t chunk)
{
    return &d->slots[chunk % d->slot_count];
}

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Chunks grow from a small first one, so that the bus begins early, and shrink to a small last one, so that little is left
 * to copy behind it. New memory is cut between huge pages. */
static uint64_t choose_bytes(const bus *b, const direction *d)
{
    const uint64_t left = d->bytes - d->begun_bytes, edge = d->begun_bytes < left / 2 ? d->begun_bytes : left / 2;
    const uintptr_t host = (uintptr_t)d->ranges[d->range].host + d->at;
    if (d->pinned) {
        return PINNED_BYTES;
    }
    if (d->fresh && b->slot_bytes >= PAGE_BYTES) {
        return PAGE_BYTES - host % PAGE_BYTES;
    }
    return clamp(edge / PART_BYTES_MIN * PART_BYTES_MIN, b->slot_bytes / EDGE_PARTS, b->slot_bytes);
}

static uint64_t choose_part(const bus *b, const direction *d, uint64_t chunk)
{
    const uint64_t share = (chunk / (b->workers + 1) / PART_BYTES_MIN + 1) * PART_BYTES_MIN;
    const uint64_t least = (chunk + PARTS_MAX - 1) / PARTS_MAX;
    return d->fresh ? chunk : clamp(b->part_bytes != 0 ? b->part_bytes : share, least, chunk);
}

static slot *begin_chunk(bus *b, direction *d)
{
    const smk_staged_range *range = &d->ranges[d->range];
    const uint64_t left = range->bytes - d->at, most = choose_bytes(b, d);
    slot *s = get_slot(d, d->begun++);
    s->range = range;
    s->first = d->at;
    s->bytes = left < most ? left : most;
    s->part_bytes = choose_part(b, d, s->bytes);
    d->begun_bytes += s->bytes;
    s->pinned = d->pinned ? range->host + s->first : s->buffer;
    d->at += s->bytes;
    return s;
}

/* Has the device reached an event? False with an error in *code. */
static bool is_reached(cudaEvent_t event, cudaError_t *code)
{
    const cudaError_t now = cudaEventQuery(event);
    if (now != cudaErrorNotReady) {
        *code = now;
    }
    return now == cudaSuccess;
}

static cudaError_t give_to_bus(direction *d, slot *s, cudaStream_t stream)
{
    void *device = (void *)(uintptr_t)(s->range->address + s->first);
    atomic_store(&s->state, MOVING);
    cudaError_t code = d->results
                           ? cudaMemcpyAsync(s->pinned, device, (size_t)s->bytes, cudaMemcpyDeviceToHost, stream)
                           : cudaMemcpyAsync(device, s->pinned, (size_t)s->bytes, cudaMemcpyHostToDevice, stream);
    if (code == cudaSuccess) {
        code = cudaEventRecord(s->moved, stream);
    }
    d->moving += code == cudaSuccess ? 1 : 0;
    return code;
}

/* Each of the three moves on what it can, and returns whether that was anything. */
static bool move_up(bus *b, cudaError_t *code)
{
    direction *up = &b->up;
    bool moved = false;
    while (up->moved < up->moving && is_reached(get_slot(up, up->moved)->moved, code)) {
        up->moved_bytes += get_slot(up, up->moved)->bytes;
        atomic_store(&get_slot(up, up->moved)->state, FREE);
        up->moved++;
        moved = true;
    }
    while (*code == cudaSuccess && up->moving < up->begun && atomic_load(&get_slot(up, up->moving)->state) == FULL) {
        *code = give_to_bus(up, get_slot(up, up->moving), b->channel->up);
        moved = true;
    }
    while (*code == cudaSuccess && up->begun - up->moved < up->slot_count && find_chunk(up)) {
        slot *s = begin_chunk(b, up);
        if (s->pinned != s->buffer) {
            atomic_store(&s->state, FULL);
        } else {
            push(b, s, FILLING);
        }
        moved = true;
    }
    return moved;
}

static bool move_down(bus *b, cudaError_t *code)
{
    direction *down = &b->down;
    bool moved = false;
    while (down->moved < down->moving && is_reached(get_slot(down, down->moved)->moved, code)) {
        slot *s = get_slot(down, down->moved);
        if (s->pinned != s->buffer) {
            atomic_store(&s->state, FREE);
        } else {
            push(b, s, EMPTYING);
        }
        down->moved_bytes += s->bytes;
        down->moved++;
        moved = true;
    }
    while (*code == cudaSuccess && find_chunk(down)) {
        const size_t slab = down->ranges[down->range].slab;
        const bool ended = b->copy->late ? b->ended == b->copy->slabs : b->copy->slabs == 0 || slab < b->ended;
        if (!ended || atomic_load(&get_slot(down, down->begun)->state) != FREE) {
            break;
        }
        *code = give_to_bus(down, begin_chunk(b, down), b->channel->down);
        moved = true;
    }
    return moved;
}

/* The slab of the next chunk that the bus is to be given; beyond all of them where there is none. */
static size_t find_slab(direction *up)
{
    if (up->moving < up->begun) {
        return get_slot(up, up->moving)->range->slab;
    }
    return find_chunk(up) ? up->ranges[up->range].slab : SIZE_MAX;
}

static smk_status run_slabs(bus *b, bool *moved, cudaError_t *code, smk_error *error)
{
    const smk_staged_copy *copy = b->copy;
    while (b->ended < b->launched && is_reached(b->channel->slab[b->ended], code)) {
        b->ended++;
        *moved = true;
    }
    while (*code == cudaSuccess && b->launched < copy->slabs && b->launched < find_slab(&b->up)) {
        *code = cudaEventRecord(b->channel->ordered, b->channel->up);
        *code = *code == cudaSuccess ? cudaStreamWaitEvent(smk_stream_now(), b->channel->ordered, 0) : *code;
        smk_status status = *code == cudaSuccess ? copy->run(copy->context, b->launched, error) : SMK_OK;
        if (status != SMK_OK || *code != cudaSuccess) {
            return status;
        }
        *code = cudaEventRecord(b->channel->slab[b->launched], smk_stream_now());
        b->launched++;
        *moved = true;
    }
    return SMK_OK;
}

static bool is_over(bus *b)
{
    if (find_chunk(&b->up) || find_chunk(&b->down) || b->up.moved < b->up.begun || b->down.moved < b->down.begun ||
        b->ended < b->copy->slabs) {
        return false;
    }
    for (uint64_t i = 0; i < b->down.slot_count; i++) {
        if (atomic_load(&b->down.slots[i].state) != FREE) {
            return false;
        }
    }
    return true;
}

/* Waits a little, longer where nothing has moved for a while; or copies a chunk. */
static void wait_a_little(bus *b, uint64_t idle_since)
{
    uint64_t task = 0;
    if (b->helps && smk_tasks_take(&b->tasks, false, &task)) {
        copy_part(b, task);
    } else if (smk_poll_clock() - idle_since > IDLE_NS) {
        const struct timespec pause = {0, PAUSE_NS};
        (void)nanosleep(&pause, NULL);
    } else {
        relax();
    }
}

static smk_status move_all(bus *b, const smk_workers *workers, smk_error *error)
{
    uint64_t idle_since = smk_poll_clock();
    while (!is_over(b)) {
        cudaError_t code = cudaSuccess;
        bool moved = move_up(b, &code);
        smk_status status = code == cudaSuccess ? run_slabs(b, &moved, &code, error) : SMK_OK;
        moved = (status == SMK_OK && code == cudaSuccess && move_down(b, &code)) || moved;
        if (status == SMK_OK && code != cudaSuccess) {
            status = smk_cuda_error_report(code, error, "copying between the host and the GPU");
        }
        const bool must_end = b->copy->late && b->ended == b->copy->slabs;
        if (status == SMK_OK && !must_end && smk_poll_stop_now()) {
            status = smk_status_fail(error, SMK_INTERRUPTED, "a copy was interrupted");
        }
        if (status == SMK_OK && smk_workers_are_lost(workers)) {
            status = smk_status_fail(error, SMK_LAUNCH,
                                     "the process was forked in the middle of a copy (by a signal's handler), and the "
                                     "child cannot finish it");
        }
        if (status != SMK_OK) {
            return status;
        }
        if (moved) {
            smk_poll_report(b->up.moved_bytes + b->down.moved_bytes, b->bytes);
            idle_since = smk_poll_clock();
        } else {
            wait_a_little(b, idle_since);
        }
    }
    return SMK_OK;
}

/* Setup -------------------------------------------------------------------------------------------- */

static uint64_t count_bytes(const smk_staged_range *ranges, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += ranges[i].bytes;
    }
    return bytes;
}

static bool has_fresh(const smk_staged_copy *copy)
{
    bool found = false;
    for (size_t i = 0; i < copy->down_count; i++) {
        found = found || is_fresh(&copy->down[i]);
    }
    return found;
}

/* Where both directions have bytes, each has half of the slots. */
static void share_slots(bus *b, const smk_ring *ring)
{
    const smk_staged_copy *copy = b->copy;
    const uint64_t asked_bytes = atomic_load(&preset.slot_bytes), asked = atomic_load(&preset.slots);
    const uint64_t up_bytes = count_bytes(copy->up, copy->up_count);
    const uint64_t down_bytes = count_bytes(copy->down, copy->down_count);
    const bool both = up_bytes > 0 && down_bytes > 0;
    const bool small = both || has_fresh(copy);
    b->slot_bytes = asked_bytes >= SLOT_BYTES_MIN ? asked_bytes : small ? PAGE_BYTES : SLOT_BYTES;
    b->part_bytes = atomic_load(&preset.part_bytes);
    b->slot_bytes = b->slot_bytes > SMK_RING_BYTES / 4 ? SMK_RING_BYTES / 4 : b->slot_bytes;
    const uint64_t fitting = SMK_RING_BYTES / b->slot_bytes;
    const uint64_t most = fitting > SMK_RING_SLOTS_MAX ? SMK_RING_SLOTS_MAX : fitting;
    uint64_t slots = down_bytes == 0 && most > SLOTS_UP ? SLOTS_UP : most;
    slots = asked >= 2 && asked <= most ? asked : slots;
    for (uint64_t i = 0; i < slots; i++) {
        b->slots[i].buffer = ring->memory + i * b->slot_bytes;
        b->slots[i].moved = b->channel->slot[i];
    }
    const uint64_t first = both ? slots / 2 : slots;
    b->up = (direction){
        .ranges = copy->up, .range_count = copy->up_count, .bytes = up_bytes, .slots = b->slots, .slot_count = first};
    b->down = (direction){.results = true,
                          .ranges = copy->down,
                          .range_count = copy->down_count,
                          .bytes = down_bytes,
                          .slots = both ? b->slots + first : b->slots,
                          .slot_count = both ? slots - first : slots};
}

/* Bytes that go through the ring. */
static uint64_t count_pageable(const smk_staged_range *ranges, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += ranges[i].bytes > 0 && !is_pinned(&ranges[i]) ? ranges[i].bytes : 0;
    }
    return bytes;
}

static smk_status choose_threads(const smk_staged_copy *copy, unsigned *threads, smk_error *error)
{
    const uint64_t bytes = count_pageable(copy->up, copy->up_count) + count_pageable(copy->down, copy->down_count);
    uint64_t asked = 0;
    const smk_status status = smk_workers_read_environment(&asked, error);
    const unsigned cores = smk_quota_cores(), set = atomic_load(&preset.threads);
    const unsigned most = has_fresh(copy) ? THREADS_FRESH_MAX : THREADS_MAX;
    const uint64_t useful = bytes / THREAD_BYTES + 1;
    uint64_t chosen = set != 0 ? set : asked != 0 ? asked : cores > most ? most : cores;
    chosen = chosen > SMK_WORKERS_MAX ? SMK_WORKERS_MAX : chosen;
    *threads = (unsigned)(set == 0 && chosen > useful ? useful : chosen);
    return status;
}

/* Waits for the copies that the bus was given: none of them waits for a launch. */
static smk_status drain(const bus *b, smk_status status, smk_error *error)
{
    const cudaError_t up = cudaStreamSynchronize(b->channel->up);
    const cudaError_t down = cudaStreamSynchronize(b->channel->down), code = up != cudaSuccess ? up : down;
    return status != SMK_OK ? status : smk_cuda_error_report(code, error, "copying between the host and the GPU");
}

static smk_status copy_by(bus *b, smk_workers *workers, unsigned threads, smk_error *error)
{
    const bool polls = smk_quota_cores() >= threads;
    if (!smk_tasks_create(&b->tasks, polls ? POLL_NS : 0)) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for a copy");
    }
    b->workers = threads - 1;
    cudaError_t none = cudaSuccess; /* nothing is on its way that could have failed */
    (void)move_up(b, &none);        /* so that each thread finds a part when it wakes: they do one after the other */
    b->helps = smk_workers_run(workers, threads - 1, run_worker, b) < HELPERS_MIN;
    smk_status status = move_all(b, workers, error);
    if (smk_workers_are_lost(workers)) {
        return status; /* the child has no threads, and must not free locks that they may hold */
    }
    smk_tasks_close(&b->tasks);
    smk_workers_wait(workers, polls ? POLL_NS : 0, NULL, NULL);
    status = drain(b, status, error);
    smk_tasks_free(&b->tasks);
    return status;
}

smk_status smk_bus_copy(const smk_staged_copy *copy, bool *done, smk_error *error)
{
    smk_ring *ring = NULL;
    unsigned threads = 1;
    bus b = {.copy = copy};
    *done = false;
    b.bytes = count_bytes(copy->up, copy->up_count) + count_bytes(copy->down, copy->down_count);
    smk_status status = choose_threads(copy, &threads, error);
    if (status == SMK_OK) {
        /* memory that was allocated in the order of a stream is there for others; and no copy waits for a kernel */
        status = smk_wait_launched("what was launched before", error);
    }
    if (status == SMK_OK) {
        status = smk_ring_take(&ring, &b.channel, error);
    }
    if (status != SMK_OK || ring == NULL) {
        return status;
    }
    share_slots(&b, ring);
    status = copy_by(&b, &ring->workers, threads, error);
    smk_ring_give(ring);
    smk_poll_report(0, 0);
    *done = true;
    return status;
}
