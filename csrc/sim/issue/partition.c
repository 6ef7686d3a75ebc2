#include "sim/issue/partition.h"

#include "base/arena.h"
#include "base/heap.h"

#include <math.h>
#include <string.h>

static const double EPSILON = 1e-9;          /* clocks that count as none */
static const double ALMOST_ONE = 1.0 - 1e-6; /* sums of shares from which on a warp misses */
enum { NOBODY = UINT32_MAX, OPEN_FIRST = 4 };

typedef struct wait {
    double until;
    uint32_t cause;
} wait;

/* Groups of copies that are open, in a ring. */
typedef struct group_ring {
    double *done; /* when the copies of each have come */
    uint32_t size, first, count;
} group_ring;

typedef struct warp {
    const uint32_t *path; /* 2 * step, and 1 more where a branch is taken */
    uint32_t length, at;
    uint32_t slot, cause;
    uint64_t age; /* of its block */
    wait waits[SMK_PARTITION_SCOREBOARDS];
    double open;  /* when the copies of the present group have come */
    double since; /* when it came to a barrier */
    group_ring groups;
    double *missed; /* shares of misses that have added up, for each step that misses */
} warp;

/* A warp that becomes ready at a time, or has an age; of equal ones that with the lower number comes first. */
typedef struct event {
    double key;
    uint64_t number;
    uint32_t warp;
} event;

typedef struct event_heap {
    event *events;
    size_t count;
} event_heap;

/* The warps that wait for a pipe, in the order in which they came. */
typedef struct line {
    uint32_t first, last;
} line;

typedef struct step_list {
    uint32_t *steps; /* as those of a warp */
    uint32_t count;
} step_list;

typedef struct partition {
    const smk_partition_work *work;
    smk_partition_step *steps; /* those of the work, then the same without effect */
    uint32_t *missing;         /* step: its place among those that miss */
    double *first_missed;      /* what a warp that starts has missed */
    uint32_t missing_count;
    step_list *paths;
    warp *warps; /* `block` of each slot, one slot after the other */
    event_heap waiting, ready;
    line *lines;                     /* by pipe: the queue, then one for each kind */
    uint32_t *next;                  /* the warp behind each in its line */
    double *free;                    /* when each pipe is */
    uint32_t *alive, *arrived_count; /* of each slot: its warps, and those at the barrier */
    uint32_t *arrived;               /* warps at the barrier in the order in which they came, as `warps` */
    uint64_t number, started;
    double clock;     /* of the next issue, at the earliest */
    double *latest;   /* when the barrier of each slot took its last warp */
    uint64_t left;    /* blocks that have not started */
    double even, odd; /* when the banks of the registers have been read */
    double *lost;
    smk_arena arena;
} partition;

/* Without the call of fmax, which minds numbers that are none. */
static double get_later(double a, double b)
{
    return a > b ? a : b;
}

/* Events ------------------------------------------------------------------------------------------- */

static bool is_before(const event *a, const event *b)
{
    return a->key < b->key || (a->key <= b->key && a->number < b->number);
}

