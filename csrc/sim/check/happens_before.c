#include "sim/check/happens_before.h"

#include "base/heap.h"
#include "sim/code/bits.h"

#include <string.h>

enum { WARPS = SMK_HAPPENS_BEFORE_WARPS, WORDS_MIN = 64, BARRIER_BYTES = 8 };
#define TIME_MAX (UINT32_MAX / 2)

static smk_clock_space *space_of(smk_happens_before *order)
{
    return order->launch == NULL ? &order->space : &order->launch->space;
}

static void join_times(uint32_t *to, const uint32_t *from)
{
    for (uint32_t i = 0; i < WARPS; i++) {
        to[i] = to[i] > from[i] ? to[i] : from[i];
    }
}

/* Released words --------------------------------------------------------------------------------- */

static void clear_word(const smk_clock_space *space, smk_happens_before_word *word)
{
    smk_clock_drop(space, &word->device_clock);
    for (uint32_t i = 0; i < word->block_clock_count; i++) {
        smk_clock_drop(space, &word->block_clock[i].clock);
    }
    word->block_clock_count = 0;
}

static void clear_words(const smk_clock_space *space, smk_happens_before_words *words)
{
    for (uint32_t i = 0; i < words->capacity && words->count > 0; i++) {
        clear_word(space, &words->word[i]);
        smk_heap_free(words->word[i].block_clock);
        words->word[i] = (smk_happens_before_word){0};
    }
    words->count = 0;
}

static uint32_t find_slot(const smk_happens_before_words *words, uint64_t address)
{
    uint32_t at = (uint32_t)((address * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (words->capacity - 1);
    while (words->word[at].used && words->word[at].address != address) {
        at = (at + 1) & (words->capacity - 1);
    }
    return at;
}

static bool grow_words(smk_happens_before_words *words)
{
    smk_happens_before_words wide = {.count = words->count,
                                     .capacity = words->capacity == 0 ? WORDS_MIN : 2 * words->capacity};
    wide.word = smk_heap_allocate(wide.capacity, sizeof *wide.word);
    if (wide.word == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < words->capacity; i++) {
        if (words->word[i].used) {
            wide.word[find_slot(&wide, words->word[i].address)] = words->word[i];
        }
    }
    smk_heap_free(words->word);
    *words = wide;
    return true;
}

static smk_happens_before_words *words_of(smk_happens_before *order, bool shared)
{
    return shared ? &order->words : order->launch == NULL ? NULL : &order->launch->words;
}

/* NULL where nothing has been released to the address. */
static smk_happens_before_word *find_word(smk_happens_before_words *words, uint64_t address)
{
    if (words == NULL || words->count == 0) {
        return NULL;
    }
    smk_happens_before_word *word = &words->word[find_slot(words, address)];
    return word->used ? word : NULL;
}

static smk_happens_before_word *make_word(smk_happens_before *order, smk_happens_before_words *words, uint64_t address)
{
    if (2 * (words->count + 1) > words->capacity && !grow_words(words)) {
        order->failed = true;
        return NULL;
    }
    smk_happens_before_word *word = &words->word[find_slot(words, address)];
    *word = (smk_happens_before_word){.address = address, .used = true};
    words->count++;
    return word;
}

/* What the block has released to itself; NULL where there is none. Without accesses of block scope the device clock is
 * enough. Clocks are sorted by block, for a binary search. */
static smk_clock **block_clock_of(smk_happens_before *order, smk_happens_before_word *word, bool make)
{
    uint32_t low = 0, high = word->block_clock_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (word->block_clock[middle].block < order->block) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < word->block_clock_count && word->block_clock[low].block == order->block) {
        return &word->block_clock[low].clock;
    }
    if (!make || !order->launch->block_scope) {
        return NULL;
    }
    if (word->block_clock_count == word->block_clock_capacity) {
        uint32_t capacity = word->block_clock_capacity == 0 ? 2 : 2 * word->block_clock_capacity;
        size_t each = sizeof *word->block_clock;
        void *grown = smk_heap_resize(word->block_clock, word->block_clock_capacity * each, capacity * each);
        if (grown == NULL) {
            order->failed = true;
            return NULL;
        }
        word->block_clock = grown;
        word->block_clock_capacity = capacity;
    }
    smk_block_clock *block_clock = &word->block_clock[low];
    memmove(block_clock + 1, block_clock, (word->block_clock_count++ - low) * sizeof *block_clock);
    *block_clock = (smk_block_clock){.block = order->block};
    return &block_clock->clock;
}

/* Creating and freeing ----------------------------------------------------------------------------- */

smk_status smk_happens_before_create(smk_happens_before *order, uint32_t warp_count, smk_happens_before_launch *launch,
                                     bool synchronizes, smk_error *error)
{
    *order = (smk_happens_before){.now = 1, .warp_count = warp_count, .launch = launch};
    order->lane_clock = smk_heap_allocate(warp_count, sizeof *order->lane_clock);
    order->lane = synchronizes ? smk_heap_allocate(warp_count, sizeof *order->lane) : NULL;
    if (order->lane_clock == NULL || (synchronizes && order->lane == NULL)) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    return SMK_OK;
}

static void clear_lane(const smk_clock_space *space, smk_happens_before_lane *lane)
{
    smk_clock **const clocks[] = {&lane->clock,          &lane->fenced_block,    &lane->fenced_device,
                                  &lane->unfenced_block, &lane->unfenced_device, &lane->release_clock,
                                  &lane->read_block,     &lane->read_device};
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        smk_clock_drop(space, clocks[i]);
    }
    *lane = (smk_happens_before_lane){0};
}

