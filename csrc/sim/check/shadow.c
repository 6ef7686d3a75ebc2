#include "sim/check/shadow.h"

#include "base/heap.h"
#include "sim/code/bits.h"

#include <string.h>

enum { CHUNK_THINGS = 256, SLOTS_MIN = 1024 };

/* Pools ------------------------------------------------------------------------------------------ */

void *smk_shadow_pool_get(const smk_shadow_pool *pool, uint32_t i)
{
    return i >= pool->used ? NULL : pool->chunk[i / CHUNK_THINGS] + (size_t)(i % CHUNK_THINGS) * pool->bytes;
}

void *smk_shadow_pool_take(smk_shadow_pool *pool, bool *fresh)
{
    uint32_t at = pool->used / CHUNK_THINGS;
    *fresh = false;
    if (at == pool->chunk_count) {
        if (at == pool->chunk_capacity) {
            size_t each = sizeof *pool->chunk;
            uint32_t capacity = at == 0 ? 16 : 2 * at;
            unsigned char **grown = smk_heap_resize(pool->chunk, at * each, capacity * each);
            if (grown == NULL) {
                return NULL;
            }
            pool->chunk = grown;
            pool->chunk_capacity = capacity;
        }
        pool->chunk[at] = smk_heap_allocate(CHUNK_THINGS, pool->bytes);
        if (pool->chunk[at] == NULL) {
            return NULL;
        }
        pool->chunk_count++;
        *fresh = true;
    }
    pool->used++;
    return smk_shadow_pool_get(pool, pool->used - 1);
}

void smk_shadow_pool_free(smk_shadow_pool *pool)
{
    for (uint32_t i = 0; i < pool->chunk_count; i++) {
        smk_heap_free(pool->chunk[i]);
    }
    smk_heap_free(pool->chunk);
    pool->chunk = NULL;
    pool->chunk_count = pool->chunk_capacity = pool->used = 0;
}

/* Lines ------------------------------------------------------------------------------------------ */

