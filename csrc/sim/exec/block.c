#include "sim/exec/block.h"

#include "base/heap.h"
#include "sim/code/bits.h"
#include "sim/code/observer.h"
#include "sim/exec/barrier.h"
#include "sim/exec/cover_count.h"
#include "sim/exec/livelock.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { FRESH_BYTE = 0xA5, WAITERS_NAMED_MAX = 4, LOCATION_BYTES = 160, ROW_BYTES = 64 };
enum { SPARE_BYTES_MAX = 1 << 20 };

static uint32_t threads_of(const smk_run *run)
{
    return run->launch->block.x * run->launch->block.y * run->launch->block.z;
}

/* The block that was freed last, with its arrays: a short launch takes no longer than the allocation of them. */
static _Atomic(smk_block *) spare;

/* Gives an array of the block `bytes` bytes of zeros, from what it has where that is enough. */
static bool reserve(void **array, size_t *room, size_t bytes)
{
    if (*array != NULL && bytes <= *room) {
        memset(*array, 0, bytes);
        return true;
    }
    smk_heap_free(*array);
    *array = smk_heap_allocate(bytes, 1);
    *room = bytes;
    return *array != NULL;
}

static bool reserve_arrays(smk_block *block, size_t registers_bytes, size_t shared_bytes)
{
    void *control = block->control, *registers = block->registers, *shared = block->shared;
    const bool done = reserve(&control, &block->control_room, block->warp_count * sizeof *block->control) &&
                      reserve(&registers, &block->registers_room, registers_bytes) &&
                      reserve(&shared, &block->shared_room, shared_bytes);
    block->control = control;
    block->registers = registers;
    block->shared = shared;
    return done;
}

static smk_status create_warps(smk_block *block, smk_error *error)
{
    const smk_run *run = block->run;
    const smk_code *code = run->image->entry_code;
    size_t frame_bytes = ((size_t)code->frame_bytes + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
    uint32_t threads = threads_of(run);
    block->warp_count = (threads + SMK_WARP_SIZE - 1) / SMK_WARP_SIZE;
    if (!reserve_arrays(block, block->warp_count * frame_bytes, run->shared_bytes)) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for the registers of %u warps, %zu bytes each",
                               block->warp_count, frame_bytes);
    }
    for (uint32_t i = 0; i < block->warp_count; i++) {
        smk_warp_control *control = &block->control[i];
        uint32_t left = threads - i * SMK_WARP_SIZE;
        block->warp[i].control = control;
        control->block = block;
        control->index = i;
        control->lanes = left >= SMK_WARP_SIZE ? UINT32_MAX : (UINT32_C(1) << left) - 1;
        control->shared = block->shared;
        control->shared_bytes = run->shared_bytes;
        control->parameters = run->parameters;
        control->parameter_bytes = run->image->parameter_bytes;
        control->allocation_cache = block->allocation_cache;
        control->entry_registers = block->registers + i * frame_bytes;
        smk_status status = smk_warp_reserve_local(&block->warp[i], code->local_bytes, error);
        if (status != SMK_OK) {
            return status;
        }
    }
    return SMK_OK;
}

smk_status smk_block_create(const smk_run *run, smk_block **block, smk_error *error)
{
    smk_block *made = atomic_exchange(&spare, NULL);
    if (made != NULL) {
        *made = (smk_block){.control = made->control,
                            .registers = made->registers,
                            .shared = made->shared,
                            .control_room = made->control_room,
                            .registers_room = made->registers_room,
                            .shared_room = made->shared_room};
    } else {
        made = smk_heap_allocate(1, sizeof *made);
    }
    if (made == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for a block");
    }
    made->run = run;
    smk_status status = create_warps(made, error);
    if (status == SMK_OK) {
        status = smk_cover_count_open(made, error);
    }
    if (status != SMK_OK) {
        smk_block_free(made);
        return status;
    }
    *block = made;
    return SMK_OK;
}

static void free_arrays(smk_block *block)
{
    if (block != NULL) {
        smk_heap_free(block->control);
        smk_heap_free(block->registers);
        smk_heap_free(block->shared);
        smk_heap_free(block);
    }
}

void smk_block_free(smk_block *block)
{
    if (block == NULL) {
        return;
    }
    smk_cover_count_close(block);
    smk_bulk_free(block);
    if (block->control != NULL) {
        for (uint32_t i = 0; i < block->warp_count; i++) {
            if (block->warp[i].control != NULL) {
                smk_warp_free(&block->warp[i]);
            }
        }
    }
    if (block->control_room + block->registers_room + block->shared_room <= SPARE_BYTES_MAX) {
        block = atomic_exchange(&spare, block);
    }
    free_arrays(block);
}

void smk_block_start(smk_block *block, uint64_t number)
{
    const smk_run *run = block->run;
    const smk_dim3 *grid = &run->launch->grid;
    block->number = number;
    block->index[0] = (uint32_t)(number % grid->x);
    block->index[1] = (uint32_t)(number / grid->x % grid->y);
    block->index[2] = (uint32_t)(number / grid->x / grid->y);
    block->steps = 0;
    block->next_livelock_check = SMK_LIVELOCK_STEPS_FIRST;
    block->clock_ahead = block->clock_stopped = 0;
    block->clock_waits = false;
    block->most_steps = UINT64_MAX;
    block->bad_accesses = 0;
    block->cursor = run->options->reverse ? SMK_WARP_SIZE : 0;
    block->apart = false;
    block->pause = false;
    block->live = block->warp_count == 32 ? UINT32_MAX : (UINT32_C(1) << block->warp_count) - 1;
    block->ready = block->live;
    memset(block->shared, FRESH_BYTE, run->shared_bytes);
    memset(block->barrier, 0, sizeof block->barrier);
    smk_bulk_begin(block);
    for (uint32_t i = 0; i < block->warp_count; i++) {
        smk_warp_start(&block->warp[i], run->image->entry_code);
    }
}

