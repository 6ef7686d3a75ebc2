#include "sim/exec/barrier.h"

#include "ptx/opcode.h"
#include "sim/code/bits.h"
#include "sim/code/observer.h"
#include "sim/exec/block.h"
#include "sim/exec/park.h"

#include <string.h>

enum { LOCATION_BYTES = 160 };

/* A barrier that not all live lanes have reached: the others cannot come before this path goes on, so the warp
 * fails. */
static const smk_operation *fail_divergent(smk_warp *warp, const smk_operation *op, uint32_t mask, uint32_t missing)
{
    char here[LOCATION_BYTES], there[LOCATION_BYTES];
    smk_warp_describe(warp, op, here, sizeof here);
    const smk_operation *other = smk_warp_waiting(warp, missing);
    if (other == NULL) {
        return smk_warp_fail(warp, op, mask, SMK_BARRIER,
                             "the barrier at %s is reached by lanes 0x%08x of warp %u, without its lanes 0x%08x", here,
                             mask, warp->control->index, missing);
    }
    smk_warp_describe(warp, other, there, sizeof there);
    return smk_warp_fail(warp, op, mask, SMK_BARRIER,
                         "the barrier at %s is reached by lanes 0x%08x of warp %u, while its lanes 0x%08x are on "
                         "another path and wait at %s",
                         here, mask, warp->control->index, missing, there);
}

/* Is the next instruction of a path the end of the kernel? */
static bool ends_kernel(const smk_warp *warp, const smk_operation *pc)
{
    const smk_function *function = &warp->control->block->run->image->module->functions[pc->function];
    if (pc->instruction >= function->instruction_count) {
        return true;
    }
    const smk_instruction *next = &function->instructions[pc->instruction];
    return (next->opcode == SMK_OPCODE_RET || next->opcode == SMK_OPCODE_EXIT) && !next->guarded;
}

/* Lanes that have left the last loop of a kernel wait at its end for the others. A GPU has them exit there, and a barrier
 * waits for no lane that has exited: so do these, of the lanes that a barrier misses. */
static void exit_lanes_at_the_end(smk_warp *warp, uint32_t missing)
{
    smk_warp_control *control = warp->control;
    for (uint32_t i = control->depth; i-- > 0 && control->frame_count == 0;) {
        const smk_simt_entry *entry = &control->simt_stack[i];
        const uint32_t found = missing & entry->mask;
        if (found != 0 && ends_kernel(warp, entry->pc)) {
            control->live &= ~found;
        }
        missing &= ~found;
    }
}

/* Reads an operand that must have one value in all lanes; false where it has several. */
static bool uniform_value(const smk_warp *warp, uint32_t offset, uint32_t mask, uint32_t *value)
{
    const uint32_t *row = SMK_ROW(uint32_t, warp, offset);
    uint32_t other = 0;
    if (mask == 0) {
        return false;
    }
    const uint32_t first = row[smk_bits_first(mask)];
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        other |= (row[lane] ^ first) & smk_bits_spread(mask, lane);
    }
    *value = first;
    return other == 0;
}

/* Records the arrival of a warp at a barrier, to wait or not; NULL where the warp has failed. */
static smk_barrier *arrive(smk_warp *warp, const smk_operation *op, uint32_t mask, bool waits)
{
    smk_warp_control *control = warp->control;
    uint32_t number = 0, threads = 0;
    if (mask != control->live) {
        exit_lanes_at_the_end(warp, control->live & ~mask);
    }
    if (mask != control->live) {
        (void)fail_divergent(warp, op, mask, control->live & ~mask);
        return NULL;
    }
    if (op->element == SMK_BARRIER_CLUSTER) {
        number = SMK_BLOCK_CLUSTER_BARRIER;
    } else if (!uniform_value(warp, op->a, mask, &number) || number >= SMK_BLOCK_CLUSTER_BARRIER) {
        (void)smk_warp_fail(warp, op, mask, SMK_BARRIER,
                            "the barrier's number is %u in lane 0; it must be the same in all lanes and below %d",
                            number, SMK_BLOCK_CLUSTER_BARRIER);
        return NULL;
    }
    if (op->u.immediate != 0 &&
        (!uniform_value(warp, op->b, mask, &threads) || threads == 0 || threads % SMK_WARP_SIZE != 0)) {
        (void)smk_warp_fail(warp, op, mask, SMK_BARRIER,
                            "the barrier's thread count %u is not a positive multiple of %d, the same in all lanes",
                            threads, SMK_WARP_SIZE);
        return NULL;
    }
    smk_block *block = control->block;
    smk_barrier *at = &block->barrier[number];
    if (threads > block->warp_count * SMK_WARP_SIZE) {
        (void)smk_warp_fail(warp, op, mask, SMK_BARRIER, "barrier %u waits for %u threads; the block has %u", number,
                            threads, block->warp_count * SMK_WARP_SIZE);
        return NULL;
    }
    if (at->arrivals != 0 && at->expected != threads) {
        (void)smk_warp_fail(warp, op, mask, SMK_BARRIER,
                            "barrier %u is used with %u threads while others wait at it with %u (0: all of the block)",
                            number, threads, at->expected);
        return NULL;
    }
    at->expected = threads;
    at->arrivals++;
    control->barrier = number;
    const smk_observer *observer = block->run->observer;
    if (observer != NULL && (observer->wants & SMK_OBSERVE_SYNCHRONIZATION) != 0) {
        observer->arrive(block->observer_state, warp, op, number, waits);
    }
    return at;
}

