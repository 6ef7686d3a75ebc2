#include "sim/profile/barrier_reach.h"

#include "base/heap.h"
#include "ptx/opcode.h"
#include "sim/code/memory_view.h"

#include <string.h>

enum { WORD_BYTES = 4, EPOCH_MAX = 0x7fffffff };

/* Beside the numbers of threads and warps. */
enum { ABSENT = 0xffff, SEVERAL = 0xfffe, WHOLE_WARP = 0xfffd };

bool smk_barrier_reach_open(smk_barrier_reach *state, uint32_t shared_bytes, uint32_t barriers)
{
    *state = (smk_barrier_reach){.words = shared_bytes / WORD_BYTES + 1, .barriers = barriers};
    if (barriers == 0) {
        return true;
    }
    state->word = smk_heap_allocate(state->words, sizeof *state->word);
    state->reach = smk_heap_allocate(barriers, 1);
    return state->word != NULL && state->reach != NULL;
}

void smk_barrier_reach_close(smk_barrier_reach *state)
{
    smk_heap_free(state->word);
    smk_heap_free(state->site);
    smk_heap_free(state->reach);
    *state = (smk_barrier_reach){0};
}

/* Have all barriers proved to be needed? */
static bool is_settled(const smk_barrier_reach *state)
{
    uint32_t i = 0;
    while (i < state->barriers && state->reach[i] == SMK_BARRIER_REACH_THREADS) {
        i++;
    }
    return i == state->barriers;
}

void smk_barrier_reach_begin(smk_barrier_reach *state)
{
    state->unknown = state->unknown || state->top >= EPOCH_MAX;
    state->follows = !state->unknown && !is_settled(state);
    if (!state->follows) {
        return;
    }
    state->base = ++state->top;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        state->epoch[i] = state->base;
    }
    memset(state->allocation, 0, sizeof state->allocation);
}

/* Is it a barrier of all threads that only waits, and at which a warp arrives once, with all its lanes? */
static bool is_plain(const smk_instruction *barrier)
{
    const smk_operand *number = &barrier->operands[0];
    bool aligned = barrier->opcode == SMK_OPCODE_BAR || smk_module_has(barrier, SMK_MODIFIER_ALIGNED);
    return aligned && barrier->operand_count == 1 && barrier->result_count == 0 &&
           number->kind == SMK_OPERAND_IMMEDIATE && number->bits == 0 && !smk_module_has(barrier, SMK_MODIFIER_ARRIVE);
}