static void clear_all(smk_happens_before *order)
{
    const smk_clock_space *space = space_of(order);
    for (uint32_t left = order->touched; left != 0; left &= left - 1) {
        for (uint32_t i = 0; i < SMK_WARP_SIZE; i++) {
            clear_lane(space, &order->lane[smk_bits_first(left)][i]);
        }
    }
    order->touched = 0;
    for (uint32_t i = 0; i < SMK_HAPPENS_BEFORE_BARRIERS; i++) {
        clear_lane(space, &order->arrived[i].lane);
        memset(order->arrived[i].warp, 0, sizeof order->arrived[i].warp);
    }
    memset(order->warp_clock, 0, order->warp_count * sizeof order->warp_clock[0]);
    memset(order->synced, 0, sizeof order->synced);
    memset(order->last, 0, sizeof order->last);
    clear_words(space, &order->words);
}

void smk_happens_before_free(smk_happens_before *order)
{
    clear_all(order);
    smk_heap_free(order->words.word);
    smk_heap_free(order->lane_clock);
    smk_heap_free(order->lane);
}

void smk_happens_before_launch_free(smk_happens_before_launch *launch)
{
    clear_words(&launch->space, &launch->words);
    smk_heap_free(launch->words.word);
}

bool smk_happens_before_is_failed(const smk_happens_before *order)
{
    return order->failed || order->space.failed || (order->launch != NULL && order->launch->space.failed);
}

/* Lanes ---------------------------------------------------------------------------------------------- */

/* Joins the clocks of `from` into `to`, which synchronises with it. */
static void join_lane(smk_clock_space *space, smk_happens_before_lane *to, const smk_happens_before_lane *from)
{
    smk_clock_join(space, &to->clock, from->clock);
    smk_clock_join(space, &to->fenced_block, from->fenced_block);
    smk_clock_join(space, &to->fenced_device, from->fenced_device);
    smk_clock_join(space, &to->unfenced_block, from->unfenced_block);
    smk_clock_join(space, &to->unfenced_device, from->unfenced_device);
}

/* The same, with the lane's own operations up to its fences. */
static void join_fenced_lane(smk_happens_before *order, smk_happens_before_lane *to, uint32_t warp, uint32_t lane)
{
    smk_clock_space *space = space_of(order);
    const smk_happens_before_lane *from = &order->lane[warp][lane];
    join_lane(space, to, from);
    if (from->fenced_block_time != 0) {
        smk_clock_raise_lane(space, &to->fenced_block, order->block, warp, lane, from->fenced_block_time);
    }
    if (from->fenced_device_time != 0) {
        smk_clock_raise_lane(space, &to->fenced_device, order->block, warp, lane, from->fenced_device_time);
    }
}

static bool is_empty(const smk_happens_before_lane *lane)
{
    return lane->clock == NULL && lane->fenced_block == NULL && lane->fenced_device == NULL &&
           lane->unfenced_block == NULL && lane->unfenced_device == NULL;
}