/* Fails the block: no warp can go on. Names the barriers at which warps wait. */
static void fail_deadlock(smk_block *block)
{
    char list[WAITERS_NAMED_MAX * (LOCATION_BYTES + 32)] = "";
    size_t length = 0;
    uint32_t waiting = 0, named = 0;
    smk_warp *first = NULL;
    for (uint32_t i = 0; i < block->warp_count; i++) {
        const smk_warp_control *control = &block->control[i];
        if (control->state != SMK_WARP_BARRIER) {
            continue;
        }
        first = first == NULL ? &block->warp[i] : first;
        waiting++;
        if (named < WAITERS_NAMED_MAX) {
            char location[LOCATION_BYTES];
            smk_warp_describe(&block->warp[i], control->pc, location, sizeof location);
            int more = snprintf(list + length, sizeof list - length, "%swarp %u waits for barrier %u at %s",
                                named == 0 ? "" : "; ", i, control->barrier, location);
            length += more > 0 ? (size_t)more : 0;
            length = length < sizeof list ? length : sizeof list - 1;
            named++;
        }
    }
    if (first == NULL) {
        (void)smk_status_fail(&block->error, SMK_INTERNAL, "a block has no warp that runs or waits");
        return;
    }
    (void)smk_warp_fail(first, first->control->pc, first->active, SMK_DEADLOCK,
                        "no warp of the block can go on (%u wait, %u have ended): %s%s", waiting,
                        block->warp_count - waiting, list, waiting > named ? "; ..." : "");
}

static void fail_after_bad_accesses(smk_block *block)
{
    smk_warp *warp = &block->warp[smk_bits_first(block->ready)];
    (void)smk_warp_fail(warp, warp->control->pc, warp->active, SMK_STEP_BUDGET,
                        "the block was stopped after %" PRIu64 " warp instructions, with %" PRIu64
                        " accesses before that were out of bounds or misaligned: with values that are not those of "
                        "its memory it may never end",
                        block->steps, block->bad_accesses);
}

/* The next ready warp in round-robin order: from the cursor up, or below it where the order is reversed. */
static uint32_t choose_warp(const smk_block *block)
{
    uint32_t above = block->cursor >= SMK_WARP_SIZE ? 0 : UINT32_MAX << block->cursor;
    uint32_t turn = block->ready & (block->run->options->reverse ? ~above : above);
    turn = turn != 0 ? turn : block->ready;
    return block->run->options->reverse ? smk_bits_last(turn) : smk_bits_first(turn);
}

smk_block_state smk_block_run(smk_block *block, uint64_t steps)
{
    uint64_t stop = block->steps + steps;
    while (block->live != 0) {
        if (block->ready == 0) {
            fail_deadlock(block);
            return SMK_BLOCK_FAILED;
        }
        if (block->steps > block->most_steps) {
            fail_after_bad_accesses(block);
            return SMK_BLOCK_FAILED;
        }
        uint32_t index = choose_warp(block);
        smk_warp_control *control = &block->control[index];
        uint64_t before = control->steps;
        smk_warp_run(&block->warp[index]);
        block->steps += control->steps - before;
        block->cursor = block->run->options->reverse ? index : index + 1;
        if (control->state == SMK_WARP_FAILED) {
            return SMK_BLOCK_FAILED;
        }
        if (block->pause) {
            block->pause = false;
            block->cursor = block->run->options->reverse ? index + 1 : index;
            stop = block->steps;
        }
        if (block->steps >= stop && block->live != 0) {
            return SMK_BLOCK_RUNNING;
        }
    }
    smk_bulk_end(block);
    return SMK_BLOCK_DONE;
}

void smk_block_leave(smk_block *block, uint32_t warp)
{
    block->live &= ~(UINT32_C(1) << warp);
    block->ready &= ~(UINT32_C(1) << warp);
    for (uint32_t i = 0; i < SMK_BLOCK_BARRIERS; i++) {
        if (block->barrier[i].arrivals != 0) {
            smk_block_release(block, i);
        }
    }
}

void smk_block_release(smk_block *block, uint32_t barrier)
{
    smk_barrier *at = &block->barrier[barrier];
    if (at->arrivals == 0) {
        return;
    }
    uint32_t expected = at->expected != 0 ? at->expected : SMK_WARP_SIZE * smk_bits_count(block->live);
    if (at->arrivals * SMK_WARP_SIZE < expected) {
        return;
    }
    const smk_observer *observer = block->run->observer;
    if (observer != NULL && (observer->wants & SMK_OBSERVE_SYNCHRONIZATION) != 0) {
        observer->release(block->observer_state, block, barrier, at->waiting);
    }
    for (uint32_t i = 0; i < block->warp_count; i++) {
        if ((at->waiting >> i & 1) != 0) {
            smk_barrier_deliver(&block->warp[i], at->trues, at->voters);
        }
    }
    block->ready |= at->waiting;
    *at = (smk_barrier){0};
}
