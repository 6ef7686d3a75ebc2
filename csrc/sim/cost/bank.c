/* The rule of shared memory's banks.
 *
 * An access has one unit for each lane: a word, a pair of words for 8 bytes, a quad for 16. A unit occupies all banks
 * of one group (32 groups of one bank, 16 of two, 8 of four), so the cost depends only on the number of units in each
 * group. A phase has as many lanes as there are groups.
 */
#include "sim/cost/bank.h"

#include "sim/code/bits.h"
#include "sim/code/isa.h"
#include "sim/code/operation.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { BANKS = 32, QUARTER = 8, QUARTERS = 4, BANK_ROW_SHIFT = 7, NEAR_ROWS = 64 };

typedef struct phasing {
    unsigned shift;       /* byte address -> unit */
    unsigned groups;      /* of banks */
    unsigned phase_lanes; /* consecutive lanes of a phase */
    bool counts_lanes;    /* lanes on one unit do not share a wavefront */
} phasing;

/* A summary of all lanes, which decides most accesses. */
typedef struct sketch {
    uint32_t unit[SMK_WARP_SIZE];
    uint32_t used[QUARTERS]; /* groups that the active lanes of each eight use, one bit each */
    uint32_t differs;        /* 0: all active lanes access one unit */
    bool has_partners[2];    /* each active lane accesses the unit of lane ^ 1, of lane ^ 2, or those are inactive */
} sketch;

SMK_ALWAYS_INLINE void look(const uint64_t address[SMK_WARP_SIZE], const phasing *layout, uint32_t mask, sketch *out)
{
    uint32_t active[SMK_WARP_SIZE], bit[SMK_WARP_SIZE], differs = 0, apart1 = 0, apart2 = 0;
    const uint32_t first = (uint32_t)(address[smk_bits_first(mask)] >> layout->shift);
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        active[i] = 0 - (mask >> i & 1);
        out->unit[i] = (uint32_t)(address[i] >> layout->shift);
    }
    for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
        bit[i] = (UINT32_C(1) << (out->unit[i] & (layout->groups - 1))) & active[i];
        differs |= (out->unit[i] ^ first) & active[i];
    }
    for (unsigned k = 0; k < QUARTERS; k++) {
        uint32_t used = 0;
        for (unsigned i = 0; i < QUARTER; i++) {
            used |= bit[QUARTER * k + i];
        }
        out->used[k] = used;
    }
    if (layout->groups < BANKS) {
        for (unsigned i = 0; i < SMK_WARP_SIZE; i++) {
            apart1 |= (out->unit[i] ^ out->unit[i ^ 1]) & active[i] & active[i ^ 1];
            apart2 |= (out->unit[i] ^ out->unit[i ^ 2]) & active[i] & active[i ^ 2];
        }
    }
    out->differs = differs;
    out->has_partners[0] = apart1 == 0;
    out->has_partners[1] = apart2 == 0;
}

/* Are all addresses equal (0 in [0]), or consecutive (0 in [1])? Includes inactive lanes. */
SMK_ALWAYS_INLINE void compare(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint64_t out[2])
{
    const uint64_t first = address[0];
    uint64_t apart = 0, broken = 0;
    for (uint64_t i = 0; i < SMK_WARP_SIZE; i++) {
        apart |= address[i] ^ first;
        broken |= address[i] - first - i * bytes;
    }
    out[0] = apart;
    out[1] = broken;
}

/* One clone for each instruction set, by attribute: only these two loops profit. */
typedef struct clone {
    void (*compare)(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint64_t out[2]);
    void (*look)(const uint64_t address[SMK_WARP_SIZE], const phasing *layout, uint32_t mask, sketch *out);
} clone;

static void compare_baseline(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint64_t out[2])
{
    compare(address, bytes, out);
}

static void look_baseline(const uint64_t address[SMK_WARP_SIZE], const phasing *layout, uint32_t mask, sketch *out)
{
    look(address, layout, mask, out);
}

#if defined(__x86_64__) && defined(__GNUC__)
#define AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))