/* The present vector clock of a lane, without its own operations; the caller holds it. */
static smk_clock *snapshot(smk_happens_before *order, uint32_t warp, uint32_t lane)
{
    smk_clock_space *space = space_of(order);
    const uint32_t *lane_clock = order->lane_clock[warp][lane];
    uint32_t time[WARPS], ragged = 0;
    smk_clock *clock = smk_clock_hold(order->lane[warp][lane].clock);
    for (uint32_t i = 0; i < WARPS; i++) {
        uint32_t time_known = i == warp ? order->synced[warp] : order->warp_clock[warp][i];
        time[i] = i >= order->warp_count ? 0 : time_known > order->base ? time_known : order->base;
        ragged |= (uint32_t)(i != lane && lane_clock[i] > order->synced[warp] && lane_clock[i] > order->base);
    }
    smk_clock_raise_warps(space, &clock, order->block, time);
    if (ragged != 0) {
        smk_clock_raise_lanes(space, &clock, order->block, warp, lane_clock);
    }
    return clock;
}

/* Barriers, warp synchronisation, fences ------------------------------------------------------------ */

void smk_happens_before_begin(smk_happens_before *order, uint64_t block)
{
    clear_all(order);
    order->block = (uint32_t)block;
    order->base = order->now;
    order->begin = ++order->now;
    order->failed = order->failed || order->now > TIME_MAX;
}

void smk_happens_before_arrive(smk_happens_before *order, uint32_t warp, uint32_t barrier)
{
    smk_happens_before_arrived *at = &order->arrived[barrier];
    join_times(at->warp, order->warp_clock[warp]);
    at->warp[warp] = order->now;
    for (uint32_t i = 0; i < SMK_WARP_SIZE && (order->touched >> warp & 1) != 0; i++) {
        join_fenced_lane(order, &at->lane, warp, i);
    }
    order->now++;
}

/* True where every access of the block happens before the barrier. Warps that have exited without an access since do
 * not count. */
static bool is_whole(const smk_happens_before *order, const uint32_t *arrived, uint32_t waited)
{
    for (uint32_t i = 0; i < order->warp_count; i++) {
        if ((waited >> i & 1) == 0 && order->last[i] > order->base && order->last[i] > arrived[i]) {
            return false;
        }
    }
    return true;
}

void smk_happens_before_leave(smk_happens_before *order, uint32_t barrier, uint32_t waited, uint32_t live)
{
    smk_happens_before_arrived *at = &order->arrived[barrier];
    bool all = waited == live && is_whole(order, at->warp, waited), releases = !is_empty(&at->lane);
    for (uint32_t i = 0; i < order->warp_count; i++) {
        if ((waited >> i & 1) == 0) {
            continue;
        }
        if (!all) {
            join_times(order->warp_clock[i], at->warp);
        }
        for (uint32_t k = 0; k < SMK_WARP_SIZE && releases; k++) {
            join_lane(space_of(order), &order->lane[i][k], &at->lane);
        }
        order->touched |= (uint32_t)releases << i;
        order->synced[i] = order->now;
    }
    memset(at->warp, 0, sizeof at->warp);
    clear_lane(space_of(order), &at->lane);
    if (all) {
        order->base = order->now;
    }
    order->now++;
}

static void sync_lanes(smk_happens_before *order, uint32_t warp, uint32_t mask)
{
    uint32_t(*lane_clock)[32] = order->lane_clock[warp];
    uint32_t most[SMK_WARP_SIZE] = {0};
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        join_times(most, lane_clock[smk_bits_first(left)]);
    }
    for (uint32_t i = 0; i < SMK_WARP_SIZE; i++) {
        most[i] = (mask >> i & 1) != 0 ? order->now : most[i];
    }
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        memcpy(lane_clock[smk_bits_first(left)], most, sizeof most);
    }
}