static void push_event(event_heap *heap, event new_event)
{
    size_t i = heap->count++;
    while (i > 0 && is_before(&new_event, &heap->events[(i - 1) / 2])) {
        heap->events[i] = heap->events[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap->events[i] = new_event;
}

static event pop_event(event_heap *heap)
{
    const event result = heap->events[0], last = heap->events[--heap->count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count && is_before(&heap->events[child + 1], &heap->events[child])) {
            child++;
        }
        if (!is_before(&heap->events[child], &last)) {
            break;
        }
        heap->events[i] = heap->events[child];
        i = child;
    }
    heap->events[i] = last;
    return result;
}

static void push_warp(partition *part, uint32_t index, double ready)
{
    part->number++;
    if (ready <= part->clock) { /* it need not wait first */
        push_event(&part->ready, (event){(double)part->warps[index].age, part->number, index});
    } else {
        push_event(&part->waiting, (event){ready, part->number, index});
    }
}

/* Warps -------------------------------------------------------------------------------------------- */

static const smk_partition_step *get_step(const partition *part, const warp *self)
{
    return &part->steps[self->path[self->at] >> 1];
}

static uint32_t get_pipe(const smk_partition_step *step)
{
    return step->queued ? 0 : step->kind + 1;
}

static uint32_t get_cause(const smk_partition_step *step, uint32_t cause)
{
    return SMK_PARTITION_CAUSES * step->kind + cause;
}

static uint32_t get_other_cause(const partition *part, uint32_t cause)
{
    return SMK_PARTITION_CAUSES * part->work->kinds + cause;
}

/* Without lanes under its guard an access brings nothing that would need a place in the queue, and its warp waits for it
 * no longer than for one that is served at once. */
static bool is_idle(const smk_partition_step *step)
{
    return step->queued && step->share <= 0.0;
}

/* When the pipe of an instruction takes it. */
static double find_start(const partition *part, const smk_partition_step *step)
{
    if (is_idle(step)) {
        return part->clock;
    }
    const double since = part->free[get_pipe(step)];
    return step->queued ? since - part->work->queue * step->service : since;
}

static void start_block(partition *part, uint32_t slot, double now)
{
    const uint32_t size = part->work->block;
    part->alive[slot] = size;
    part->started++;
    for (uint32_t i = slot * size; i < (slot + 1) * size; i++) {
        warp *self = &part->warps[i];
        const step_list *path = &part->paths[part->number % part->work->path_count];
        self->path = path->steps;
        self->length = path->count;
        self->at = 0;
        self->slot = slot;
        self->age = part->started;
        self->cause = get_other_cause(part, SMK_PARTITION_ON_START);
        memset(self->waits, 0, sizeof self->waits);
        self->open = 0.0;
        self->groups.first = self->groups.count = 0;
        memcpy(self->missed, part->first_missed, part->missing_count * sizeof *self->missed);
        push_warp(part, i, now + (i - slot * size) * part->work->warp_start);
    }
}

/* Makes a warp ready for its next instruction. */
static void wait_next(partition *part, uint32_t index, double ready)
{
    warp *self = &part->warps[index];
    enum { ALL = (1u << SMK_PARTITION_SCOREBOARDS) - 1 };
    for (unsigned mask = get_step(part, self)->wait_mask & ALL; mask != 0; mask &= mask - 1) {
        const unsigned i = (unsigned)__builtin_ctz(mask);
        if (self->waits[i].until > ready) {
            ready = self->waits[i].until;
            self->cause = self->waits[i].cause;
        }
    }
    push_warp(part, index, ready);
}

static void leave(partition *part, uint32_t slot, double now);

/* Lets the warps of a block go on behind a barrier once all have come. */
static void open_barrier(partition *part, uint32_t slot)
{
    const uint32_t count = part->arrived_count[slot], *arrived = &part->arrived[slot * part->work->block];
    if (count == 0 || count < part->alive[slot]) {
        return;
    }
    double last = part->warps[arrived[0]].since;
    for (uint32_t i = 1; i < count; i++) {
        last = get_later(last, part->warps[arrived[i]].since);
    }
    part->arrived_count[slot] = 0;
    for (uint32_t i = 0; i < count; i++) {
        warp *self = &part->warps[arrived[i]];
        self->cause = SMK_PARTITION_CAUSES * SMK_PARTITION_BARRIER + SMK_PARTITION_ON_RESULT;
        if (self->at < self->length) {
            wait_next(part, arrived[i], last + part->work->barrier);
        } else {
            leave(part, slot, last + part->work->barrier);
        }
    }
}

/* Ends a warp of a block. The last one makes room for another block. */
static void leave(partition *part, uint32_t slot, double now)
{
    part->alive[slot]--;
    if (part->alive[slot] > 0) {
        open_barrier(part, slot);
    } else if (part->left > 0) {
        part->left--;
        start_block(part, slot, now + 1.0 + part->work->start);
    }
}

/* Issue -------------------------------------------------------------------------------------------- */

static void raise_scoreboard(warp *self, uint8_t barrier, double until, uint32_t cause)
{
    if (barrier < SMK_PARTITION_SCOREBOARDS && until > self->waits[barrier].until) {
        self->waits[barrier] = (wait){until, cause};
    }
}

static smk_status close_group(warp *self, smk_error *error)
{
    group_ring *ring = &self->groups;
    if (ring->count == ring->size) {
        const uint32_t size = ring->size == 0 ? OPEN_FIRST : 2 * ring->size;
        double *done = smk_heap_allocate(size, sizeof *done);
        if (done == NULL) {
            return smk_status_fail(error, SMK_MEMORY, "no memory for %u groups of copies", size);
        }
        for (uint32_t i = 0; i < ring->count; i++) {
            done[i] = ring->done[(ring->first + i) % ring->size];
        }
        smk_heap_free(ring->done);
        *ring = (group_ring){done, size, 0, ring->count};
    }
    ring->done[(ring->first + ring->count++) % ring->size] = self->open;
    return SMK_OK;
}

/* The effect of an instruction on groups of copies; *ready is when the warp goes on. */
static smk_status handle_group(warp *self, const smk_partition_step *step, double *ready, smk_error *error)
{
    if (step->group == SMK_PARTITION_CLOSES) {
        return close_group(self, error);
    }
    group_ring *ring = &self->groups;
    while (step->group == SMK_PARTITION_WAITS && ring->count > step->left) {
        const double done = ring->done[ring->first];
        ring->first = (ring->first + 1) % ring->size;
        ring->count--;
        if (done > *ready) {
            *ready = done;
            self->cause = SMK_PARTITION_CAUSES * SMK_PARTITION_ASYNC + SMK_PARTITION_ON_RESULT;
        }
    }
    return SMK_OK;
}

/* When the result of an instruction is there whose service begins at a time. */
static double find_done(const partition *part, warp *self, const smk_partition_step *step, double begin)
{
    /* The last wavefront of an access begins so much after its first one. */
    const double last = step->queued ? get_later(step->service / part->work->partitions - 1.0, 0.0) : 0.0;
    double done = begin + step->latency + last;
    if (step->misses > 0.0) {
        double *missed = &self->missed[part->missing[self->path[self->at] >> 1]];
        *missed += step->misses;
        if (*missed > ALMOST_ONE) {
            done += step->more;
            *missed -= 1.0;
        }
    }
    return done;
}

/* The effects of the next instruction of a warp, which is issued now. */
static smk_status execute(partition *part, uint32_t index, double now, smk_error *error)
{
    warp *self = &part->warps[index];
    const smk_partition_step *step = get_step(part, self);
    double *free = &part->free[get_pipe(step)];
    const double since = get_later(now, *free), begin = is_idle(step) ? now : since;
    if (step->service > 1.0 || step->queued) {
        *free = since + step->service;
    }
    const double done = find_done(part, self, step, begin);
    raise_scoreboard(self, step->write_barrier, done, get_cause(step, SMK_PARTITION_ON_RESULT));
    raise_scoreboard(self, step->read_barrier, begin + step->service + part->work->read,
                     get_cause(step, SMK_PARTITION_ON_READ));
    if (step->kind == SMK_PARTITION_ASYNC) {
        self->open = get_later(self->open, done);
    }
    const bool taken = (self->path[self->at] & 1) != 0;
    double ready = now + (taken ? step->stall + part->work->branch : step->stall);
    self->at++;
    self->cause = get_other_cause(part, SMK_PARTITION_ON_STALL);
    smk_status status = handle_group(self, step, &ready, error);
    if (step->is_barrier) {
        const bool alone = part->arrived_count[self->slot] == 0;
        double *latest = &part->latest[self->slot];
        self->since = *latest = alone ? ready : get_later(ready, *latest + part->work->arrival);
        part->arrived[self->slot * part->work->block + part->arrived_count[self->slot]++] = index;
        open_barrier(part, self->slot);
    } else if (self->at < self->length) {
        wait_next(part, index, ready);
    } else {
        leave(part, self->slot, now);
    }
    return status;
}

/* Clocks until the banks of registers have room for the reads of an instruction. */
static double find_delay(const partition *part, const smk_partition_step *step, double clock)
{
    if (step->even <= 0.0 && step->odd <= 0.0) {
        return 0.0;
    }
    const double delay = get_later(part->even + step->even, part->odd + step->odd) - part->work->window - clock;
    return delay > EPSILON ? ceil(delay) : 0.0;
}

/* Puts a warp into the line for a busy pipe; its first one comes again when the pipe is free. */
static void stand_in_line(partition *part, line *pipe, uint32_t index, double start)
{
    part->warps[index].cause = get_cause(get_step(part, &part->warps[index]), SMK_PARTITION_ON_PIPE);
    if (pipe->first != index) {
        part->next[index] = NOBODY;
        if (pipe->first == NOBODY) {
            pipe->first = index;
        } else {
            part->next[pipe->last] = index;
        }
        pipe->last = index;
    }
    if (pipe->first == index) {
        push_warp(part, index, start);
    }
}

/* Takes the first warp out of a line, and lets the next one come. */
static void leave_line(partition *part, line *pipe)
{
    pipe->first = part->next[pipe->first];
    if (pipe->first != NOBODY) {
        push_warp(part, pipe->first, find_start(part, get_step(part, &part->warps[pipe->first])));
    }
}

static smk_status issue_all(partition *part, smk_partition_times *times, smk_error *error)
{
    double clock = 0.0, end = 0.0, issued = 0.0;
    while (part->waiting.count + part->ready.count > 0) {
        if (part->ready.count == 0 && part->waiting.events[0].key > clock) {
            const event *first = &part->waiting.events[0];
            part->lost[part->warps[first->warp].cause] += first->key - clock;
            clock = first->key;
        }
        while (part->waiting.count > 0 && part->waiting.events[0].key <= clock + EPSILON) {
            event next = pop_event(&part->waiting);
            next.key = (double)part->warps[next.warp].age;
            push_event(&part->ready, next);
        }
        const uint32_t index = pop_event(&part->ready).warp;
        const smk_partition_step *step = get_step(part, &part->warps[index]);
        line *pipe = &part->lines[get_pipe(step)];
        const double delay = find_delay(part, step, clock), start = find_start(part, step);
        part->lost[get_other_cause(part, SMK_PARTITION_ON_REGISTERS)] += delay;
        clock += delay;
        part->clock = clock;
        if (start > clock + EPSILON) {
            stand_in_line(part, pipe, index, start);
            continue;
        }
        if (step->even > 0.0 || step->odd > 0.0) {
            part->even = get_later(part->even, clock) + step->even;
            part->odd = get_later(part->odd, clock) + step->odd;
        }
        const bool first = pipe->first == index;
        part->clock = clock + 1.0;
        smk_status status = execute(part, index, clock, error);
        if (status != SMK_OK) {
            return status;
        }
        clock += 1.0;
        issued += 1.0;
        end = get_later(end, clock);
        if (first) {
            leave_line(part, pipe);
        }
    }
    times->clocks = get_later(end, clock);
    times->issued = issued;
    return SMK_OK;
}

/* Setup -------------------------------------------------------------------------------------------- */

static smk_status check_step(const smk_partition_work *work, const smk_partition_step *step, smk_error *error)
{
    if (step->kind >= work->kinds || work->kinds < SMK_PARTITION_OTHER || step->group >= SMK_PARTITION_GROUPS) {
        return smk_status_fail(error, SMK_ARGUMENT, "a step has the kind %u, of %u, and the group %d", step->kind,
                               work->kinds, (int)step->group);
    }
    const double numbers[] = {step->service, step->latency, step->stall, step->even,  step->odd,
                              step->share,   step->idle,    step->more,  step->misses};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!isfinite(numbers[i]) || numbers[i] < 0.0) {
            return smk_status_fail(error, SMK_ARGUMENT, "a step has the number %g", numbers[i]);
        }
    }
    return SMK_OK;
}

