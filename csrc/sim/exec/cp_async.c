#include "sim/exec/cp_async.h"

#include "base/heap.h"
#include "sim/code/observer.h"
#include "sim/exec/access.h"
#include "sim/exec/block.h"

#include <string.h>

enum { WORD_BYTES = 4 };

static bool get_bit(const unsigned char *bits, uint32_t at)
{
    return (bits[at / 8] >> at % 8 & 1) != 0;
}

/* Marks the copies whose words are all written by later copies, too. */
static void find_covered(smk_warp_control *control, unsigned char *words)
{
    for (uint32_t i = control->pending_count; i-- > 0;) {
        smk_pending_copy *copy = &control->pending[i];
        copy->covered = true;
        for (uint32_t word = copy->address / WORD_BYTES; word < (copy->address + copy->bytes) / WORD_BYTES; word++) {
            copy->covered = copy->covered && get_bit(words, word);
            words[word / 8] |= (unsigned char)(1U << word % 8);
        }
    }
}

/* Completes covered copies of a kernel that does not wait for its copies; hardware may have completed them earlier.
 * This bounds the number of pending copies by the number of words of shared memory. */
static bool complete_covered(smk_warp *warp, uint32_t words)
{
    smk_warp_control *control = warp->control;
    unsigned char *bits = smk_heap_allocate((size_t)words / 8 + 1, 1);
    uint32_t kept = 0;
    if (bits == NULL) {
        return false;
    }
    find_covered(control, bits);
    for (uint32_t i = 0; i < control->pending_count; i++) {
        const smk_pending_copy *copy = &control->pending[i];
        if (copy->covered) {
            memcpy(control->shared + copy->address, copy->data, copy->bytes);
        } else {
            control->pending[kept++] = *copy;
        }
    }
    control->pending_count = kept;
    smk_heap_free(bits);
    return true;
}

static bool grow(smk_warp_control *control, uint32_t capacity)
{
    smk_pending_copy *grown =
        smk_heap_resize(control->pending, control->pending_capacity * sizeof *grown, capacity * sizeof *grown);
    if (grown != NULL) {
        control->pending = grown;
        control->pending_capacity = capacity;
    }
    return grown != NULL;
}

/* Room for one more copy of each lane. The amortised cost of the search is constant. */
static bool reserve(smk_warp *warp, const smk_operation *op, uint32_t mask)
{
    smk_warp_control *control = warp->control;
    const uint32_t words = (uint32_t)(control->shared_bytes / WORD_BYTES), most = words + words / 4 + 2 * SMK_WARP_SIZE;
    if (control->pending_count + SMK_WARP_SIZE <= control->pending_capacity) {
        return true;
    }
    bool done = control->pending_count == 0 || complete_covered(warp, words);
    uint32_t need = control->pending_count + SMK_WARP_SIZE, capacity = 2 * need < most ? 2 * need : most;
    if (done && capacity > control->pending_capacity) {
        done = grow(control, capacity);
    }
    if (!done) {
        (void)smk_warp_fail(warp, op, mask, SMK_MEMORY, "no memory for %u copies of cp.async", capacity);
    }
    return done;
}

unsigned smk_cp_async_source_bytes(const smk_warp *warp, const smk_detail *detail, unsigned lane)
{
    if (detail->source_bits == 1) {
        uint32_t ignore = *SMK_ROW(uint32_t, warp, detail->row) ^ detail->flip;
        return (ignore >> lane & 1) != 0 ? 0 : detail->bytes;
    }
    return detail->source_bits == 0 ? detail->bytes : SMK_ROW(uint32_t, warp, detail->row)[lane];
}

const smk_operation *smk_cp_async_copy(smk_warp *warp, const smk_operation *op)
{
    smk_warp_control *control = warp->control;
    const smk_detail *detail = op->u.detail;
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    if (!reserve(warp, op, mask)) {
        return NULL;
    }
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        if ((mask >> lane & 1) == 0) {
            continue;
        }
        uint64_t to = SMK_ROW(uint64_t, warp, op->a)[lane] + (uint64_t)detail->offset;
        uint64_t from = SMK_ROW(uint64_t, warp, op->b)[lane] + (uint64_t)detail->second_offset;
        unsigned bytes = detail->bytes, used = smk_cp_async_source_bytes(warp, detail, lane);
        bool shared;
        smk_pending_copy copy = {.group = control->group[lane], .lane = (uint8_t)lane, .bytes = (uint8_t)bytes};
        if (used > bytes) {
            return smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_EXECUTION,
                                 "cp.async reads %u bytes for a copy of %u", used, bytes);
        }
        unsigned char *target =
            smk_access_host_address(warp, op, lane, SMK_SPACE_SHARED, to, bytes, SMK_ACCESS_STORE, &shared);
        if (target == NULL) {
            return NULL;
        }
        if (used > 0) {
            /* the source must be aligned to the whole copy, but only the bytes that are read must exist */
            if (from % bytes != 0) {
                return smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_MISALIGNED,
                                     "cp.async of %u bytes from 0x%llx: the address is not a multiple of %u", bytes,
                                     (unsigned long long)from, bytes);
            }
            for (unsigned i = 0; i < used; i++) {
                if (used == bytes ? i == 0 : true) {
                    unsigned part = used == bytes ? bytes : 1;
                    if (!smk_access_load_lane(warp, op, lane, (smk_space)op->d2, from + i, copy.data + i, part)) {
                        return NULL;
                    }
                }
            }
        }
        copy.address = (uint32_t)to;
        control->pending[control->pending_count++] = copy;
    }
    return op + 1;
}

const smk_operation *smk_cp_async_commit(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        warp->control->group[lane] += mask >> lane & 1;
    }
    warp->control->grouped = true;
    return op + 1;
}

/* Writes the pending copies of the lanes in `mask`, except those of the last `stay` groups and, unless `all`, of the
 * open group. */
static void complete(smk_warp *warp, const smk_operation *op, uint32_t mask, uint64_t stay, bool all)
{
    smk_warp_control *control = warp->control;
    const smk_observer *observer = control->block->run->observer;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < control->pending_count; i++) {
        const smk_pending_copy *copy = &control->pending[i];
        uint64_t committed = control->group[copy->lane];
        bool due = all || (copy->group < committed && committed - copy->group > stay);
        if ((mask >> copy->lane & 1) != 0 && due) {
            if (observer != NULL && (observer->wants & SMK_OBSERVE_SYNCHRONIZATION) != 0) {
                observer->copy_done(control->block->observer_state, warp, op, copy);
            }
            memcpy(control->shared + copy->address, copy->data, copy->bytes);
        } else {
            control->pending[kept++] = *copy;
        }
    }
    control->pending_count = kept;
}

const smk_operation *smk_cp_async_wait_group(smk_warp *warp, const smk_operation *op)
{
    complete(warp, op, smk_operation_mask(warp, op), op->u.immediate, false);
    return op + 1;
}

const smk_operation *smk_cp_async_wait_all(smk_warp *warp, const smk_operation *op)
{
    complete(warp, op, smk_operation_mask(warp, op), 0, true);
    return op + 1;
}
