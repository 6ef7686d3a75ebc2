#include "copy.h"

#include "bits.h"

enum { LANES = 32, LINE_BYTES = 128, SECTOR_BYTES = 32 };

/* Lanes of a phase that go at once, in order. */
static uint32_t take_turn(const uint64_t *from, const uint64_t *to, unsigned bytes, uint32_t phase, uint32_t reads)
{
    const unsigned groups = LINE_BYTES / bytes;
    uint32_t read = 0, written = 0, done = 0;
    for (; phase != 0; phase &= phase - 1) {
        const unsigned lane = smk_bits_first(phase);
        const uint32_t self = UINT32_C(1) << lane, target = UINT32_C(1) << (to[lane] / bytes % groups);
        const uint32_t source = (reads & self) != 0 ? UINT32_C(1) << (from[lane] / bytes % groups) : 0;
        done |= (read & source) == 0 && (written & target) == 0 ? self : 0;
        read |= source;
        written |= target;
    }
    return done;
}

static smk_bank_cost count_cached(const uint64_t *from, const uint64_t *to, unsigned bytes, uint32_t mask,
                                  uint32_t reads)
{
    const unsigned lanes = LINE_BYTES / bytes;
    smk_bank_cost cost = {0};
    for (unsigned first = 0; first < LANES; first += lanes) {
        uint32_t phase = (uint32_t)(((UINT64_C(1) << lanes) - 1) << first) & mask;
        cost.ideal += phase != 0;
        for (; phase != 0; phase &= ~take_turn(from, to, bytes, phase, reads)) {
            cost.wavefronts++;
        }
    }
    cost.conflicts = cost.wavefronts - cost.ideal;
    return cost;
}

/* A sector that moves into a sector. */
typedef struct move {
    uint64_t from, to; /* numbers of sectors */
} move;

static unsigned list_moves(const uint64_t *from, const uint64_t *to, uint32_t mask, move *moves)
{
    unsigned count = 0;
    for (; mask != 0; mask &= mask - 1) {
        const unsigned lane = smk_bits_first(mask);
        const move made = {from[lane] / SECTOR_BYTES, to[lane] / SECTOR_BYTES};
        unsigned i = 0;
        while (i < count && (moves[i].from != made.from || moves[i].to != made.to)) {
            i++;
        }
        if (i == count) {
            moves[count++] = made;
        }
    }
    return count;
}

/* Of one line into one line, each sector once at a time on either side. */
static uint32_t count_bypass(const uint64_t *from, const uint64_t *to, uint32_t mask)
{
    const uint64_t sectors = LINE_BYTES / SECTOR_BYTES;
    move moves[LANES];
    const unsigned count = list_moves(from, to, mask, moves);
    uint32_t sum = 0, seen = 0;
    for (unsigned i = 0; i < count; i++) {
        uint8_t out[LINE_BYTES / SECTOR_BYTES] = {0}, in[LINE_BYTES / SECTOR_BYTES] = {0};
        uint32_t most = 0;
        for (unsigned k = i; k < count && (seen >> i & 1) == 0; k++) {
            if (moves[k].from / sectors == moves[i].from / sectors && moves[k].to / sectors == moves[i].to / sectors) {
                const uint8_t left = ++out[moves[k].from % sectors], right = ++in[moves[k].to % sectors];
                most = left > most ? left : most;
                most = right > most ? right : most;
                seen |= k > i ? UINT32_C(1) << k : 0;
            }
        }
        sum += most;
    }
    return sum;
}

smk_bank_cost smk_copy_count(const uint64_t from[32], const uint64_t to[32], unsigned bytes, uint32_t mask,
                             uint32_t reads, bool bypass)
{
    reads &= mask;
    if (!bypass) {
        return count_cached(from, to, bytes, mask, reads);
    }
    smk_bank_cost cost = smk_bank_count(to, bytes, mask & ~reads, SMK_BANK_ASYNC);
    cost.wavefronts += count_bypass(from, to, reads);
    cost.ideal = cost.wavefronts;
    cost.conflicts = 0;
    return cost;
}
