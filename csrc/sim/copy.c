#include "copy.h"

#include "bits.h"
#include "sector.h"

#include <stddef.h>

enum { LANES = 32, LINE_BYTES = 128, LINE_SECTORS = 4, SECTOR_BYTES = 32, HALF_BYTES = 16 };

/* Through the cache -------------------------------------------------------------------------------- */

/* The most lanes of a phase that are in one lane's way, itself among them. */
static uint32_t count_phase(const uint64_t *from, const uint64_t *to, unsigned bytes, uint32_t phase, uint32_t reads)
{
    uint32_t reading[LANES] = {0}, writing[LANES] = {0}, most = 0; /* lanes by bank */
    const unsigned banks = LINE_BYTES / bytes;
    for (uint32_t left = phase; left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left);
        const uint32_t self = UINT32_C(1) << lane;
        writing[to[lane] / bytes % banks] |= self;
        if ((reads & self) != 0) {
            reading[from[lane] / bytes % banks] |= self;
        }
    }
    for (uint32_t left = phase; left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left);
        const uint32_t beside = (reads >> lane & 1) != 0 ? reading[from[lane] / bytes % banks] : 0;
        const uint32_t met = smk_bits_count(beside | writing[to[lane] / bytes % banks]);
        most = met > most ? met : most;
    }
    return most;
}

static smk_bank_cost count_cached(const uint64_t *from, const uint64_t *to, unsigned bytes, uint32_t mask,
                                  uint32_t reads)
{
    const unsigned lanes = LINE_BYTES / bytes;
    smk_bank_cost cost = {0};
    for (unsigned first = 0; first < LANES; first += lanes) {
        const uint32_t phase = (uint32_t)(((UINT64_C(1) << lanes) - 1) << first) & mask;
        cost.wavefronts += count_phase(from, to, bytes, phase, reads);
        cost.ideal += phase != 0;
    }
    cost.conflicts = cost.wavefronts - cost.ideal;
    return cost;
}

/* Past the cache ----------------------------------------------------------------------------------- */

/* A sector that moves into a sector. */
typedef struct move {
    uint64_t from, to; /* numbers of sectors */
    bool exchanged;    /* its halves */
    uint8_t halves;    /* of the target, one bit each, that are filled */
    uint8_t round;
} move;

static unsigned list_moves(const uint64_t *from, const uint64_t *to, uint32_t reads, move moves[LANES])
{
    unsigned count = 0;
    for (; reads != 0; reads &= reads - 1) {
        const unsigned lane = smk_bits_first(reads);
        const bool exchanged = ((from[lane] ^ to[lane]) / HALF_BYTES & 1) != 0;
        const uint8_t half = (uint8_t)(1 << (to[lane] / HALF_BYTES & 1));
        const move made = {from[lane] / SECTOR_BYTES, to[lane] / SECTOR_BYTES, exchanged, half, 0};
        unsigned same = LANES;
        bool taken = false;
        for (unsigned i = 0; i < count; i++) {
            taken |= moves[i].to == made.to && (moves[i].halves & half) != 0;
            same = moves[i].from == made.from && moves[i].to == made.to && moves[i].exchanged == exchanged ? i : same;
        }
        if (!taken && same == LANES) {
            moves[count++] = made;
        } else if (!taken) {
            moves[same].halves |= half;
        }
    }
    return count;
}

/* From one line into one line, with halves alike. */
static bool are_alike(const move *a, const move *b)
{
    return a->from / LINE_SECTORS == b->from / LINE_SECTORS && a->to / LINE_SECTORS == b->to / LINE_SECTORS &&
           a->exchanged == b->exchanged && a->halves == b->halves;
}

/* From the last move to the first. No two moves of a round that are alike meet in a target: one of them would not be there. */
static uint32_t count_waves(move *moves, unsigned count)
{
    uint32_t waves = 0;
    for (unsigned i = count; i-- > 0;) {
        move *const now = &moves[i];
        for (unsigned k = i + 1; k < count; k++) {
            if (moves[k].from == now->from && are_alike(now, &moves[k])) {
                now->round++;
            }
        }
        bool joins = false;
        for (unsigned k = i + 1; k < count && !joins; k++) {
            const bool odd = ((now->from ^ now->to ^ moves[k].from ^ moves[k].to) & 1) != 0;
            joins = !odd && moves[k].round == now->round && are_alike(now, &moves[k]);
        }
        waves += !joins;
    }
    return waves;
}

static smk_copy_cost count_bypass(const uint64_t *from, const uint64_t *to, uint32_t mask, uint32_t reads)
{
    move moves[LANES];
    const unsigned count = list_moves(from, to, reads, moves);
    const smk_bank_cost zeros = reads == mask ? (smk_bank_cost){0} : count_cached(from, to, HALF_BYTES, mask, reads);
    const uint32_t waves = count_waves(moves, count);
    smk_copy_cost cost = {.shared = zeros, .sectors = count};
    cost.shared.wavefronts += waves;
    cost.shared.ideal += waves;
    return cost;
}

smk_copy_cost smk_copy_count(const uint64_t from[32], const uint64_t to[32], unsigned bytes, uint32_t mask,
                             uint32_t reads, bool bypass)
{
    reads = from == NULL ? 0 : reads & mask;
    if (bypass) {
        return count_bypass(from, to, mask, reads);
    }
    return (smk_copy_cost){.shared = count_cached(from, to, bytes, mask, reads),
                           .sectors = from == NULL ? 0 : smk_sector_count(from, bytes, reads)};
}