smk_status smk_shadow_create(smk_shadow *shadow, unsigned shift, uint64_t direct_bytes, smk_error *error)
{
    uint64_t line_bytes = (uint64_t)SMK_SHADOW_CELLS << shift;
    *shadow = (smk_shadow){.shift = shift, .use = 1};
    shadow->lines.bytes = sizeof(smk_shadow_line);
    shadow->rows.bytes = sizeof(smk_shadow_row);
    shadow->batches.bytes = sizeof(smk_shadow_batches);
    if (direct_bytes > 0) {
        shadow->direct_count = (uint32_t)((direct_bytes + line_bytes - 1) / line_bytes);
        shadow->direct = smk_heap_allocate(shadow->direct_count, sizeof *shadow->direct);
    } else {
        shadow->slot_count = SLOTS_MIN;
        shadow->slot = smk_heap_allocate(SLOTS_MIN, sizeof *shadow->slot);
        shadow->slot_use = smk_heap_allocate(SLOTS_MIN, sizeof *shadow->slot_use);
    }
    if (shadow->direct == NULL && (shadow->slot == NULL || shadow->slot_use == NULL)) {
        smk_shadow_free(shadow);
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    return SMK_OK;
}

void smk_shadow_free(smk_shadow *shadow)
{
    smk_heap_free(shadow->direct);
    smk_heap_free(shadow->slot);
    smk_heap_free(shadow->slot_use);
    smk_shadow_pool_free(&shadow->lines);
    smk_shadow_pool_free(&shadow->rows);
    smk_shadow_pool_free(&shadow->batches);
    shadow->direct = NULL;
    shadow->slot = NULL;
    shadow->slot_use = NULL;
}

void smk_shadow_begin(smk_shadow *shadow)
{
    shadow->last = NULL;
    if (shadow->direct != NULL) {
        return;
    }
    shadow->lines.used = shadow->rows.used = shadow->batches.used = 0;
    if (++shadow->use == 0) {
        memset(shadow->slot_use, 0, shadow->slot_count * sizeof *shadow->slot_use);
        shadow->use = 1;
    }
}

static uint32_t hash(const smk_shadow *shadow, uint64_t number)
{
    return (uint32_t)((number * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (shadow->slot_count - 1);
}

/* Doubles the hash table and inserts the lines of this block. */
static bool grow(smk_shadow *shadow)
{
    uint32_t count = 2 * shadow->slot_count;
    smk_shadow_line **slot = smk_heap_allocate(count, sizeof *slot);
    uint32_t *use = smk_heap_allocate(count, sizeof *use);
    if (slot == NULL || use == NULL) {
        smk_heap_free(slot);
        smk_heap_free(use);
        return false;
    }
    smk_heap_free(shadow->slot);
    smk_heap_free(shadow->slot_use);
    shadow->slot = slot;
    shadow->slot_use = use;
    shadow->slot_count = count;
    shadow->use = 1;
    for (uint32_t i = 0; i < shadow->lines.used; i++) {
        smk_shadow_line *line = smk_shadow_pool_get(&shadow->lines, i);
        uint32_t at = hash(shadow, line->number);
        while (use[at] != 0) {
            at = (at + 1) & (count - 1);
        }
        use[at] = 1;
        slot[at] = line;
    }
    return true;
}

static smk_shadow_line *look_up(smk_shadow *shadow, uint64_t number)
{
    uint32_t at = hash(shadow, number);
    bool fresh;
    while (shadow->slot_use[at] == shadow->use) {
        if (shadow->slot[at]->number == number) {
            return shadow->slot[at];
        }
        at = (at + 1) & (shadow->slot_count - 1);
    }
    if (shadow->lines.used >= shadow->slot_count / 2) {
        if (!grow(shadow)) {
            return NULL;
        }
        return look_up(shadow, number);
    }
    smk_shadow_line *line = smk_shadow_pool_take(&shadow->lines, &fresh);
    if (line == NULL) {
        return NULL;
    }
    memset(line->loads, 0, sizeof line->loads);
    memset(line->atomics, 0, sizeof line->atomics);
    line->loaders = line->changers = line->batch_loaders = 0;
    line->batches = NULL;
    line->varied = 0;
    line->latest_kept = line->written = line->written_since = line->latest_write = line->latest_atomic =
        line->latest_read = 0;
    line->number = number;
    shadow->slot[at] = line;
    shadow->slot_use[at] = shadow->use;
    return line;
}

smk_shadow_line *smk_shadow_find(smk_shadow *shadow, uint64_t number)
{
    if (shadow->direct != NULL) {
        return number < shadow->direct_count ? &shadow->direct[number] : NULL;
    }
    if (shadow->last != NULL && shadow->last->number == number) {
        return shadow->last;
    }
    smk_shadow_line *line = look_up(shadow, number);
    shadow->failed = shadow->failed || line == NULL;
    shadow->last = line;
    return line;
}

smk_shadow_row *smk_shadow_row_of(smk_shadow *shadow, smk_shadow_row **row)
{
    bool fresh;
    if (*row == NULL) {
        smk_shadow_row *made = smk_shadow_pool_take(&shadow->rows, &fresh);
        shadow->failed = shadow->failed || made == NULL;
        if (made != NULL) { /* the times of its cells are older than the block */
            made->latest = 0;
            made->more = NULL;
        }
        *row = made;
    }
    return *row;
}

/* A loop that selects among all cells has a constant trip count and vectorises. */
SMK_CLONES static void spread(smk_shadow_row *row, const smk_shadow_batch *batch)
{
    uint32_t bits = batch->shape.mirrored ? 0x10001U : 1U, time = batch->time, instruction_id = batch->instruction_id,
             step = batch->shape.step;
    int32_t from = batch->shape.from, to = batch->shape.to, skew = batch->shape.skew;
    for (int32_t k = 0; k < SMK_SHADOW_CELLS; k++) {
        bool in = k >= from && k < to;
        uint32_t lane = (uint32_t)(k + skew) >> step & 31;
        row->lanes[k] = in ? bits << lane : row->lanes[k];
        row->time[k] = in ? time : row->time[k];
        row->instruction_id[k] = in ? instruction_id : row->instruction_id[k];
    }
}

smk_shadow_batches *smk_shadow_batches_of(smk_shadow *shadow, smk_shadow_line *line, uint32_t warp)
{
    bool fresh;
    if (line->batches == NULL) {
        line->batches = smk_shadow_pool_take(&shadow->batches, &fresh);
        shadow->failed = shadow->failed || line->batches == NULL;
    }
    if (line->batches != NULL && (line->batch_loaders >> warp & 1) == 0) {
        line->batch_loaders |= UINT32_C(1) << warp;
        for (unsigned i = 0; i < SMK_SHADOW_BATCHES; i++) {
            line->batches->batch[i][warp].time = 0;
        }
    }
    return line->batches;
}

void smk_shadow_spread(smk_shadow *shadow, smk_shadow_line *line, uint32_t warp)
{
    for (unsigned i = 0; i < SMK_SHADOW_BATCHES; i++) {
        smk_shadow_batch *batch = &line->batches->batch[i][warp];
        smk_shadow_row *row = batch->time == 0 ? NULL : smk_shadow_row_of(shadow, &line->loads[warp]);
        if (row != NULL) {
            line->loaders |= UINT32_C(1) << warp;
            spread(row, batch);
            row->latest = row->latest > batch->time ? row->latest : batch->time;
        }
        batch->time = 0;
    }
    line->batch_loaders &= ~(UINT32_C(1) << warp);
}

smk_shadow_line *smk_shadow_get(const smk_shadow *shadow, uint32_t i)
{
    return smk_shadow_pool_get(&shadow->lines, i);
}