AVX2 static void compare_avx2(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint64_t out[2])
{
    compare(address, bytes, out);
}

AVX2 static void look_avx2(const uint64_t address[SMK_WARP_SIZE], const phasing *layout, uint32_t mask, sketch *out)
{
    look(address, layout, mask, out);
}
#else
#define compare_avx2 compare_baseline
#define look_avx2 look_baseline
#endif

/* AVX-512 is no faster here. */
static const clone clones[SMK_ISA_COUNT] = {
    [SMK_ISA_BASELINE] = {compare_baseline, look_baseline},
    [SMK_ISA_AVX2] = {compare_avx2, look_avx2},
    [SMK_ISA_AVX512] = {compare_avx2, look_avx2},
};

/* Asked once: a query of the processor takes longer than an access. */
static const clone *get_clone(void)
{
    static _Atomic(const clone *) chosen;
    const clone *found = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (found == NULL) {
        found = &clones[smk_isa_current()];
        atomic_store_explicit(&chosen, found, memory_order_relaxed);
    }
    return found;
}

static phasing get_layout(unsigned bytes, smk_bank_op op)
{
    unsigned shift = bytes == 16 ? 4 : bytes == 8 ? 3 : 2;
    unsigned groups = BANKS >> (shift - 2);
    bool counts_lanes = op == SMK_BANK_ATOMIC || op == SMK_BANK_CAS || op == SMK_BANK_ASYNC;
    return (phasing){shift, groups, groups, counts_lanes};
}

static uint32_t get_phase(const phasing *layout, unsigned first, uint32_t mask)
{
    return (uint32_t)(((UINT64_C(1) << layout->phase_lanes) - 1) << first) & mask;
}

/* The largest number of distinct units (or lanes) of a phase in one group. Units near the first one are bits of a map
 * for each group; others are kept in a list. */
static uint32_t count_groups(const sketch *seen, const phasing *layout, uint32_t phase, uint8_t count[BANKS])
{
    uint64_t near[BANKS] = {0};
    uint32_t far[BANKS][SMK_WARP_SIZE], most = 0;
    uint8_t far_count[BANKS] = {0};
    memset(count, 0, BANKS);
    if (phase == 0) {
        return 0;
    }
    const unsigned row_shift = BANK_ROW_SHIFT - layout->shift; /* a row of units occupies every bank once */
    const uint32_t base = (seen->unit[smk_bits_first(phase)] >> row_shift) - NEAR_ROWS / 2;
    for (; phase != 0; phase &= phase - 1) {
        const uint32_t unit = seen->unit[smk_bits_first(phase)], group = unit & (layout->groups - 1);
        const uint32_t bit_index = (unit >> row_shift) - base;
        uint32_t same = 0;
        if (layout->counts_lanes) {
            same = 0;
        } else if (bit_index < NEAR_ROWS) {
            same = (uint32_t)(near[group] >> bit_index & 1);
            near[group] |= UINT64_C(1) << bit_index;
        } else {
            for (uint32_t i = 0; i < far_count[group]; i++) {
                same |= far[group][i] == unit;
            }
            far[group][far_count[group]++] = unit;
        }
        count[group] = (uint8_t)(count[group] + (same == 0));
        most = count[group] > most ? count[group] : most;
    }
    return most;
}

/* Wavefronts of a phase that has an active lane. */
static uint32_t count_phase(const sketch *seen, const phasing *layout, unsigned first, uint32_t phase)
{
    uint8_t count[BANKS];
    uint32_t used = 0;
    if (seen->differs == 0) {
        return layout->counts_lanes ? smk_bits_count(phase) : 1;
    }
    for (unsigned k = first / QUARTER; k < (first + layout->phase_lanes) / QUARTER; k++) {
        used |= seen->used[k];
    }
    if (smk_bits_count(used) == smk_bits_count(phase)) {
        return 1; /* no two lanes in one group */
    }
    return count_groups(seen, layout, phase, count);
}

