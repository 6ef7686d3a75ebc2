#include "sim/cost/async_cost.h"

#include "sim/code/bits.h"
#include "sim/cost/sector.h"

#include <stddef.h>

enum { LINE_BYTES = 128, PIECE_BYTES = 16, LINE_PIECES = 8 };

/* Through the cache -------------------------------------------------------------------------------- */

/* The largest number of lanes of a phase, itself included, that conflict with one lane. */
static uint32_t count_phase(const uint64_t *from, const uint64_t *to, unsigned bytes, uint32_t phase, uint32_t reads)
{
    uint32_t reading[SMK_WARP_SIZE] = {0}, writing[SMK_WARP_SIZE] = {0}, most = 0; /* lanes by bank */
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
        const uint32_t conflicting = smk_bits_count(beside | writing[to[lane] / bytes % banks]);
        most = conflicting > most ? conflicting : most;
    }
    return most;
}

static smk_bank_cost count_cached(const uint64_t *from, const uint64_t *to, unsigned bytes, uint32_t mask,
                                  uint32_t reads)
{
    const unsigned lanes = LINE_BYTES / bytes;
    smk_bank_cost cost = {0};
    for (unsigned first = 0; first < SMK_WARP_SIZE; first += lanes) {
        const uint32_t phase = (uint32_t)(((UINT64_C(1) << lanes) - 1) << first) & mask;
        cost.wavefronts += count_phase(from, to, bytes, phase, reads);
        cost.ideal += phase != 0;
    }
    cost.conflicts = cost.wavefronts - cost.ideal;
    return cost;
}

/* Past the cache ----------------------------------------------------------------------------------- */

/* 16 bytes that move from half of a sector to half of a sector. */
typedef struct piece {
    uint64_t from, to; /* numbers of 16 bytes */
    uint8_t round;
    uint8_t halves; /* halves of its target sector, one bit each, that its round fills from its source sector */
} piece;

static bool is_exchanged(const piece *p)
{
    return ((p->from ^ p->to) & 1) != 0;
}

/* Do both pieces move between the same lines, and both exchange halves or neither? */
static bool go_alike(const piece *a, const piece *b)
{
    return a->from / LINE_PIECES == b->from / LINE_PIECES && a->to / LINE_PIECES == b->to / LINE_PIECES &&
           is_exchanged(a) == is_exchanged(b);
}

/* Do both pieces move between the same sectors? */
static bool move_together(const piece *a, const piece *b)
{
    return a->from / 2 == b->from / 2 && a->to / 2 == b->to / 2 && is_exchanged(a) == is_exchanged(b);
}

static unsigned list_pieces(const uint64_t *from, const uint64_t *to, uint32_t reads, piece pieces[SMK_WARP_SIZE])
{
    unsigned count = 0;
    for (; reads != 0; reads &= reads - 1) {
        const unsigned lane = smk_bits_first(reads);
        const piece made = {from[lane] / PIECE_BYTES, to[lane] / PIECE_BYTES, 0, 0};
        bool taken = false;
        for (unsigned i = 0; i < count && !taken; i++) {
            taken = pieces[i].to == made.to;
        }
        if (!taken) {
            pieces[count++] = made;
        }
    }
    return count;
}

/* From the last piece to the first. */
static void find_rounds(piece *pieces, unsigned count)
{
    for (unsigned i = count; i-- > 0;) {
        piece *const now = &pieces[i];
        for (unsigned k = i + 1; k < count; k++) {
            now->round = (uint8_t)(now->round + (pieces[k].from == now->from && go_alike(now, &pieces[k])));
        }
    }
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < count; k++) {
            if (pieces[k].round == pieces[i].round && move_together(&pieces[i], &pieces[k])) {
                pieces[i].halves |= (uint8_t)(1 << (pieces[k].to & 1));
            }
        }
    }
}

static uint32_t count_sectors(const piece *pieces, unsigned count)
{
    uint32_t sectors = 0;
    for (unsigned i = 0; i < count; i++) {
        bool joins = false;
        for (unsigned k = 0; k < i && !joins; k++) {
            joins = move_together(&pieces[i], &pieces[k]);
        }
        sectors += !joins;
    }
    return sectors;
}

static uint32_t count_waves(const piece *pieces, unsigned count)
{
    uint32_t waves = 0;
    for (unsigned i = 0; i < count; i++) {
        const piece *const now = &pieces[i];
        bool joins = false;
        for (unsigned k = 0; k < i && !joins; k++) {
            const piece *const other = &pieces[k];
            const bool odd = ((now->from ^ now->to ^ other->from ^ other->to) & 2) != 0;
            joins = !odd && other->round == now->round && other->halves == now->halves && go_alike(now, other);
        }
        waves += !joins;
    }
    return waves;
}

static smk_async_cost count_bypass(const uint64_t *from, const uint64_t *to, uint32_t mask, uint32_t reads, bool zfill)
{
    piece pieces[SMK_WARP_SIZE];
    const unsigned count = list_pieces(from, to, reads, pieces);
    const bool again = zfill || reads != mask;
    const smk_bank_cost zeros = again ? count_cached(from, to, PIECE_BYTES, mask, reads) : (smk_bank_cost){0};
    find_rounds(pieces, count);
    const uint32_t waves = count_waves(pieces, count);
    smk_async_cost cost = {.shared = zeros, .sectors = count_sectors(pieces, count)};
    cost.shared.wavefronts += waves;
    cost.shared.ideal += waves;
    return cost;
}

smk_async_cost smk_async_cost_count(const uint64_t from[SMK_WARP_SIZE], const uint64_t to[SMK_WARP_SIZE],
                                    unsigned bytes, uint32_t mask, uint32_t reads, smk_async_way way)
{
    reads = from == NULL ? 0 : reads & mask;
    if (way != SMK_ASYNC_CACHED) {
        return count_bypass(from, to, mask, reads, way == SMK_ASYNC_BYPASS_ZFILL);
    }
    return (smk_async_cost){.shared = count_cached(from, to, bytes, mask, reads),
                            .sectors = from == NULL ? 0 : smk_sector_count(from, bytes, reads)};
}
