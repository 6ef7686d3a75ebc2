#include "sim/profile/exchange.h"

#include "base/heap.h"
#include "ptx/opcode.h"
#include "sim/code/memory_view.h"

#include <string.h>

enum { WORD_BYTES = 4, EPOCH_MAX = 0x7fffffff };

/* Beside the numbers of threads and warps. */
enum { NOBODY = 0xffff, SEVERAL = 0xfffe, WHOLE_WARP = 0xfffd };

bool smk_exchange_open(smk_exchange *exchange, uint32_t shared_bytes, uint8_t *reach)
{
    *exchange = (smk_exchange){.words = shared_bytes / WORD_BYTES + 1, .reach = reach, .unknown = reach == NULL};
    if (exchange->unknown) {
        return true;
    }
    exchange->word = smk_heap_allocate(exchange->words, sizeof *exchange->word);
    return exchange->word != NULL;
}

void smk_exchange_close(smk_exchange *exchange)
{
    smk_heap_free(exchange->word);
    smk_heap_free(exchange->site);
    *exchange = (smk_exchange){0};
}

/* Have all barriers so far proved to be needed? */
static bool is_settled(const smk_exchange *exchange)
{
    for (uint32_t i = 0; i < exchange->seen_count; i++) {
        if (exchange->reach[exchange->seen[i]] != SMK_EXCHANGE_THREADS) {
            return false;
        }
    }
    return exchange->seen_count > 0;
}

void smk_exchange_begin(smk_exchange *exchange)
{
    exchange->unknown = exchange->unknown || exchange->top >= EPOCH_MAX;
    exchange->follows = !exchange->unknown && !is_settled(exchange);
    if (!exchange->follows) {
        return;
    }
    exchange->base = ++exchange->top;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        exchange->epoch[i] = exchange->base;
    }
    memset(exchange->allocation, 0, sizeof exchange->allocation);
}

/* Is it a barrier of all threads that only waits? */
static bool is_plain(const smk_instruction *barrier)
{
    const smk_operand *number = &barrier->operands[0];
    return barrier->operand_count == 1 && barrier->result_count == 0 && number->kind == SMK_OPERAND_IMMEDIATE &&
           number->bits == 0 && !smk_module_has(barrier, SMK_MODIFIER_ARRIVE);
}