static smk_status check_work(const smk_partition_work *work, smk_error *error)
{
    smk_status status = SMK_OK;
    for (uint32_t i = 0; i < work->blocks && status == SMK_OK; i++) {
        if (work->first[i] > work->first[i + 1]) {
            status = smk_status_fail(error, SMK_ARGUMENT, "block %u begins behind its end", i);
        }
    }
    if (status == SMK_OK && work->first[work->blocks] > SMK_PARTITION_STEPS_MAX) {
        status = smk_status_fail(error, SMK_ARGUMENT, "machine code has %u steps", work->first[work->blocks]);
    }
    for (uint32_t i = 0; status == SMK_OK && i < work->first[work->blocks]; i++) {
        status = check_step(work, &work->steps[i], error);
    }
    const double clocks[] = {work->start, work->warp_start, work->arrival};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks && status == SMK_OK; i++) {
        if (!isfinite(clocks[i]) || clocks[i] < 0.0) {
            status = smk_status_fail(error, SMK_ARGUMENT, "a partition has the number %g", clocks[i]);
        }
    }
    if (status == SMK_OK && (work->path_count == 0 || work->slots == 0 || work->block == 0 || work->rounds == 0 ||
                             (uint64_t)work->slots * work->block > SMK_PARTITION_WARPS_MAX)) {
        status = smk_status_fail(error, SMK_ARGUMENT, "a partition has %u slots of %u warps, and %u paths", work->slots,
                                 work->block, work->path_count);
    }
    return status;
}

