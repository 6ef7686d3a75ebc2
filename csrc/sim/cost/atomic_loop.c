#include "sim/cost/atomic_loop.h"

#include "sim/code/bits.h"

#include <stdbool.h>
#include <stddef.h>

enum { BANK_BYTES = 128, TURN_WAVEFRONTS = 2 /* as for a compare and swap */ };

/* Lanes whose value would not change the memory. */
static uint32_t find_idle(const smk_atomic_loop_values *values, uint32_t left)
{
    uint32_t idle = 0;
    for (; left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left);
        idle |= (uint32_t)(values->given[lane] <= values->held[lane]) << lane;
    }
    return idle;
}

static bool is_among(const uint64_t *address, uint32_t lanes, uint64_t wanted)
{
    for (; lanes != 0; lanes &= lanes - 1) {
        if (address[smk_bits_first(lanes)] == wanted) {
            return true;
        }
    }
    return false;
}

/* The lanes that succeed in one round. */
static uint32_t take_turn(const uint64_t *address, unsigned bytes, uint32_t left, smk_atomic_loop_cost *cost)
{
    const unsigned lanes = BANK_BYTES / bytes; /* lanes of a phase, and groups of banks */
    uint32_t done = 0;
    for (unsigned first = 0; first < SMK_WARP_SIZE; first += lanes) {
        uint32_t phase = (uint32_t)(((UINT64_C(1) << lanes) - 1) << first) & left, taken = 0;
        const uint32_t before = done;
        cost->wavefronts += phase != 0 ? TURN_WAVEFRONTS : 0;
        for (; phase != 0; phase &= phase - 1) {
            const unsigned lane = smk_bits_first(phase);
            const uint32_t bank = UINT32_C(1) << (address[lane] / bytes % lanes);
            if ((taken & bank) == 0 && !is_among(address, before, address[lane])) {
                done |= UINT32_C(1) << lane;
            }
            taken |= bank; /* also by a lane that fails */
        }
    }
    return done;
}

static void store(smk_atomic_loop_values *values, const uint64_t *address, uint32_t done)
{
    for (; done != 0; done &= done - 1) {
        const unsigned from = smk_bits_first(done);
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            values->held[lane] = address[lane] == address[from] ? values->given[from] : values->held[lane];
        }
    }
}

smk_atomic_loop_cost smk_atomic_loop_count(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask,
                                           smk_atomic_loop_values *values)
{
    smk_atomic_loop_cost cost = {0};
    while (mask != 0) {
        const smk_bank_cost load = smk_bank_count(address, bytes, mask, SMK_BANK_LOAD);
        cost.loads++;
        cost.load_lanes += smk_bits_count(mask);
        cost.load.wavefronts += load.wavefronts;
        cost.load.ideal += load.ideal;
        cost.load.conflicts += load.conflicts;
        mask &= values != NULL ? ~find_idle(values, mask) : UINT32_MAX;
        if (mask != 0) {
            const uint32_t done = take_turn(address, bytes, mask, &cost); /* at least the first lane */
            cost.atomics++;
            if (values != NULL) {
                store(values, address, done);
            }
            mask &= ~done;
        }
    }
    return cost;
}
