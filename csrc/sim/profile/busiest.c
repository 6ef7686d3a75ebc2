#include "sim/profile/busiest.h"

#include "base/heap.h"

#include <string.h>

bool smk_busiest_open(smk_busiest *busiest, const uint32_t *length, uint32_t ids, uint32_t warps)
{
    *busiest = (smk_busiest){.length = length, .ids = ids, .warps = warps};
    busiest->open = smk_heap_allocate((size_t)ids * warps, sizeof *busiest->open);
    busiest->work = smk_heap_allocate(warps, sizeof *busiest->work);
    busiest->most.runs = smk_heap_allocate(ids, sizeof *busiest->most.runs);
    return busiest->open != NULL && busiest->work != NULL && busiest->most.runs != NULL;
}

void smk_busiest_close(smk_busiest *busiest)
{
    smk_heap_free(busiest->open);
    smk_heap_free(busiest->work);
    smk_heap_free(busiest->most.runs);
    *busiest = (smk_busiest){0};
}

static bool is_busier(const smk_busiest_warp *most, uint64_t instructions, uint64_t block)
{
    return instructions > most->instructions || (instructions == most->instructions && block < most->block);
}

static void finish_block(smk_busiest *busiest)
{
    uint64_t together = 0;
    uint32_t first = 0;
    if (!busiest->begun) {
        return;
    }
    for (uint32_t i = 0; i < busiest->warps; i++) {
        together += busiest->work[i];
        first = busiest->work[i] > busiest->work[first] ? i : first;
    }
    smk_busiest_warp *most = &busiest->most;
    if (is_busier(most, busiest->work[first], busiest->block)) {
        most->block = busiest->block;
        most->warp = first;
        most->instructions = busiest->work[first];
        memcpy(most->runs, busiest->open + (size_t)first * busiest->ids, busiest->ids * sizeof *most->runs);
    }
    most->block_most = together > most->block_most ? together : most->block_most;
}

void smk_busiest_begin(smk_busiest *busiest, uint64_t block)
{
    finish_block(busiest);
    for (uint32_t i = 0; i < busiest->warps; i++) {
        if (busiest->work[i] > 0) {
            memset(busiest->open + (size_t)i * busiest->ids, 0, busiest->ids * sizeof *busiest->open);
            busiest->work[i] = 0;
        }
    }
    busiest->block = block;
    busiest->begun = true;
}

void smk_busiest_collect(smk_busiest *busiest, smk_busiest_warp *most)
{
    finish_block(busiest);
    busiest->begun = false;
    uint64_t together = most->block_most;
    together = busiest->most.block_most > together ? busiest->most.block_most : together;
    if (busiest->most.runs != NULL &&
        (most->runs == NULL || is_busier(most, busiest->most.instructions, busiest->most.block))) {
        smk_heap_free(most->runs);
        *most = busiest->most;
        busiest->most.runs = NULL;
    }
    most->block_most = together;
}