/* The steps of a warp of a phase: those whose guard has no lanes then stand in the second half. */
static smk_status expand_path(partition *part, const smk_partition_path *path, step_list *list, smk_error *error)
{
    const smk_partition_work *work = part->work;
    const uint32_t total = work->first[work->blocks];
    uint64_t count = 0;
    for (size_t i = 0; i < path->count; i++) {
        if (path->blocks[i] >= work->blocks) {
            return smk_status_fail(error, SMK_ARGUMENT, "a path has block %u, of %u", path->blocks[i], work->blocks);
        }
        count += work->first[path->blocks[i] + 1] - work->first[path->blocks[i]];
    }
    if (count == 0 || count > UINT32_MAX) {
        return smk_status_fail(error, SMK_ARGUMENT, "a path has %llu steps", (unsigned long long)count);
    }
    list->steps = smk_arena_allocate(&part->arena, (size_t)count, sizeof *list->steps);
    if (list->steps == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for a path of %llu steps", (unsigned long long)count);
    }
    for (size_t i = 0; i < path->count; i++) {
        const uint32_t block = path->blocks[i];
        for (uint32_t k = work->first[block]; k < work->first[block + 1]; k++) {
            const bool idle = work->steps[k].share < 1.0 && path->phase >= work->steps[k].share;
            list->steps[list->count++] = 2 * (idle ? total + k : k);
        }
        if (i + 1 < path->count && path->blocks[i + 1] != block + 1 && list->count > 0) {
            list->steps[list->count - 1] |= 1;
        }
    }
    return SMK_OK;
}

