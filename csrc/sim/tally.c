#include "tally.h"

#include "bits.h"
#include "sector.h"

#include <string.h>

enum {
    LANES = 32,
    BANK_LOW = 3,
    SECTOR_LOW = 31,
    PART_BYTES_MAX = 16,
    GROUP_LANES = 8,
    WORDS_MAX = GROUP_LANES * 9 /* 32 bytes a lane, aligned or not */
};

static uint32_t count_lanes(uint32_t mask)
{
    return mask == UINT32_MAX ? LANES : smk_bits_count(mask);
}

/* Local memory ----------------------------------------------------------------------------------- */

/* Distinct words of eight neighbouring lanes: each is a sector of its own, for eight lanes' words of one index fill one. */
static uint32_t count_group_words(const uint64_t *address, unsigned bytes, uint32_t mask)
{
    uint64_t seen[WORDS_MAX];
    uint32_t count = 0;
    for (unsigned lane = 0; lane < GROUP_LANES; lane++) {
        if ((mask >> lane & 1) == 0) {
            continue;
        }
        for (uint64_t word = address[lane] / 4; word <= (address[lane] + bytes - 1) / 4; word++) {
            uint32_t i = 0;
            while (i < count && seen[i] != word) {
                i++;
            }
            if (i == count) {
                seen[count++] = word;
            }
        }
    }
    return count;
}

uint32_t smk_tally_local_sectors(const uint64_t address[32], unsigned bytes, uint32_t mask)
{
    uint32_t sectors = 0;
    for (unsigned group = 0; group < LANES; group += GROUP_LANES) {
        uint32_t part = mask >> group & 0xFF;
        sectors += part == 0 ? 0 : count_group_words(address + group, bytes, part);
    }
    return sectors;
}

/* One memory's part of an event -------------------------------------------------------------------- */

/* Do the addresses walk as the pattern does? The masks are the same. */
static bool is_same(const smk_tally_pattern *pattern, const uint64_t *address, uint64_t first, uint32_t mask)
{
    uint64_t differ = 0;
    if (mask == UINT32_MAX) {
        for (unsigned lane = 0; lane < LANES; lane++) {
            differ |= (address[lane] - first) ^ pattern->delta[lane];
        }
    } else {
        for (unsigned lane = 0; lane < LANES; lane++) {
            differ |= ((address[lane] - first) ^ pattern->delta[lane]) & pattern->select[lane];
        }
    }
    return differ == 0;
}

static void keep_pattern(smk_tally_pattern *pattern, const uint64_t *address, uint64_t first, uint32_t mask)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        pattern->delta[lane] = address[lane] - first;
        pattern->select[lane] = (mask >> lane & 1) != 0 ? UINT64_MAX : 0;
    }
}

/* The cost is the same for addresses that are moved as a whole, by words in shared memory (the banks go round), by sectors
 * in global memory, and by words in local memory. */
static void find_cost(smk_tally *tally, smk_tally_memory memory, smk_bank_op op, const uint64_t *address,
                      unsigned bytes, uint32_t mask)
{
    uint64_t first = address[smk_bits_first(mask)];
    uint32_t low = (uint32_t)first & (memory == SMK_TALLY_GLOBAL ? SECTOR_LOW : BANK_LOW);
    if (tally->last_mask == mask && tally->last_low == low && is_same(&tally->pattern, address, first, mask)) {
        return;
    }
    tally->last_mask = mask;
    tally->last_low = (uint8_t)low;
    tally->last_ideal = 0;
    keep_pattern(&tally->pattern, address, first, mask);
    unsigned part = bytes > PART_BYTES_MAX ? PART_BYTES_MAX : bytes; /* 32 aligned bytes are one sector, as 16 are */
    if (memory == SMK_TALLY_SHARED) {
        smk_bank_cost cost = smk_bank_count(address, part, mask, op);
        tally->last_cost = (uint16_t)cost.wavefronts;
        tally->last_ideal = (uint16_t)cost.ideal;
    } else if (memory == SMK_TALLY_GLOBAL) {
        tally->last_cost = (uint16_t)smk_sector_count(address, part, mask);
    } else {
        tally->last_cost = (uint16_t)smk_tally_local_sectors(address, bytes, mask);
    }
}

static void keep_sample(smk_tally_sample *sample, const smk_warp *warp, const uint64_t *address, unsigned bytes,
                        uint32_t mask)
{
    const smk_block *block = warp->control->block;
    sample->block_number = block->number;
    memcpy(sample->block, block->index, sizeof sample->block);
    sample->warp = warp->control->index;
    sample->mask = mask;
    sample->bytes = (uint8_t)bytes;
    for (unsigned lane = 0; lane < LANES; lane++) {
        sample->address[lane] = (mask >> lane & 1) != 0 ? address[lane] : 0;
    }
}