/* Adds what the phases of `mask` cost to *cost. */
static void add_phases(const sketch *seen, const phasing *layout, uint32_t mask, smk_bank_cost *cost)
{
    for (unsigned first = 0; first < SMK_WARP_SIZE; first += layout->phase_lanes) {
        const uint32_t phase = get_phase(layout, first, mask);
        if (phase != 0) {
            const uint32_t wavefronts = count_phase(seen, layout, first, phase);
            cost->wavefronts += wavefronts;
            cost->conflicts += wavefronts - 1;
            cost->ideal++;
        }
    }
}

/* A load of 8 or 16 bytes whose lanes share their units in pairs has half as many phases. */
static bool is_shared_in_pairs(const sketch *seen, const phasing *layout, smk_bank_op op)
{
    return op == SMK_BANK_LOAD && layout->groups < BANKS && (seen->has_partners[0] || seen->has_partners[1]);
}

const char *smk_bank_name(smk_bank_op op)
{
    static const char *const names[SMK_BANK_OP_COUNT] = {
        [SMK_BANK_LOAD] = "load",     [SMK_BANK_STORE] = "store", [SMK_BANK_ATOMIC] = "atomic",
        [SMK_BANK_ASYNC] = "async",   [SMK_BANK_CAS] = "cas",     [SMK_BANK_INCREMENT] = "increment",
        [SMK_BANK_MATRIX] = "matrix",
    };
    return names[op];
}

smk_bank_op smk_bank_kind(smk_bank_op op)
{
    const bool is_atomic = op == SMK_BANK_CAS || op == SMK_BANK_INCREMENT;
    return is_atomic ? SMK_BANK_ATOMIC : op == SMK_BANK_MATRIX ? SMK_BANK_LOAD : op;
}

smk_bank_cost smk_bank_count(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask, smk_bank_op op)
{
    smk_bank_cost cost = {0};
    phasing layout = get_layout(bytes, op);
    const uint32_t phases = SMK_WARP_SIZE / layout.phase_lanes;
    const clone *run = get_clone();
    uint64_t differs[2];
    sketch seen;
    if (mask == 0) {
        return cost;
    }
    if (mask == UINT32_MAX && !(layout.counts_lanes && bytes < 4)) {
        run->compare(address, bytes, differs);
        if (differs[1] == 0) { /* a row, the most frequent pattern */
            cost = (smk_bank_cost){phases, phases, 0};
        } else if (differs[0] == 0 && !layout.counts_lanes) {
            const uint32_t needed = op == SMK_BANK_LOAD && phases > 1 ? phases / 2 : phases;
            cost = (smk_bank_cost){needed, needed, 0};
        }
    }
    if (cost.ideal == 0) {
        run->look(address, &layout, mask, &seen);
        layout.phase_lanes *= is_shared_in_pairs(&seen, &layout, op) ? 2 : 1;
        add_phases(&seen, &layout, mask, &cost);
    }
    if (op == SMK_BANK_CAS) {
        cost.wavefronts *= 2; /* two operands a lane: the value to compare with and the value to write */
        cost.ideal *= 2;
    }
    return cost;
}

void smk_bank_words(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask, smk_bank_op op,
                    uint32_t words[32])
{
    phasing layout = get_layout(bytes, op);
    const unsigned wide = BANKS / layout.groups;
    sketch seen;
    memset(words, 0, BANKS * sizeof *words);
    if (mask == 0) {
        return;
    }
    get_clone()->look(address, &layout, mask, &seen);
    layout.phase_lanes *= is_shared_in_pairs(&seen, &layout, op) ? 2 : 1;
    for (unsigned first = 0; first < SMK_WARP_SIZE; first += layout.phase_lanes) {
        uint8_t count[BANKS];
        (void)count_groups(&seen, &layout, get_phase(&layout, first, mask), count);
        for (unsigned bank = 0; bank < BANKS; bank++) {
            const uint8_t own = count[bank / wide];
            words[bank] = own > words[bank] ? own : words[bank];
        }
    }
}