/* Do lanes that have stepped aside, or that run apart since, come to the barrier later? */
static bool must_park(const smk_warp *warp, uint32_t mask)
{
    return mask != warp->control->live && warp->control->apart;
}

static const smk_operation *run_arrive(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    if (must_park(warp, mask)) {
        return smk_park_at_barrier(warp, op, mask);
    }
    if (arrive(warp, op, mask, false) == NULL) {
        return NULL;
    }
    smk_block_release(warp->control->block, warp->control->barrier);
    return op + 1;
}

/* Waits. The last warp to arrive releases the others and takes its turn like them, so that all warps come to the next
 * barrier in the same order. */
static const smk_operation *wait(smk_warp *warp, const smk_operation *op, uint32_t mask, uint32_t trues)
{
    smk_warp_control *control = warp->control;
    smk_barrier *at = arrive(warp, op, mask, true);
    if (at == NULL) {
        return NULL;
    }
    smk_warp_count(control, op, op + 1);
    control->pc = op;
    control->state = SMK_WARP_BARRIER;
    control->block->ready &= ~(UINT32_C(1) << control->index);
    at->waiting |= UINT32_C(1) << control->index;
    at->trues += trues;
    at->voters += smk_bits_count(mask);
    smk_block_release(control->block, control->barrier);
    return NULL;
}

static const smk_operation *run_wait(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    if (must_park(warp, mask)) {
        return smk_park_at_barrier(warp, op, mask);
    }
    uint32_t predicate = op->element < SMK_BARRIER_POPC ? 0 : *SMK_ROW(uint32_t, warp, op->c) ^ op->slot;
    return wait(warp, op, mask, smk_bits_count(predicate & mask));
}

void smk_barrier_deliver(smk_warp *warp, uint32_t trues, uint32_t voters)
{
    smk_warp_control *control = warp->control;
    const smk_operation *op = control->pc;
    uint32_t mask = smk_operation_mask(warp, op);
    if (op->element == SMK_BARRIER_POPC) {
        uint32_t *row = SMK_ROW(uint32_t, warp, op->d);
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            row[lane] = (mask >> lane & 1) != 0 ? trues : row[lane];
        }
    } else if (op->element > SMK_BARRIER_POPC) {
        bool result = op->element == SMK_BARRIER_AND ? trues == voters : trues != 0;
        uint32_t *row = SMK_ROW(uint32_t, warp, op->d);
        *row = result ? *row | mask : *row & ~mask;
    }
    control->pc = op + 1;
    control->state = SMK_WARP_READY;
}

/* Reports each set of synchronised lanes to the observer. */
static void notify_observer(const smk_warp *warp, const smk_operation *op, uint32_t active, const uint32_t *masks)
{
    const smk_block *block = warp->control->block;
    const smk_observer *observer = block->run->observer;
    if (observer == NULL || (observer->wants & SMK_OBSERVE_SYNCHRONIZATION) == 0) {
        return;
    }
    while (active != 0) {
        uint32_t together = masks[smk_bits_first(active)] & active;
        observer->warp_sync(block->observer_state, warp, op, together);
        active &= ~together;
    }
}

/* bar.warp.sync: goes on where all lanes of each mask are here or have exited; else the lanes wait (park.h). */
static const smk_operation *run_warp_sync(smk_warp *warp, const smk_operation *op)
{
    uint32_t active = smk_operation_mask(warp, op), elsewhere = warp->control->live & ~active, wrong = 0;
    const uint32_t *masks = SMK_ROW(uint32_t, warp, op->a);
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        const uint32_t missing = (masks[lane] & elsewhere) | (~masks[lane] & smk_bits_lane[lane]);
        wrong |= missing & smk_bits_spread(active, lane);
    }
    if (wrong != 0) {
        return smk_park_lanes(warp, op, active, masks);
    }
    notify_observer(warp, op, active, masks);
    return op + 1;
}

smk_handler smk_barrier_find(const smk_instruction *instruction)
{
    if (smk_module_has(instruction, SMK_MODIFIER_WARP)) {
        return run_warp_sync;
    }
    if (smk_module_has(instruction, SMK_MODIFIER_ARRIVE)) {
        return run_arrive;
    }
    return run_wait;
}

smk_barrier_kind smk_barrier_kind_of(const smk_instruction *instruction)
{
    if (smk_module_has(instruction, SMK_MODIFIER_CLUSTER)) {
        return SMK_BARRIER_CLUSTER;
    }
    if (!smk_module_has(instruction, SMK_MODIFIER_RED)) {
        return SMK_BARRIER_PLAIN;
    }
    if (smk_module_has(instruction, SMK_MODIFIER_POPC)) {
        return SMK_BARRIER_POPC;
    }
    return smk_module_has(instruction, SMK_MODIFIER_AND) ? SMK_BARRIER_AND : SMK_BARRIER_OR;
}