void smk_happens_before_sync_warp(smk_happens_before *order, uint32_t warp, uint32_t mask, bool all)
{
    if ((order->touched >> warp & 1) != 0) {
        smk_happens_before_lane joined = {0};
        for (uint32_t left = mask; left != 0; left &= left - 1) {
            join_fenced_lane(order, &joined, warp, smk_bits_first(left));
        }
        for (uint32_t left = mask; left != 0; left &= left - 1) {
            join_lane(space_of(order), &order->lane[warp][smk_bits_first(left)], &joined);
        }
        clear_lane(space_of(order), &joined);
    }
    if (all) {
        order->synced[warp] = order->now;
    } else {
        sync_lanes(order, warp, mask);
    }
    order->now++;
}

static void fence_lane(smk_happens_before *order, uint32_t warp, uint32_t lane_index, smk_fence_kind kind)
{
    smk_clock_space *space = space_of(order);
    smk_happens_before_lane *lane = &order->lane[warp][lane_index];
    if (kind.acquires) {
        smk_clock_join(space, &lane->clock, lane->unfenced_block);
        smk_clock_drop(space, &lane->unfenced_block);
    }
    if (kind.acquires && !kind.block_scope) {
        smk_clock_join(space, &lane->clock, lane->unfenced_device);
        smk_clock_drop(space, &lane->unfenced_device);
    }
    if (!kind.releases) {
        return;
    }
    smk_clock *ready = snapshot(order, warp, lane_index);
    smk_clock_set(space, &lane->fenced_block, ready);
    lane->fenced_block_time = order->now;
    if (!kind.block_scope) {
        smk_clock_set(space, &lane->fenced_device, ready);
        lane->fenced_device_time = order->now;
    }
    smk_clock_drop(space, &ready);
}

void smk_happens_before_fence(smk_happens_before *order, uint32_t warp, uint32_t mask, smk_fence_kind kind)
{
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        fence_lane(order, warp, smk_bits_first(left), kind);
    }
    order->touched |= UINT32_C(1) << warp;
    order->now++;
}

void smk_happens_before_tick(smk_happens_before *order)
{
    order->now++;
}

/* Strong accesses ------------------------------------------------------------------------------------ */

/* Are the access and the last strong write to the word each in the other's scope (morally strong)? */
static bool reaches(const smk_happens_before *order, const smk_happens_before_word *word,
                    const smk_happens_before_access *access)
{
    return word->block == order->block || (!word->block_scope && !access->block_scope);
}

void smk_happens_before_read(smk_happens_before *order, const smk_happens_before_access *access)
{
    smk_clock_space *space = space_of(order);
    smk_happens_before_lane *lane = &order->lane[access->warp][access->lane];
    smk_happens_before_word *word = find_word(words_of(order, access->shared), access->address);
    smk_clock *block_clock = NULL, *device_clock = NULL;
    if (word != NULL && reaches(order, word, access)) {
        smk_clock **slot = access->shared ? &word->device_clock : block_clock_of(order, word, false);
        block_clock = slot == NULL ? NULL : *slot;
        device_clock = access->shared ? NULL : word->device_clock;
    }
    bool again = lane->read_address == access->address;
    if (access->acquire) {
        smk_clock_join(space, &lane->clock, block_clock);
        smk_clock_join(space, &lane->clock, again ? lane->read_block : NULL);
        if (!access->block_scope) {
            smk_clock_join(space, &lane->clock, device_clock);
            smk_clock_join(space, &lane->clock, again ? lane->read_device : NULL);
        }
    } else {
        if (!again) {
            smk_clock_drop(space, &lane->read_block);
            smk_clock_drop(space, &lane->read_device);
            lane->read_address = access->address;
        }
        smk_clock_join(space, &lane->read_block, block_clock);
        smk_clock_join(space, &lane->read_device, device_clock);
    }
    smk_clock_join(space, &lane->unfenced_block, block_clock);
    smk_clock_join(space, &lane->unfenced_device, device_clock);
    order->touched |= (uint32_t)(block_clock != NULL || device_clock != NULL) << access->warp;
}

/* A release operation: the lane's present clock is released by this write and by its later writes to the address. */
static void note_release(smk_happens_before *order, const smk_happens_before_access *access)
{
    smk_happens_before_lane *lane = &order->lane[access->warp][access->lane];
    smk_clock *ready = snapshot(order, access->warp, access->lane);
    smk_clock_set(space_of(order), &lane->release_clock, ready);
    smk_clock_drop(space_of(order), &ready);
    lane->release_address = access->address;
    lane->release_time = order->now;
    lane->release_device = !access->block_scope;
    order->touched |= UINT32_C(1) << access->warp;
}

