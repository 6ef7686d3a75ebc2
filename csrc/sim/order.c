#include "order.h"

#include "../base/heap.h"

#include <string.h>

enum { WARPS = SMK_ORDER_WARPS, WORDS_MIN = 64 };
#define TIME_MAX (UINT32_MAX / 2)

/* Knowledge of other blocks ------------------------------------------------------------------------ */

static smk_order_foreign *hold(smk_order_foreign *foreign)
{
    if (foreign != NULL) {
        foreign->holders++;
    }
    return foreign;
}

static void let_go(smk_order_foreign **foreign)
{
    if (*foreign != NULL && --(*foreign)->holders == 0) {
        smk_heap_free(*foreign);
    }
    *foreign = NULL;
}

static bool covers(const smk_order_foreign *a, const smk_order_foreign *b)
{
    if (b->low < a->low || b->high > a->high) {
        return false;
    }
    for (uint32_t i = b->low; i < b->high; i++) {
        if (b->heard[i] > a->heard[i]) {
            return false;
        }
    }
    return true;
}

/* *to learns what `from` holds. */
static bool join_foreign(smk_order_foreign **to, smk_order_foreign *from, uint32_t blocks)
{
    if (from == NULL || *to == from || (*to != NULL && covers(*to, from))) {
        return true;
    }
    if (*to == NULL) {
        *to = hold(from);
        return true;
    }
    smk_order_foreign *made = smk_heap_allocate(1, sizeof *made + blocks * sizeof made->heard[0]);
    if (made == NULL) {
        return false;
    }
    const smk_order_foreign *old = *to;
    made->holders = 1;
    made->low = old->low < from->low ? old->low : from->low;
    made->high = old->high > from->high ? old->high : from->high;
    for (uint32_t i = made->low; i < made->high; i++) {
        made->heard[i] = old->heard[i] > from->heard[i] ? old->heard[i] : from->heard[i];
    }
    let_go(to);
    *to = made;
    return true;
}

/* *to learns of so many tellings of a block. */
static bool learn(smk_order_foreign **to, uint32_t block, uint32_t count, uint32_t blocks)
{
    if (*to == NULL || (*to)->holders > 1) {
        smk_order_foreign *made = smk_heap_allocate(1, sizeof *made + blocks * sizeof made->heard[0]);
        if (made == NULL) {
            return false;
        }
        made->low = block;
        made->high = block + 1;
        if (*to != NULL) {
            made->low = (*to)->low;
            made->high = (*to)->high;
            memcpy(made->heard, (*to)->heard, blocks * sizeof made->heard[0]);
        }
        made->holders = 1;
        let_go(to);
        *to = made;
    }
    smk_order_foreign *own = *to;
    own->low = own->low < block ? own->low : block;
    own->high = own->high > block + 1 ? own->high : block + 1;
    own->heard[block] = own->heard[block] > count ? own->heard[block] : count;
    return true;
}

static void join(smk_order *order, smk_order_clock *to, const smk_order_clock *from)
{
    for (uint32_t i = 0; i < WARPS; i++) {
        to->warp[i] = to->warp[i] > from->warp[i] ? to->warp[i] : from->warp[i];
    }
    if (order->launch != NULL && !join_foreign(&to->foreign, from->foreign, order->launch->blocks)) {
        order->failed = true;
    }
}

static void clear(smk_order_clock *clock)
{
    let_go(&clock->foreign);
    memset(clock->warp, 0, sizeof clock->warp);
}

/* Words ------------------------------------------------------------------------------------------ */

static void clear_words(smk_order_words *words)
{
    for (uint32_t i = 0; i < words->capacity && words->count > 0; i++) {
        if (words->word[i].used) {
            let_go(&words->word[i].far);
            let_go(&words->word[i].near.foreign);
            words->word[i].used = false;
        }
    }
    words->count = 0;
}

