#include "sim/check/happens_before.h"

#include "base/heap.h"
#include "sim/code/bits.h"

#include <string.h>

enum { WARPS = SMK_ORDER_WARPS, LANES = 32, WORDS_MIN = 64 };
#define TIME_MAX (UINT32_MAX / 2)

static smk_clock_space *space_of(smk_order *order)
{
    return order->launch == NULL ? &order->space : &order->launch->space;
}

static void join_times(uint32_t *to, const uint32_t *from)
{
    for (uint32_t i = 0; i < WARPS; i++) {
        to[i] = to[i] > from[i] ? to[i] : from[i];
    }
}

/* Words ------------------------------------------------------------------------------------------ */

static void clear_word(const smk_clock_space *space, smk_order_word *word)
{
    smk_clock_drop(space, &word->far);
    for (uint32_t i = 0; i < word->piece_count; i++) {
        smk_clock_drop(space, &word->piece[i].clock);
    }
    word->piece_count = 0;
}

static void clear_words(const smk_clock_space *space, smk_order_words *words)
{
    for (uint32_t i = 0; i < words->capacity && words->count > 0; i++) {
        clear_word(space, &words->word[i]);
        smk_heap_free(words->word[i].piece);
        words->word[i] = (smk_order_word){0};
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

static smk_order_words *words_of(smk_order *order, bool shared)
{
    return shared ? &order->words : order->launch == NULL ? NULL : &order->launch->words;
}

/* NULL where nothing has been released at the address. */
static smk_order_word *find_word(smk_order_words *words, uint64_t address)
{
    if (words == NULL || words->count == 0) {
        return NULL;
    }
    smk_order_word *word = &words->word[place_word(words, address)];
    return word->used ? word : NULL;
}

static smk_order_word *make_word(smk_order *order, smk_order_words *words, uint64_t address)
{
    if (2 * (words->count + 1) > words->capacity && !grow_words(words)) {
        order->failed = true;
        return NULL;
    }
    smk_order_word *word = &words->word[place_word(words, address)];
    *word = (smk_order_word){.address = address, .used = true};
    words->count++;
    return word;
}

/* The place of what was released within the block, or NULL: where nothing is near, what is released to all says it.
 * Pieces are in the order of their blocks. */
static smk_clock **piece_of(smk_order *order, smk_order_word *word, bool make)
{
    uint32_t low = 0, high = word->piece_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (word->piece[middle].block < order->block) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < word->piece_count && word->piece[low].block == order->block) {
        return &word->piece[low].clock;
    }
    if (!make || !order->launch->near) {
        return NULL;
    }
    if (word->piece_count == word->piece_capacity) {
        uint32_t capacity = word->piece_capacity == 0 ? 2 : 2 * word->piece_capacity;
        size_t each = sizeof *word->piece;
        void *grown = smk_heap_resize(word->piece, word->piece_capacity * each, capacity * each);
        if (grown == NULL) {
            order->failed = true;
            return NULL;
        }
        word->piece = grown;
        word->piece_capacity = capacity;
    }
    smk_order_piece *piece = &word->piece[low];
    memmove(piece + 1, piece, (word->piece_count++ - low) * sizeof *piece);
    *piece = (smk_order_piece){.block = order->block};
    return &piece->clock;
}

/* Making and freeing ------------------------------------------------------------------------------- */

smk_status smk_order_create(smk_order *order, uint32_t warp_count, smk_order_launch *launch, bool synchronizes,
                            smk_error *error)
{
    *order = (smk_order){.now = 1, .warp_count = warp_count, .launch = launch};
    order->among = smk_heap_allocate(warp_count, sizeof *order->among);
    order->lane = synchronizes ? smk_heap_allocate(warp_count, sizeof *order->lane) : NULL;
    if (order->among == NULL || (synchronizes && order->lane == NULL)) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    return SMK_OK;
}

static void clear_lane(const smk_clock_space *space, smk_order_lane *lane)
{
    smk_clock **const clocks[] = {&lane->known,    &lane->near,     &lane->far,       &lane->seen_near,
                                  &lane->seen_far, &lane->released, &lane->read_near, &lane->read_far};
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        smk_clock_drop(space, clocks[i]);
    }
    *lane = (smk_order_lane){0};
}