static void release(smk_happens_before *order, const smk_happens_before_access *access, smk_clock **at,
                    smk_clock *clock, uint32_t time)
{
    if (at != NULL && time != 0) {
        smk_clock_raise_lane(space_of(order), at, order->block, access->warp, access->lane, time);
    }
    if (at != NULL) {
        smk_clock_join(space_of(order), at, clock);
    }
}

void smk_happens_before_write(smk_happens_before *order, const smk_happens_before_access *access)
{
    smk_happens_before_words *words = words_of(order, access->shared);
    smk_happens_before_lane *lane = &order->lane[access->warp][access->lane];
    if (words == NULL) {
        return;
    }
    smk_happens_before_word *word = find_word(words, access->address);
    if (word != NULL && !(access->atomic && reaches(order, word, access))) {
        clear_word(space_of(order), word);
    }
    if (access->release) {
        note_release(order, access);
    }
    bool own = lane->release_time != 0 && lane->release_address == access->address;
    /* a fence at the scope of the device sets the clock of the block too */
    bool ready = own || lane->fenced_block != NULL || lane->fenced_block_time != 0;
    word = word == NULL && ready ? make_word(order, words, access->address) : word;
    if (word == NULL) {
        return;
    }
    word->block = order->block;
    word->block_scope = access->block_scope;
    if (!ready) {
        return;
    }
    smk_clock **within = access->shared ? &word->device_clock : block_clock_of(order, word, true);
    release(order, access, within, lane->fenced_block, lane->fenced_block_time);
    release(order, access, within, own ? lane->release_clock : NULL, own ? lane->release_time : 0);
    if (!access->shared) {
        bool wide = own && lane->release_device;
        release(order, access, &word->device_clock, lane->fenced_device, lane->fenced_device_time);
        release(order, access, &word->device_clock, wide ? lane->release_clock : NULL, wide ? lane->release_time : 0);
    }
}

void smk_happens_before_overwrite(smk_happens_before *order, bool shared, uint64_t address)
{
    smk_happens_before_word *word = find_word(words_of(order, shared), address);
    if (word != NULL) {
        clear_word(space_of(order), word);
    }
}

/* Copies ---------------------------------------------------------------------------------------------- */

void smk_happens_before_expect_copies(smk_happens_before *order, uint64_t blocks)
{
    order->space = smk_clock_space_of(2 * blocks);
    order->copies_first = (uint32_t)blocks;
}

/* The lane that stands for an mbarrier; two of them share one only where they lie far apart. */
static uint32_t stand_in_of(uint64_t barrier)
{
    return (uint32_t)(barrier / BARRIER_BYTES % ((uint64_t)WARPS * SMK_WARP_SIZE));
}

void smk_happens_before_land(smk_happens_before *order, uint64_t barrier)
{
    smk_happens_before_word *word = find_word(&order->words, barrier);
    const uint32_t lane = stand_in_of(barrier);
    if (word == NULL) {
        word = make_word(order, &order->words, barrier);
        if (word == NULL) {
            return;
        }
        word->block = order->block;
        word->block_scope = true;
    }
    smk_clock_raise_lane(space_of(order), &word->device_clock, order->copies_first + order->block, lane / SMK_WARP_SIZE,
                         lane % SMK_WARP_SIZE, order->now);
}

bool smk_happens_before_is_landed(const smk_happens_before *order, uint64_t barrier, uint32_t time, uint32_t warp,
                                  uint32_t lane)
{
    const uint32_t other = stand_in_of(barrier);
    return order->lane != NULL &&
           smk_happens_before_by_clock(order, order->copies_first + order->block, other / SMK_WARP_SIZE,
                                       other % SMK_WARP_SIZE, time, warp, lane);
}

bool smk_happens_before_by_clock(const smk_happens_before *order, uint32_t block, uint32_t other_warp,
                                 uint32_t other_lane, uint32_t time, uint32_t warp, uint32_t lane)
{
    const smk_clock_space *space = order->launch == NULL ? &order->space : &order->launch->space;
    return (order->touched >> warp & 1) != 0 &&
           smk_clock_covers(space, order->lane[warp][lane].clock, block, other_warp, other_lane, time);
}