static bool grow(smk_barrier_reach *state, uint32_t index)
{
    if (index < state->sites) {
        return true;
    }
    uint32_t wanted = index < 64 ? 128 : 2 * index;
    uint32_t *grown = smk_heap_resize(state->site, state->sites * sizeof *grown, (size_t)wanted * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    state->site = grown;
    state->sites = wanted;
    return true;
}

void smk_barrier_reach_arrive(smk_barrier_reach *state, const smk_warp *warp, const smk_instruction *barrier,
                              uint32_t number)
{
    if (!state->follows) {
        return;
    }
    uint32_t *epoch = &state->epoch[warp->control->index];
    bool is_first = *epoch == state->top;
    if (!is_plain(barrier) || !grow(state, *epoch + 1 - state->base)) {
        state->unknown = true;
        return;
    }
    ++*epoch;
    uint32_t *site = &state->site[*epoch - state->base];
    if (is_first) {
        state->top = *epoch;
        *site = number;
    } else if (*site != number) { /* warps that meet at two instructions */
        state->reach[number] = state->reach[*site] = SMK_BARRIER_REACH_THREADS;
    }
}

/* The barrier that a warp has passed last orders an access of `epoch` and one of its own. */
static void need(smk_barrier_reach *state, uint32_t own, uint32_t epoch, bool of_warp)
{
    if (epoch >= state->base && epoch < own) {
        uint8_t *reach = &state->reach[state->site[own - state->base]];
        uint8_t wanted = of_warp ? SMK_BARRIER_REACH_LANES : SMK_BARRIER_REACH_THREADS;
        *reach = *reach < wanted ? wanted : *reach;
    }
}

/* Orders an access of a thread after those of writers. Where the last one of another thread is of the thread's own epoch
 * (atomic operations), the last barrier may order an earlier one. */
static void follow_writers(smk_barrier_reach *state, const smk_barrier_reach_word *word, uint32_t own, uint16_t thread,
                           uint16_t warp)
{
    unsigned other = word->writer[0] != thread ? 0 : 1;
    if (word->writer[other] == ABSENT || (other == 1 && word->written[1] != word->written[0])) {
        return; /* what other threads wrote before is ordered before the thread's own write */
    }
    if (word->written[other] == own) {
        need(state, own, word->first, false);
    } else if (word->reader != thread || word->read_last <= word->written[other]) {
        need(state, own, word->written[other], word->writer[other] / SMK_WARP_SIZE == warp);
    }
}

static void note_word(smk_barrier_reach *state, smk_barrier_reach_word *word, uint32_t own, uint16_t thread,
                      uint16_t warp, bool writes)
{
    if (word->first < state->base) {
        *word = (smk_barrier_reach_word){.first = own, .writer = {ABSENT, ABSENT}, .reader = ABSENT};
    }
    follow_writers(state, word, own, thread, warp);
    if (writes) {
        if (word->reader != ABSENT && word->reader != thread) {
            bool ordered = word->read_first < own;
            need(state, own, ordered ? word->read_first : word->first, ordered && word->reading_warp == warp);
        }
        if (word->writer[0] != thread) {
            word->writer[1] = word->writer[0];
            word->written[1] = word->written[0];
        }
        word->writer[0] = thread;
        word->written[0] = own;
        word->reader = ABSENT;
        return;
    }
    if (word->reader == ABSENT) {
        word->reader = thread;
        word->reading_warp = warp;
        word->read_first = own;
    }
    word->reader = word->reader == thread ? thread : SEVERAL;
    word->reading_warp = word->reading_warp == warp ? warp : SEVERAL;
    word->read_last = own;
}

static void note_shared(smk_barrier_reach *state, const smk_warp *warp, const smk_access_event *event, unsigned bytes,
                        int shift, bool is_matrix)
{
    const uint32_t index = warp->control->index, own = state->epoch[index];
    const bool writes = event->kind != SMK_ACCESS_LOAD;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        if ((event->mask >> lane & 1) == 0) {
            continue;
        }
        uint64_t address = event->address[lane] + (uint64_t)(int64_t)shift, end = (address + bytes - 1) / WORD_BYTES;
        for (uint64_t i = address / WORD_BYTES; i <= end && i < state->words; i++) {
            uint32_t thread = is_matrix ? WHOLE_WARP : index * SMK_WARP_SIZE + lane;
            note_word(state, &state->word[i], own, (uint16_t)thread, (uint16_t)index, writes);
        }
    }
}

/* Needs the last barrier where the block has accessed the allocation before it, one of both by a write. */
static void note_global(smk_barrier_reach *state, const smk_warp *warp, const smk_access_event *event)
{
    const uint32_t own = state->epoch[warp->control->index];
    const bool writes = event->kind != SMK_ACCESS_LOAD;
    unsigned lane = 0;
    while ((event->mask >> lane & 1) == 0) {
        lane++;
    }
    const void *found = smk_memory_view_find(warp->control->block->run->view, event->address[lane]);
    smk_barrier_reach_allocation *at = NULL;
    for (unsigned i = 0; i < SMK_BARRIER_REACH_ALLOCATIONS && at == NULL; i++) {
        smk_barrier_reach_allocation *row = &state->allocation[i];
        at = row->allocation == found || row->allocation == NULL ? row : NULL;
    }
    if (found == NULL || at == NULL) {
        state->unknown = true;
        return;
    }
    at->allocation = found;
    if (at->written != 0) {
        need(state, own, at->written, false);
    }
    if (writes && at->read != 0) {
        need(state, own, at->read, false);
    }
    uint32_t *first = writes ? &at->written : &at->read;
    *first = *first == 0 || own < *first ? own : *first;
}

void smk_barrier_reach_note(smk_barrier_reach *state, const smk_warp *warp, const smk_access_event *event,
                            unsigned bytes, int shift, const smk_instruction *instruction)
{
    const bool own = event->space == SMK_SPACE_LOCAL;
    const bool constant = event->space == SMK_SPACE_CONST || event->space == SMK_SPACE_PARAM;
    if (!state->follows || state->unknown || own || constant) {
        return;
    }
    if (event->space == SMK_SPACE_SHARED) {
        note_shared(state, warp, event, bytes, shift, smk_opcode_class(instruction) == SMK_CLASS_MATRIX);
    } else if (event->space == SMK_SPACE_GLOBAL && event->kind != SMK_ACCESS_ATOMIC &&
               !smk_module_has(instruction, SMK_MODIFIER_VOLATILE)) {
        note_global(state, warp, event);
    } else {
        state->unknown = true;
    }
}
