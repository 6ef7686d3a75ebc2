#include "sim/exec/cover_count.h"

#include "base/heap.h"
#include "sim/code/bits.h"
#include "sim/code/coverage.h"

static uint32_t count_lanes(uint32_t mask)
{
    return mask == UINT32_MAX ? SMK_WARP_SIZE : smk_bits_count(mask);
}

const smk_operation *smk_cover_count_run(smk_warp *warp, const smk_operation *op)
{
    uint64_t *counter = warp->control->counters + op->d;
    counter[0]++;
    counter[1] += count_lanes(warp->active);
    return op + 1;
}

const smk_operation *smk_cover_count_exit(smk_warp *warp, const smk_operation *op)
{
    uint64_t *counter = warp->control->counters + op->d;
    const uint32_t taken = smk_operation_mask(warp, op);
    counter[0] += taken != 0;
    counter[1] += count_lanes(taken);
    return op + 1;
}

const smk_operation *smk_cover_count_decision(smk_warp *warp, const smk_operation *op)
{
    uint64_t *counter = warp->control->counters + op->d;
    const uint32_t taken = smk_operation_mask(warp, op);
    if (taken == warp->active) {
        counter[0]++;
    } else if (taken == 0) {
        return op + 1;
    } else {
        counter[1]++;
    }
    counter[2] += count_lanes(taken);
    return op + 1;
}

const smk_operation *smk_cover_count_table(smk_warp *warp, const smk_operation *op)
{
    uint64_t *counter = warp->control->counters + op->d + SMK_COVERAGE_DECISION_COUNTERS;
    const uint32_t *row = SMK_ROW(uint32_t, warp, op->b);
    uint32_t left = smk_operation_mask(warp, op);
    while (left != 0) {
        const uint32_t index = row[smk_bits_first(left)];
        uint32_t same = 0;
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            same |= (uint32_t)(row[lane] == index) << lane;
        }
        same &= left;
        if (index < op->c) { /* else the branch itself fails */
            counter[SMK_COVERAGE_TARGET_COUNTERS * index]++;
            counter[SMK_COVERAGE_TARGET_COUNTERS * index + 1] += count_lanes(same);
        }
        left &= ~same;
    }
    return smk_cover_count_decision(warp, op);
}

void smk_cover_count_launch(const smk_image *image)
{
    if (image->entry_code->covered != NULL) {
        (void)atomic_fetch_add(&image->entry_code->covered->launches, 1);
    }
}

smk_status smk_cover_count_open(smk_block *block, smk_error *error)
{
    const uint32_t count = block->run->image->counter_count;
    if (count == 0) {
        return SMK_OK;
    }
    block->counters = smk_heap_allocate(count, sizeof *block->counters);
    if (block->counters == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to count coverage");
    }
    for (uint32_t i = 0; i < block->warp_count; i++) {
        block->control[i].counters = block->counters;
    }
    return SMK_OK;
}

void smk_cover_count_close(smk_block *block)
{
    if (block->counters == NULL) {
        return;
    }
    const smk_image *image = block->run->image;
    for (uint32_t i = 0; i < image->code_count; i++) {
        const smk_code *code = image->code[i];
        for (uint32_t k = 0; k < code->covered->counter_count; k++) {
            const uint64_t value = block->counters[code->first_counter + k];
            if (value != 0) {
                (void)atomic_fetch_add_explicit(&code->covered->counter[k], value, memory_order_relaxed);
            }
        }
    }
    smk_heap_free(block->counters);
    block->counters = NULL;
}