static uint64_t sum_used(const uint8_t *used, uint32_t mask)
{
    uint64_t sum = 0;
    for (; mask != 0; mask &= mask - 1) {
        sum += used[smk_bits_first(mask)];
    }
    return sum;
}

static void add(smk_tally *tally, smk_tally_memory memory, smk_bank_op op, const smk_warp *warp,
                const uint64_t *address, unsigned bytes, const uint8_t *used, uint32_t mask)
{
    find_cost(tally, memory, op, address, bytes, mask);
    tally->requests++;
    tally->cost += tally->last_cost;
    tally->ideal += tally->last_ideal;
    tally->bytes += used != NULL ? sum_used(used, mask) : (uint64_t)bytes * count_lanes(mask);
    if (tally->last_cost > tally->best) {
        tally->best = tally->last_cost;
        keep_sample(&tally->sample, warp, address, bytes, mask);
    }
}

/* Generic addresses: each lane's window says which memory it means. Constants lie in global memory; parameters are not
 * counted. */
static void add_generic(smk_tally *tallies, const smk_tally_access *access, const smk_warp *warp,
                        const smk_access_event *event, const uint64_t *given, unsigned bytes)
{
    uint32_t mask[SMK_TALLY_MEMORIES] = {0};
    uint64_t address[LANES] = {0};
    for (uint32_t left = event->mask; left != 0; left &= left - 1) {
        unsigned lane = smk_bits_first(left);
        address[lane] = given[lane];
        if (given[lane] < SMK_WINDOW_SHARED) {
            mask[SMK_TALLY_GLOBAL] |= UINT32_C(1) << lane;
        } else if (given[lane] - SMK_WINDOW_SHARED < SMK_WINDOW_BYTES) {
            address[lane] -= SMK_WINDOW_SHARED;
            mask[SMK_TALLY_SHARED] |= UINT32_C(1) << lane;
        } else if (given[lane] - SMK_WINDOW_LOCAL < SMK_WINDOW_BYTES) {
            address[lane] -= SMK_WINDOW_LOCAL;
            mask[SMK_TALLY_LOCAL] |= UINT32_C(1) << lane;
        }
    }
    for (unsigned memory = 0; memory < SMK_TALLY_MEMORIES; memory++) {
        if (mask[memory] != 0 && access->tally[memory] != SMK_NO_INDEX) {
            add(&tallies[access->tally[memory]], (smk_tally_memory)memory, (smk_bank_op)access->op, warp, address,
                bytes, event->used, mask[memory]);
        }
    }
}

void smk_tally_add(smk_tally *tallies, const smk_tally_access *access, const smk_warp *warp,
                   const smk_access_event *event)
{
    static const smk_tally_memory memories[] = {
        [SMK_SPACE_GLOBAL] = SMK_TALLY_GLOBAL,
        [SMK_SPACE_SHARED] = SMK_TALLY_SHARED,
        [SMK_SPACE_LOCAL] = SMK_TALLY_LOCAL,
    };
    unsigned bytes = access->bytes != 0 ? access->bytes : event->bytes;
    const uint64_t *address = event->address;
    uint64_t moved[LANES];
    if (access->shift != 0) {
        for (unsigned lane = 0; lane < LANES; lane++) {
            moved[lane] = address[lane] + (uint64_t)(int64_t)access->shift;
        }
        address = moved;
    }
    if (event->space == SMK_SPACE_GENERIC) {
        add_generic(tallies, access, warp, event, address, bytes);
    } else if (event->space <= SMK_SPACE_LOCAL) {
        smk_tally_memory memory = memories[event->space];
        if (access->tally[memory] != SMK_NO_INDEX) {
            add(&tallies[access->tally[memory]], memory, (smk_bank_op)access->op, warp, address, bytes, event->used,
                event->mask);
        }
    }
}

void smk_tally_merge(smk_tally *to, const smk_tally *from)
{
    to->requests += from->requests;
    to->cost += from->cost;
    to->ideal += from->ideal;
    to->bytes += from->bytes;
    /* no two host threads run the same block */
    if (from->best > to->best ||
        (from->best != 0 && from->best == to->best && from->sample.block_number < to->sample.block_number)) {
        to->best = from->best;
        to->sample = from->sample;
    }
}