static void clear_all(smk_order *order)
{
    const smk_clock_space *space = space_of(order);
    for (uint32_t left = order->touched; left != 0; left &= left - 1) {
        for (uint32_t i = 0; i < LANES; i++) {
            clear_lane(space, &order->lane[smk_bits_first(left)][i]);
        }
    }
    order->touched = 0;
    for (uint32_t i = 0; i < SMK_ORDER_BARRIERS; i++) {
        clear_lane(space, &order->arrived[i].lane);
        memset(order->arrived[i].warp, 0, sizeof order->arrived[i].warp);
    }
    memset(order->known, 0, order->warp_count * sizeof order->known[0]);
    memset(order->full, 0, sizeof order->full);
    memset(order->last, 0, sizeof order->last);
    clear_words(space, &order->words);
}

void smk_order_free(smk_order *order)
{
    clear_all(order);
    smk_heap_free(order->words.word);
    smk_heap_free(order->among);
    smk_heap_free(order->lane);
}

void smk_order_launch_free(smk_order_launch *launch)
{
    clear_words(&launch->space, &launch->words);
    smk_heap_free(launch->words.word);
}

bool smk_order_is_failed(const smk_order *order)
{
    return order->failed || order->space.failed || (order->launch != NULL && order->launch->space.failed);
}

/* Lanes ---------------------------------------------------------------------------------------------- */

/* `to` learns what `from` brings to where they meet. */
static void join_lane(smk_clock_space *space, smk_order_lane *to, const smk_order_lane *from)
{
    smk_clock_join(space, &to->known, from->known);
    smk_clock_join(space, &to->near, from->near);
    smk_clock_join(space, &to->far, from->far);
    smk_clock_join(space, &to->seen_near, from->seen_near);
    smk_clock_join(space, &to->seen_far, from->seen_far);
}

/* The same, and what `from` has made ready of its own doings. */
static void bring_lane(smk_order *order, smk_order_lane *to, uint32_t warp, uint32_t lane)
{
    smk_clock_space *space = space_of(order);
    const smk_order_lane *from = &order->lane[warp][lane];
    join_lane(space, to, from);
    if (from->near_time != 0) {
        smk_clock_learn_lane(space, &to->near, order->block, warp, lane, from->near_time);
    }
    if (from->far_time != 0) {
        smk_clock_learn_lane(space, &to->far, order->block, warp, lane, from->far_time);
    }
}

static bool is_empty(const smk_order_lane *lane)
{
    return lane->known == NULL && lane->near == NULL && lane->far == NULL && lane->seen_near == NULL &&
           lane->seen_far == NULL;
}

