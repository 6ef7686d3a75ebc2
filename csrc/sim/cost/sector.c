#include "sim/cost/sector.h"

#include "sim/code/bits.h"

enum { SECTOR_SHIFT = 5, BITMAP_SECTORS = 64 };

/* The number of distinct sectors, by comparing all pairs; for addresses that are far apart. */
SMK_NEVER_INLINE uint32_t count_distinct(const uint64_t sector[SMK_WARP_SIZE], uint32_t mask)
{
    uint32_t distinct = 0;
    uint64_t kept[SMK_WARP_SIZE];
    for (; mask != 0; mask &= mask - 1) {
        const uint64_t own = sector[smk_bits_first(mask)];
        uint32_t same = 0;
        for (unsigned i = 0; i < distinct; i++) {
            same |= kept[i] == own;
        }
        kept[distinct] = own;
        distinct += same == 0;
    }
    return distinct;
}

/* 0 where the addresses of all lanes are consecutive, the most frequent pattern. */
static uint64_t is_broken(const uint64_t address[SMK_WARP_SIZE], unsigned bytes)
{
    uint64_t broken = 0;
    for (uint64_t i = 0; i < SMK_WARP_SIZE; i++) {
        broken |= address[i] - address[0] - i * bytes;
    }
    return broken;
}

/* The number of distinct sectors where they do not decrease from lane to lane, else 0. */
static uint32_t count_rising(const uint64_t address[SMK_WARP_SIZE], uint32_t mask)
{
    uint64_t last = address[smk_bits_first(mask)] >> SECTOR_SHIFT;
    uint32_t distinct = 1, falls = 0;
    for (mask &= mask - 1; mask != 0; mask &= mask - 1) {
        const uint64_t own = address[smk_bits_first(mask)] >> SECTOR_SHIFT;
        distinct += own != last;
        falls |= own < last;
        last = own;
    }
    return falls == 0 ? distinct : 0;
}

/* An access is aligned to its own size, which divides a sector: each lane touches one sector. Wide accesses go in
 * several phases, but a sector counts once for all of them (tests/sim/cost/banks_h200.json). */
uint32_t smk_sector_count(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask)
{
    uint64_t sector[SMK_WARP_SIZE], set = 0, outside = 0;
    if (mask == 0) {
        return 0;
    }
    if (mask == UINT32_MAX && is_broken(address, bytes) == 0) {
        return (uint32_t)((address[SMK_WARP_SIZE - 1] >> SECTOR_SHIFT) - (address[0] >> SECTOR_SHIFT)) + 1;
    }
    /* sectors near that of the first lane are bits of a map: 2 KB, half of it below */
    const uint64_t base = (address[smk_bits_first(mask)] >> SECTOR_SHIFT) - BITMAP_SECTORS / 2;
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        const uint64_t is_active = 0 - (uint64_t)(mask >> i & 1);
        sector[i] = address[i] >> SECTOR_SHIFT;
        const uint64_t bit_index = (sector[i] - base) & is_active;
        outside |= bit_index;
        set |= (UINT64_C(1) << (bit_index & (BITMAP_SECTORS - 1))) & is_active;
    }
    if (outside < BITMAP_SECTORS) {
        return smk_bits_count((uint32_t)set) + smk_bits_count((uint32_t)(set >> 32));
    }
    const uint32_t rising = count_rising(address, mask);
    return rising > 0 ? rising : count_distinct(sector, mask);
}