static bool grow(smk_exchange *exchange, uint32_t index)
{
    if (index < exchange->sites) {
        return true;
    }
    uint32_t wanted = index < 64 ? 128 : 2 * index;
    uint32_t *grown = smk_heap_resize(exchange->site, exchange->sites * sizeof *grown, (size_t)wanted * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    exchange->site = grown;
    exchange->sites = wanted;
    return true;
}

static void note_site(smk_exchange *exchange, uint32_t id)
{
    for (uint32_t i = 0; i < exchange->seen_count; i++) {
        if (exchange->seen[i] == id) {
            return;
        }
    }
    if (exchange->seen_count < SMK_EXCHANGE_SITES) {
        exchange->seen[exchange->seen_count++] = id;
    } else {
        exchange->reach[id] = SMK_EXCHANGE_THREADS;
    }
}

void smk_exchange_arrive(smk_exchange *exchange, const smk_warp *warp, const smk_instruction *barrier, uint32_t id)
{
    if (!exchange->follows) {
        if (exchange->reach != NULL) {
            exchange->reach[id] = SMK_EXCHANGE_THREADS;
        }
        return;
    }
    note_site(exchange, id);
    uint32_t *epoch = &exchange->epoch[warp->control->index];
    bool is_first = *epoch == exchange->top;
    if (!is_plain(barrier) || !grow(exchange, *epoch + 1 - exchange->base)) {
        exchange->unknown = true;
        return;
    }
    ++*epoch;
    uint32_t *site = &exchange->site[*epoch - exchange->base];
    if (is_first) {
        exchange->top = *epoch;
        *site = id;
    } else if (*site != id) { /* warps that meet at two instructions */
        exchange->reach[id] = exchange->reach[*site] = SMK_EXCHANGE_THREADS;
    }
}

/* The barrier that a warp has passed last orders an access of `epoch` and one of its own. */
static void need(smk_exchange *exchange, uint32_t own, uint32_t epoch, bool of_warp)
{
    if (epoch >= exchange->base && epoch < own) {
        uint8_t *reach = &exchange->reach[exchange->site[own - exchange->base]];
        uint8_t wanted = of_warp ? SMK_EXCHANGE_LANES : SMK_EXCHANGE_THREADS;
        *reach = *reach < wanted ? wanted : *reach;
    }
}

/* Orders an access of a thread after those of writers. Where the last one of another thread is of the thread's own epoch
 * (atomic operations), the last barrier may order an earlier one. */
static void follow_writers(smk_exchange *exchange, const smk_exchange_word *word, uint32_t own, uint16_t thread,
                           uint16_t warp)
{
    unsigned other = word->writer[0] != thread ? 0 : 1;
    if (word->writer[other] == NOBODY || (other == 1 && word->written[1] != word->written[0])) {
        return; /* what other threads wrote before is ordered before the thread's own write */
    }
    if (word->written[other] == own) {
        need(exchange, own, word->first, false);
    } else if (word->reader != thread || word->read_last <= word->written[other]) {
        need(exchange, own, word->written[other], word->writer[other] / SMK_WARP_SIZE == warp);
    }
}

static void note_word(smk_exchange *exchange, smk_exchange_word *word, uint32_t own, uint16_t thread, uint16_t warp,
                      bool writes)
{
    if (word->first < exchange->base) {
        *word = (smk_exchange_word){.first = own, .writer = {NOBODY, NOBODY}, .reader = NOBODY};
    }
    follow_writers(exchange, word, own, thread, warp);
    if (writes) {
        if (word->reader != NOBODY && word->reader != thread) {
            bool ordered = word->read_first < own;
            need(exchange, own, ordered ? word->read_first : word->first, ordered && word->reading_warp == warp);
        }
        if (word->writer[0] != thread) {
            word->writer[1] = word->writer[0];
            word->written[1] = word->written[0];
        }
        word->writer[0] = thread;
        word->written[0] = own;
        word->reader = NOBODY;
        return;
    }
    if (word->reader == NOBODY) {
        word->reader = thread;
        word->reading_warp = warp;
        word->read_first = own;
    }
    word->reader = word->reader == thread ? thread : SEVERAL;
    word->reading_warp = word->reading_warp == warp ? warp : SEVERAL;
    word->read_last = own;
}

static void note_shared(smk_exchange *exchange, const smk_warp *warp, const smk_access_event *event, unsigned bytes,
                        int shift, bool is_matrix)
{
    const uint32_t index = warp->control->index, own = exchange->epoch[index];
    const bool writes = event->kind != SMK_ACCESS_LOAD;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        if ((event->mask >> lane & 1) == 0) {
            continue;
        }
        uint64_t address = event->address[lane] + (uint64_t)(int64_t)shift, end = (address + bytes - 1) / WORD_BYTES;
        for (uint64_t i = address / WORD_BYTES; i <= end && i < exchange->words; i++) {
            uint32_t thread = is_matrix ? WHOLE_WARP : index * SMK_WARP_SIZE + lane;
            note_word(exchange, &exchange->word[i], own, (uint16_t)thread, (uint16_t)index, writes);
        }
    }
}

/* Needs the last barrier where the block has accessed the allocation before it, one of both by a write. */
static void note_global(smk_exchange *exchange, const smk_warp *warp, const smk_access_event *event)
{
    const uint32_t own = exchange->epoch[warp->control->index];
    const bool writes = event->kind != SMK_ACCESS_LOAD;
    unsigned lane = 0;
    while ((event->mask >> lane & 1) == 0) {
        lane++;
    }
    const void *found = smk_memory_view_find(warp->control->block->run->view, event->address[lane]);
    smk_exchange_allocation *at = NULL;
    for (unsigned i = 0; i < SMK_EXCHANGE_ALLOCATIONS && at == NULL; i++) {
        smk_exchange_allocation *row = &exchange->allocation[i];
        at = row->allocation == found || row->allocation == NULL ? row : NULL;
    }
    if (found == NULL || at == NULL) {
        exchange->unknown = true;
        return;
    }
    at->allocation = found;
    if (at->written != 0) {
        need(exchange, own, at->written, false);
    }
    if (writes && at->read != 0) {
        need(exchange, own, at->read, false);
    }
    uint32_t *first = writes ? &at->written : &at->read;
    *first = *first == 0 || own < *first ? own : *first;
}

void smk_exchange_note(smk_exchange *exchange, const smk_warp *warp, const smk_access_event *event, unsigned bytes,
                       int shift, const smk_instruction *instruction)
{
    if (!exchange->follows || exchange->unknown || event->space == SMK_SPACE_LOCAL) {
        return;
    }
    if (event->space == SMK_SPACE_SHARED) {
        note_shared(exchange, warp, event, bytes, shift, smk_opcode_class(instruction) == SMK_CLASS_MATRIX);
    } else if (event->space == SMK_SPACE_GLOBAL && event->kind != SMK_ACCESS_ATOMIC &&
               !smk_module_has(instruction, SMK_MODIFIER_VOLATILE)) {
        note_global(exchange, warp, event);
    } else {
        exchange->unknown = true;
    }
}