/* All that a lane knows now but for its own doings: a clock that the caller holds. */
static smk_clock *gather(smk_order *order, uint32_t warp, uint32_t lane)
{
    smk_clock_space *space = space_of(order);
    const uint32_t *among = order->among[warp][lane];
    uint32_t time[WARPS], ragged = 0;
    smk_clock *clock = smk_clock_hold(order->lane[warp][lane].known);
    for (uint32_t i = 0; i < WARPS; i++) {
        uint32_t known = i == warp ? order->full[warp] : order->known[warp][i];
        time[i] = i >= order->warp_count ? 0 : known > order->base ? known : order->base;
        ragged |= (uint32_t)(i != lane && among[i] > order->full[warp] && among[i] > order->base);
    }
    smk_clock_learn_warps(space, &clock, order->block, time);
    if (ragged != 0) {
        smk_clock_learn_lanes(space, &clock, order->block, warp, among);
    }
    return clock;
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

void smk_order_arrive(smk_order *order, uint32_t warp, uint32_t barrier)
{
    smk_order_arrived *at = &order->arrived[barrier];
    join_times(at->warp, order->known[warp]);
    at->warp[warp] = order->now;
    for (uint32_t i = 0; i < LANES && (order->touched >> warp & 1) != 0; i++) {
        bring_lane(order, &at->lane, warp, i);
    }
    order->now++;
}

/* True where everything that any warp has done lies before the barrier, and all that can still do something waited:
 * those that have ended in silence do not count. */
static bool is_whole(const smk_order *order, const uint32_t *arrived, uint32_t waited)
{
    for (uint32_t i = 0; i < order->warp_count; i++) {
        if ((waited >> i & 1) == 0 && order->last[i] > order->base && order->last[i] > arrived[i]) {
            return false;
        }
    }
    return true;
}

void smk_order_leave(smk_order *order, uint32_t barrier, uint32_t waited, uint32_t live)
{
    smk_order_arrived *at = &order->arrived[barrier];
    bool all = waited == live && is_whole(order, at->warp, waited), told = !is_empty(&at->lane);
    for (uint32_t i = 0; i < order->warp_count; i++) {
        if ((waited >> i & 1) == 0) {
            continue;
        }
        if (!all) {
            join_times(order->known[i], at->warp);
        }
        for (uint32_t k = 0; k < LANES && told; k++) {
            join_lane(space_of(order), &order->lane[i][k], &at->lane);
        }
        order->touched |= (uint32_t)told << i;
        order->full[i] = order->now;
    }
    memset(at->warp, 0, sizeof at->warp);
    clear_lane(space_of(order), &at->lane);
    if (all) {
        order->base = order->now;
    }
    order->now++;
}

static void meet_among(smk_order *order, uint32_t warp, uint32_t mask)
{
    uint32_t(*among)[32] = order->among[warp];
    uint32_t most[LANES] = {0};
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        join_times(most, among[smk_bits_first(left)]);
    }
    for (uint32_t i = 0; i < LANES; i++) {
        most[i] = (mask >> i & 1) != 0 ? order->now : most[i];
    }
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        memcpy(among[smk_bits_first(left)], most, sizeof most);
    }
}

void smk_order_meet(smk_order *order, uint32_t warp, uint32_t mask, bool all)
{
    if ((order->touched >> warp & 1) != 0) {
        smk_order_lane met = {0};
        for (uint32_t left = mask; left != 0; left &= left - 1) {
            bring_lane(order, &met, warp, smk_bits_first(left));
        }
        for (uint32_t left = mask; left != 0; left &= left - 1) {
            join_lane(space_of(order), &order->lane[warp][smk_bits_first(left)], &met);
        }
        clear_lane(space_of(order), &met);
    }
    if (all) {
        order->full[warp] = order->now;
    } else {
        meet_among(order, warp, mask);
    }
    order->now++;
}

static void fence_lane(smk_order *order, uint32_t warp, uint32_t lane_index, smk_order_fencing fencing)
{
    smk_clock_space *space = space_of(order);
    smk_order_lane *lane = &order->lane[warp][lane_index];
    if (fencing.acquires) {
        smk_clock_join(space, &lane->known, lane->seen_near);
        smk_clock_drop(space, &lane->seen_near);
    }
    if (fencing.acquires && !fencing.near) {
        smk_clock_join(space, &lane->known, lane->seen_far);
        smk_clock_drop(space, &lane->seen_far);
    }
    if (!fencing.releases) {
        return;
    }
    smk_clock *ready = gather(order, warp, lane_index);
    smk_clock_set(space, &lane->near, ready);
    lane->near_time = order->now;
    if (!fencing.near) {
        smk_clock_set(space, &lane->far, ready);
        lane->far_time = order->now;
    }
    smk_clock_drop(space, &ready);
}

void smk_order_fence(smk_order *order, uint32_t warp, uint32_t mask, smk_order_fencing fencing)
{
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        fence_lane(order, warp, smk_bits_first(left), fencing);
    }
    order->touched |= UINT32_C(1) << warp;
    order->now++;
}

void smk_order_tick(smk_order *order)
{
    order->now++;
}

/* Strong accesses ------------------------------------------------------------------------------------ */

/* Does the access include the thread of the last strong write in its scope, and the other way round? */
static bool reaches(const smk_order *order, const smk_order_word *word, const smk_order_access *access)
{
    return word->block == order->block || (!word->near && !access->near);
}