/* Copies the steps, and makes those of warps without lanes under their guard. */
static void copy_steps(partition *part)
{
    const uint32_t total = part->work->first[part->work->blocks];
    bool is_barrier = false;
    for (uint32_t i = 0; i < total; i++) {
        is_barrier = is_barrier || part->work->steps[i].is_barrier;
    }
    for (uint32_t i = 0; i < total; i++) {
        smk_partition_step idle = part->work->steps[i];
        part->steps[i] = idle;
        idle.queued = idle.queued && idle.idle > 0.0;
        idle.service = idle.queued ? idle.idle : 1.0;
        idle.share = 0.0;
        if (!is_barrier) { /* else all warps wait for those that have lanes */
            idle.latency = idle.more = 0.0;
        }
        part->steps[total + i] = idle;
        part->missing[i] = part->missing[total + i] = part->missing_count;
        if (idle.misses > 0.0) {
            part->first_missed[part->missing_count++] = 1.0 - idle.misses;
        }
    }
}

static void *allocate(partition *part, bool *good, size_t count, size_t size)
{
    void *memory = smk_arena_allocate(&part->arena, count == 0 ? 1 : count, size);
    *good = *good && memory != NULL;
    return memory;
}

static smk_status prepare(partition *part, smk_error *error)
{
    const smk_partition_work *work = part->work;
    const size_t total = work->first[work->blocks], warps = (size_t)work->slots * work->block;
    const size_t pipes = (size_t)work->kinds + 1;
    bool good = true;
    part->steps = allocate(part, &good, 2 * total, sizeof *part->steps);
    part->missing = allocate(part, &good, 2 * total, sizeof *part->missing);
    part->first_missed = allocate(part, &good, total, sizeof *part->first_missed);
    part->paths = allocate(part, &good, work->path_count, sizeof *part->paths);
    part->warps = allocate(part, &good, warps, sizeof *part->warps);
    part->waiting.events = allocate(part, &good, warps, sizeof(event));
    part->ready.events = allocate(part, &good, warps, sizeof(event));
    part->lines = allocate(part, &good, pipes, sizeof *part->lines);
    part->next = allocate(part, &good, warps, sizeof *part->next);
    part->free = allocate(part, &good, pipes, sizeof *part->free);
    part->alive = allocate(part, &good, work->slots, sizeof *part->alive);
    part->arrived_count = allocate(part, &good, work->slots, sizeof *part->arrived_count);
    part->arrived = allocate(part, &good, warps, sizeof *part->arrived);
    part->latest = allocate(part, &good, work->slots, sizeof *part->latest);
    if (good) {
        copy_steps(part);
    }
    for (size_t i = 0; good && i < warps; i++) {
        part->warps[i].missed = allocate(part, &good, part->missing_count, sizeof *part->warps[i].missed);
    }
    if (!good) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for %zu warps and %zu steps", warps, total);
    }
    for (size_t i = 0; i < pipes; i++) {
        part->lines[i].first = NOBODY;
    }
    smk_status status = SMK_OK;
    for (uint32_t i = 0; i < work->path_count && status == SMK_OK; i++) {
        status = expand_path(part, &work->paths[i], &part->paths[i], error);
    }
    return status;
}

smk_status smk_partition_run(const smk_partition_work *work, smk_partition_times *times, smk_error *error)
{
    smk_status status = check_work(work, error);
    if (status != SMK_OK) {
        return status;
    }
    partition part = {.work = work, .lost = times->lost};
    part.left = (uint64_t)work->slots * (work->rounds - 1);
    status = prepare(&part, error);
    for (uint32_t slot = 0; slot < work->slots && status == SMK_OK; slot++) {
        start_block(&part, slot, 0.0);
    }
    status = status == SMK_OK ? issue_all(&part, times, error) : status;
    for (uint32_t i = 0; part.warps != NULL && i < work->slots * work->block; i++) {
        smk_heap_free(part.warps[i].groups.done);
    }
    smk_arena_free(&part.arena);
    return status;
}
