#include "async.h"

#include "../base/heap.h"
#include "access.h"
#include "block.h"
#include "observer.h"

#include <string.h>

enum { LANES = 32 };

static bool reserve(smk_warp *warp, const smk_operation *op, uint32_t mask)
{
    smk_warp_control *control = warp->control;
    uint32_t need = control->pending_count + LANES;
    if (need <= control->pending_capacity) {
        return true;
    }
    uint32_t capacity = 2 * need;
    smk_pending *grown =
        smk_heap_resize(control->pending, control->pending_capacity * sizeof *grown, capacity * sizeof *grown);
    if (grown == NULL) {
        (void)smk_warp_fail(warp, op, mask, SMK_MEMORY, "no memory for %u copies of cp.async", capacity);
        return false;
    }
    control->pending = grown;
    control->pending_capacity = capacity;
    return true;
}

unsigned smk_async_source_bytes(const smk_warp *warp, const smk_detail *detail, unsigned lane)
{
    if (detail->source_bits == 1) {
        uint32_t ignore = *SMK_ROW(uint32_t, warp, detail->row) ^ detail->flip;
        return (ignore >> lane & 1) != 0 ? 0 : detail->bytes;
    }
    return detail->source_bits == 0 ? detail->bytes : SMK_ROW(uint32_t, warp, detail->row)[lane];
}

const smk_operation *smk_async_copy(smk_warp *warp, const smk_operation *op)
{
    smk_warp_control *control = warp->control;
    const smk_detail *detail = op->u.detail;
    uint32_t mask = smk_op_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    if (!reserve(warp, op, mask)) {
        return NULL;
    }
    for (unsigned lane = 0; lane < LANES; lane++) {
        if ((mask >> lane & 1) == 0) {
            continue;
        }
        uint64_t to = SMK_ROW(uint64_t, warp, op->a)[lane] + (uint64_t)detail->offset;
        uint64_t from = SMK_ROW(uint64_t, warp, op->b)[lane] + (uint64_t)detail->second_offset;
        unsigned bytes = detail->bytes, used = smk_async_source_bytes(warp, detail, lane);
        bool shared;
        smk_pending copy = {.group = control->group[lane], .lane = (uint8_t)lane, .bytes = (uint8_t)bytes};
        if (used > bytes) {
            return smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_EXECUTION,
                                 "cp.async reads %u bytes for a copy of %u", used, bytes);
        }
        unsigned char *place = smk_access_place(warp, op, lane, SMK_SPACE_SHARED, to, bytes, SMK_ACCESS_STORE, &shared);
        if (place == NULL) {
            return NULL;
        }
        if (used > 0) {
            /* the source must be aligned as a whole copy is, but only what is read must exist */
            if (from % bytes != 0) {
                return smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_MISALIGNED,
                                     "cp.async of %u bytes from 0x%llx: the address is no multiple of %u", bytes,
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

const smk_operation *smk_async_commit(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_op_mask(warp, op);
    for (unsigned lane = 0; lane < LANES; lane++) {
        warp->control->group[lane] += mask >> lane & 1;
    }
    return op + 1;
}

/* Writes the copies of the lanes in `mask` but for those of the last `stay` groups, and of the open one unless
 * `all`. */
static void complete(smk_warp *warp, const smk_operation *op, uint32_t mask, uint32_t stay, bool all)
{
    smk_warp_control *control = warp->control;
    const smk_observer *observer = control->block->run->observer;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < control->pending_count; i++) {
        const smk_pending *copy = &control->pending[i];
        uint32_t committed = control->group[copy->lane];
        bool due = all || (copy->group < committed && committed - copy->group > stay);
        if ((mask >> copy->lane & 1) != 0 && due) {
            if (observer != NULL && (observer->wants & SMK_WATCH_ORDER) != 0) {
                observer->land(control->block->watch, warp, op, copy);
            }
            memcpy(control->shared + copy->address, copy->data, copy->bytes);
        } else {
            control->pending[kept++] = *copy;
        }
    }
    control->pending_count = kept;
}

const smk_operation *smk_async_wait_group(smk_warp *warp, const smk_operation *op)
{
    uint64_t stay = op->u.immediate;
    complete(warp, op, smk_op_mask(warp, op), stay > UINT32_MAX ? UINT32_MAX : (uint32_t)stay, false);
    return op + 1;
}

const smk_operation *smk_async_wait_all(smk_warp *warp, const smk_operation *op)
{
    complete(warp, op, smk_op_mask(warp, op), 0, true);
    return op + 1;
}