void smk_order_read(smk_order *order, const smk_order_access *access)
{
    smk_clock_space *space = space_of(order);
    smk_order_lane *lane = &order->lane[access->warp][access->lane];
    smk_order_word *word = find_word(words_of(order, access->shared), access->address);
    smk_clock *near = NULL, *far = NULL;
    if (word != NULL && reaches(order, word, access)) {
        smk_clock **piece = access->shared ? &word->far : piece_of(order, word, false);
        near = piece == NULL ? NULL : *piece;
        far = access->shared ? NULL : word->far;
    }
    bool again = lane->read_at == access->address;
    if (access->acquire) {
        smk_clock_join(space, &lane->known, near);
        smk_clock_join(space, &lane->known, again ? lane->read_near : NULL);
        if (!access->near) {
            smk_clock_join(space, &lane->known, far);
            smk_clock_join(space, &lane->known, again ? lane->read_far : NULL);
        }
    } else {
        if (!again) {
            smk_clock_drop(space, &lane->read_near);
            smk_clock_drop(space, &lane->read_far);
            lane->read_at = access->address;
        }
        smk_clock_join(space, &lane->read_near, near);
        smk_clock_join(space, &lane->read_far, far);
    }
    smk_clock_join(space, &lane->seen_near, near);
    smk_clock_join(space, &lane->seen_far, far);
    order->touched |= (uint32_t)(near != NULL || far != NULL) << access->warp;
}

/* A release operation: what is known now is released with this write, and with later ones of the lane to the address. */
static void note_release(smk_order *order, const smk_order_access *access)
{
    smk_order_lane *lane = &order->lane[access->warp][access->lane];
    smk_clock *ready = gather(order, access->warp, access->lane);
    smk_clock_set(space_of(order), &lane->released, ready);
    smk_clock_drop(space_of(order), &ready);
    lane->released_at = access->address;
    lane->released_time = order->now;
    lane->released_far = !access->near;
    order->touched |= UINT32_C(1) << access->warp;
}

static void release(smk_order *order, const smk_order_access *access, smk_clock **at, smk_clock *clock, uint32_t time)
{
    if (at != NULL && time != 0) {
        smk_clock_learn_lane(space_of(order), at, order->block, access->warp, access->lane, time);
    }
    if (at != NULL) {
        smk_clock_join(space_of(order), at, clock);
    }
}

void smk_order_write(smk_order *order, const smk_order_access *access)
{
    smk_order_words *words = words_of(order, access->shared);
    smk_order_lane *lane = &order->lane[access->warp][access->lane];
    if (words == NULL) {
        return;
    }
    smk_order_word *word = find_word(words, access->address);
    if (word != NULL && !(access->atomic && reaches(order, word, access))) {
        clear_word(space_of(order), word);
    }
    if (access->release) {
        note_release(order, access);
    }
    bool own = lane->released_time != 0 && lane->released_at == access->address;
    bool ready = own || lane->near != NULL || lane->near_time != 0 || lane->far != NULL;
    word = word == NULL && ready ? make_word(order, words, access->address) : word;
    if (word == NULL) {
        return;
    }
    word->block = order->block;
    word->near = access->near;
    if (!ready) {
        return;
    }
    smk_clock **within = access->shared ? &word->far : piece_of(order, word, true);
    release(order, access, within, lane->near, lane->near_time);
    release(order, access, within, own ? lane->released : NULL, own ? lane->released_time : 0);
    if (!access->shared) {
        bool wide = own && lane->released_far;
        release(order, access, &word->far, lane->far, lane->far_time);
        release(order, access, &word->far, wide ? lane->released : NULL, wide ? lane->released_time : 0);
    }
}

void smk_order_overwrite(smk_order *order, bool shared, uint64_t address)
{
    smk_order_word *word = find_word(words_of(order, shared), address);
    if (word != NULL) {
        clear_word(space_of(order), word);
    }
}

bool smk_order_knows(const smk_order *order, uint32_t block, uint32_t other, uint32_t of, uint32_t time, uint32_t warp,
                     uint32_t lane)
{
    const smk_clock_space *space = order->launch == NULL ? &order->space : &order->launch->space;
    return (order->touched >> warp & 1) != 0 &&
           smk_clock_knows(space, order->lane[warp][lane].known, block, other, of, time);
}