static uint32_t place_word(const smk_order_words *words, uint64_t address)
{
    uint32_t at = (uint32_t)((address * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (words->capacity - 1);
    while (words->word[at].used && words->word[at].address != address) {
        at = (at + 1) & (words->capacity - 1);
    }
    return at;
}

static bool grow_words(smk_order_words *words)
{
    smk_order_words wide = {.count = words->count, .capacity = words->capacity == 0 ? WORDS_MIN : 2 * words->capacity};
    wide.word = smk_heap_allocate(wide.capacity, sizeof *wide.word);
    if (wide.word == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < words->capacity; i++) {
        if (words->word[i].used) {
            wide.word[place_word(&wide, words->word[i].address)] = words->word[i];
        }
    }
    smk_heap_free(words->word);
    *words = wide;
    return true;
}

/* NULL where there is none, and none is to be made or no memory for it. */
static smk_order_word *find_word(smk_order_words *words, uint64_t address, bool make)
{
    if (words->capacity == 0 && !make) {
        return NULL;
    }
    if (2 * (words->count + 1) > words->capacity && make && !grow_words(words)) {
        return NULL;
    }
    smk_order_word *word = &words->word[place_word(words, address)];
    if (word->used) {
        return word;
    }
    if (!make) {
        return NULL;
    }
    *word = (smk_order_word){.address = address, .used = true};
    words->count++;
    return word;
}

/* Making and freeing ------------------------------------------------------------------------------- */

smk_status smk_order_create(smk_order *order, uint32_t warp_count, smk_order_launch *launch, smk_error *error)
{
    *order = (smk_order){.now = 1, .warp_count = warp_count, .launch = launch};
    order->lane = smk_heap_allocate(warp_count, sizeof *order->lane);
    if (order->lane == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    return SMK_OK;
}

static void clear_all(smk_order *order)
{
    for (uint32_t i = 0; i < WARPS; i++) {
        clear(&order->known[i]);
        clear(&order->some[i]);
        order->some_lanes[i] = 0;
        clear(&order->fenced[i]);
        clear(&order->ready[i]);
        clear(&order->heard[i]);
        order->changed[i] = false;
        order->full[i] = 0;
        order->last[i] = 0;
    }
    for (uint32_t i = 0; i < SMK_ORDER_BARRIERS; i++) {
        for (uint32_t k = 0; k < 4; k++) {
            clear(&order->arrived[i][k]);
        }
        order->busy[i] = false;
    }
    clear_words(&order->words);
}

void smk_order_free(smk_order *order)
{
    clear_all(order);
    smk_heap_free(order->words.word);
    smk_heap_free(order->lane);
}

smk_status smk_order_launch_create(smk_order_launch *launch, uint64_t blocks, smk_error *error)
{
    *launch = (smk_order_launch){.blocks = (uint32_t)blocks};
    launch->history = blocks > UINT32_MAX ? NULL : smk_heap_allocate((size_t)blocks, sizeof *launch->history);
    if (launch->history == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what blocks tell each other");
    }
    return SMK_OK;
}

void smk_order_launch_free(smk_order_launch *launch)
{
    for (uint32_t i = 0; launch->history != NULL && i < launch->blocks; i++) {
        smk_heap_free(launch->history[i].told);
    }
    smk_heap_free(launch->history);
    clear_words(&launch->words);
    smk_heap_free(launch->words.word);
}

/* What happens -------------------------------------------------------------------------------------- */

void smk_order_begin(smk_order *order, uint64_t block)
{
    clear_all(order);
    order->block = (uint32_t)block;
    order->base = order->now;
    order->begin = ++order->now;
    order->failed = order->failed || order->now > TIME_MAX;
}

/* What a warp knows, its own doings among it. */
static void gather(smk_order *order, uint32_t warp, smk_order_clock *to)
{
    join(order, to, &order->known[warp]);
    if (order->some_lanes[warp] != 0) {
        join(order, to, &order->some[warp]);
    }
    to->warp[warp] = order->now;
}

/* What some lanes know, all do. */
static void share(smk_order *order, uint32_t warp)
{
    if (order->some_lanes[warp] != 0) {
        join(order, &order->known[warp], &order->some[warp]);
        clear(&order->some[warp]);
        order->some_lanes[warp] = 0;
    }
}

void smk_order_arrive(smk_order *order, uint32_t warp, uint32_t barrier)
{
    smk_order_clock *at = order->arrived[barrier];
    gather(order, warp, &at[0]);
    if (order->strong) {
        join(order, &at[1], &order->fenced[warp]);
        join(order, &at[2], &order->ready[warp]);
        join(order, &at[3], &order->heard[warp]);
    }
    order->busy[barrier] = true;
    order->now++;
}

/* True where everything that any warp has done lies before the barrier, and all that can still do something waited:
 * those that have ended in silence do not count. */
static bool is_whole(const smk_order *order, const smk_order_clock *at, uint32_t waited)
{
    for (uint32_t i = 0; i < order->warp_count; i++) {
        if ((waited >> i & 1) == 0 && order->last[i] > order->base && order->last[i] > at->warp[i]) {
            return false;
        }
    }
    return true;
}

void smk_order_release(smk_order *order, uint32_t barrier, uint32_t waited, uint32_t live)
{
    smk_order_clock *at = order->arrived[barrier];
    bool all = waited == live && is_whole(order, at, waited);
    for (uint32_t i = 0; i < order->warp_count; i++) {
        if ((waited >> i & 1) == 0) {
            continue;
        }
        share(order, i);
        if (!all || order->strong) {
            join(order, &order->known[i], &at[0]);
        }
        if (order->strong) {
            join(order, &order->fenced[i], &at[1]);
            join(order, &order->ready[i], &at[2]);
            join(order, &order->heard[i], &at[3]);
            order->changed[i] = true;
        }
        order->full[i] = order->now;
    }
    for (uint32_t k = 0; k < (order->strong ? 4U : 1U); k++) {
        clear(&at[k]);
    }
    if (all) {
        order->base = order->now;
    }
    order->busy[barrier] = false;
    order->now++;
}

void smk_order_meet(smk_order *order, uint32_t warp, uint32_t mask, bool all)
{
    if (all) {
        share(order, warp);
        order->full[warp] = order->now++;
        return;
    }
    if ((order->some_lanes[warp] & mask) != 0) {
        order->some_lanes[warp] |= mask;
    }
    uint32_t(*lane)[32] = order->lane[warp];
    uint32_t most[32] = {0};
    for (uint32_t i = 0; i < 32; i++) {
        for (uint32_t k = 0; k < 32 && (mask >> i & 1) != 0; k++) {
            most[k] = lane[i][k] > most[k] ? lane[i][k] : most[k];
        }
    }
    for (uint32_t i = 0; i < 32; i++) {
        most[i] = (mask >> i & 1) != 0 ? order->now : most[i];
    }
    for (uint32_t i = 0; i < 32; i++) {
        if ((mask >> i & 1) != 0) {
            memcpy(lane[i], most, sizeof most);
        }
    }
    order->now++;
}

void smk_order_fence(smk_order *order, uint32_t warp, uint32_t mask, bool all, bool far)
{
    if (all) {
        share(order, warp);
        join(order, &order->known[warp], &order->heard[warp]);
    } else {
        join(order, &order->some[warp], &order->heard[warp]);
        order->some_lanes[warp] |= mask; /* one record for all such lanes of a warp: it never accuses wrongly */
    }
    gather(order, warp, &order->fenced[warp]);
    if (far) {
        gather(order, warp, &order->ready[warp]);
        order->changed[warp] = true;
    }
    order->now++;
}

/* One more telling of this block, on top of those before. */
static bool record(smk_order_launch *launch, uint32_t block, const uint32_t *clock)
{
    smk_order_history *history = &launch->history[block];
    if (history->count == history->capacity) {
        uint32_t capacity = history->capacity == 0 ? 2 : 2 * history->capacity;
        size_t each = sizeof *history->told;
        void *grown = smk_heap_resize(history->told, history->capacity * each, capacity * each);
        if (grown == NULL) {
            return false;
        }
        history->told = grown;
        history->capacity = capacity;
    }
    uint32_t *told = history->told[history->count];
    for (uint32_t i = 0; i < WARPS; i++) {
        uint32_t before = history->count == 0 ? 0 : history->told[history->count - 1][i];
        told[i] = clock[i] > before ? clock[i] : before;
    }
    history->count++;
    return true;
}

void smk_order_tell(smk_order *order, uint32_t warp, bool shared, uint64_t address, bool far)
{
    smk_order_launch *launch = order->launch;
    if (!shared && launch == NULL) {
        return;
    }
    smk_order_word *word = find_word(shared ? &order->words : &launch->words, address, true);
    if (word == NULL) {
        order->failed = true;
        return;
    }
    if (word->block != order->block) {
        clear(&word->near);
        word->block = order->block;
    }
    join(order, &word->near, &order->fenced[warp]);
    if (shared || !far) {
        return;
    }
    smk_order_history *history = &launch->history[order->block];
    const smk_order_clock *ready = &order->ready[warp];
    if (order->changed[warp]) {
        order->failed = order->failed || !record(launch, order->block, ready->warp);
        order->changed[warp] = false;
    }
    if (!join_foreign(&word->far, ready->foreign, launch->blocks) ||
        (history->count > 0 && !learn(&word->far, order->block, history->count, launch->blocks))) {
        order->failed = true;
    }
}

void smk_order_hear(smk_order *order, uint32_t warp, bool shared, uint64_t address)
{
    if (!shared && order->launch == NULL) {
        return;
    }
    const smk_order_word *word = find_word(shared ? &order->words : &order->launch->words, address, false);
    smk_order_clock *heard = &order->heard[warp];
    if (word == NULL) {
        return;
    }
    if (word->block == order->block) {
        join(order, heard, &word->near);
    }
    if (!shared && !join_foreign(&heard->foreign, word->far, order->launch->blocks)) {
        order->failed = true;
    }
}

static bool is_heard(const smk_order *order, const smk_order_foreign *foreign, uint32_t block, uint32_t other,
                     uint32_t time)
{
    if (foreign == NULL || block < foreign->low || block >= foreign->high || foreign->heard[block] == 0) {
        return false;
    }
    return time <= order->launch->history[block].told[foreign->heard[block] - 1][other];
}

bool smk_order_before_far(const smk_order *order, uint32_t block, uint32_t other, uint32_t time, uint32_t warp,
                          uint32_t lane)
{
    return is_heard(order, order->known[warp].foreign, block, other, time) ||
           ((order->some_lanes[warp] >> lane & 1) != 0 &&
            is_heard(order, order->some[warp].foreign, block, other, time));
}
