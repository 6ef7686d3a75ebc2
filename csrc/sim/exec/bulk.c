#include "sim/exec/bulk.h"

#include "base/heap.h"
#include "ptx/mbarrier.h"
#include "sim/code/bits.h"
#include "sim/code/observer.h"
#include "sim/exec/access.h"
#include "sim/exec/atomic.h"
#include "sim/exec/block.h"

#include <inttypes.h>
#include <string.h>

enum { COPIES_FIRST = 16, BARRIER_BYTES = 8, MASK_ALL = 0xFFFF, LOCATION_BYTES = 160 };

static smk_bulk *bulk_of(smk_block *block)
{
    if (block->bulk == NULL) {
        smk_bulk *made = smk_heap_allocate(1, sizeof *made);
        uint64_t *group = smk_heap_allocate((size_t)block->warp_count * SMK_WARP_SIZE, sizeof *group);
        if (made == NULL || group == NULL) {
            smk_heap_free(made);
            smk_heap_free(group);
            return NULL;
        }
        made->group = group;
        block->bulk = made;
    }
    return block->bulk;
}

static smk_bulk_copy *add_copy(smk_block *block)
{
    smk_bulk *bulk = bulk_of(block);
    if (bulk == NULL) {
        return NULL;
    }
    if (bulk->count == bulk->capacity) {
        const uint32_t capacity = bulk->capacity == 0 ? COPIES_FIRST : 2 * bulk->capacity;
        smk_bulk_copy *grown =
            smk_heap_resize(bulk->copy, bulk->capacity * sizeof *grown, (size_t)capacity * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        bulk->copy = grown;
        bulk->capacity = capacity;
    }
    return &bulk->copy[bulk->count++];
}

/* The host address of one side; NULL after a failure, which names the first bad chunk. */
static unsigned char *find_side(smk_warp *warp, const smk_operation *op, unsigned lane, smk_space space,
                                uint64_t address, uint32_t bytes, smk_access_kind kind)
{
    bool shared;
    unsigned char *first = smk_access_host_address(warp, op, lane, space, address, SMK_BULK_CHUNK, kind, &shared);
    for (uint32_t at = SMK_BULK_CHUNK; first != NULL && at < bytes; at += SMK_BULK_CHUNK) {
        if (smk_access_host_address(warp, op, lane, space, address + at, SMK_BULK_CHUNK, kind, &shared) != first + at) {
            return NULL; /* two allocations are never neighbours */
        }
    }
    return first;
}

static bool check_shape(smk_warp *warp, const smk_operation *op, unsigned lane, const smk_bulk_copy *copy)
{
    const uint64_t odd = (copy->to_address | copy->from_address) % SMK_BULK_CHUNK;
    if (odd != 0) {
        const bool target = copy->to_address % SMK_BULK_CHUNK != 0;
        (void)smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_MISALIGNED,
                            "cp.async.bulk of %" PRIu32 " bytes %s 0x%" PRIx64 ": the address is not a multiple of %d",
                            copy->bytes, target ? "to" : "from", target ? copy->to_address : copy->from_address,
                            SMK_BULK_CHUNK);
        return false;
    }
    if (copy->bytes % SMK_BULK_CHUNK != 0) {
        (void)smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_EXECUTION,
                            "cp.async.bulk copies a multiple of %d bytes, not %" PRIu32, SMK_BULK_CHUNK, copy->bytes);
        return false;
    }
    return true;
}

/* The bits of the mask that the statement has: of bytes, or of blocks of the cluster, which has one. */
static bool read_mask(smk_warp *warp, const smk_operation *op, unsigned lane, smk_bulk_copy *copy)
{
    const smk_detail *detail = op->u.detail;
    const uint16_t mask = detail->source_bits == 0 ? 0 : SMK_ROW(uint16_t, warp, detail->row)[lane];
    if ((op->slot & SMK_BULK_MULTICAST) == 0) {
        copy->mask = detail->source_bits == 0 ? MASK_ALL : mask;
        return true;
    }
    copy->mask = MASK_ALL;
    if (mask != 1) {
        (void)smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_EXECUTION,
                            "cp.async.bulk to the blocks 0x%x of a cluster, which has block 0 alone", mask);
    }
    return mask == 1;
}

static bool find_addresses(smk_warp *warp, const smk_operation *op, unsigned lane, smk_bulk_copy *copy)
{
    const smk_space to = copy->to_global ? SMK_SPACE_GLOBAL : SMK_SPACE_SHARED,
                    from = copy->from_global ? SMK_SPACE_GLOBAL : SMK_SPACE_SHARED;
    const smk_observer *observer = warp->control->block->run->observer;
    bool shared;
    if (!check_shape(warp, op, lane, copy) || !read_mask(warp, op, lane, copy) ||
        (!copy->to_global && smk_access_host_address(warp, op, lane, SMK_SPACE_SHARED, copy->barrier, BARRIER_BYTES,
                                                     SMK_ACCESS_ATOMIC, &shared) == NULL)) {
        return false;
    }
    if (observer != NULL && observer->bulk_issue != NULL &&
        !observer->bulk_issue(warp->control->block->observer_state, warp, copy)) {
        copy->to = NULL; /* it moves nothing, but is completed */
        return true;
    }
    if (copy->bytes == 0) {
        return true;
    }
    copy->from = find_side(warp, op, lane, from, copy->from_address, copy->bytes, SMK_ACCESS_LOAD);
    copy->to =
        copy->from == NULL ? NULL : find_side(warp, op, lane, to, copy->to_address, copy->bytes, SMK_ACCESS_STORE);
    return copy->to != NULL;
}

const smk_operation *smk_bulk_issue(smk_warp *warp, const smk_operation *op)
{
    smk_block *block = warp->control->block;
    const smk_detail *detail = op->u.detail;
    for (uint32_t left = smk_operation_mask(warp, op); left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left);
        smk_bulk_copy made = {
            .op = op,
            .to_address = SMK_ROW(uint64_t, warp, op->a)[lane] + (uint64_t)detail->offset,
            .from_address = SMK_ROW(uint64_t, warp, op->b)[lane] + (uint64_t)detail->second_offset,
            .bytes = SMK_ROW(uint32_t, warp, op->c)[lane],
            .warp = warp->control->index,
            .lane = lane,
            .to_global = (op->slot & SMK_BULK_TO_GLOBAL) != 0,
            .from_global = (op->slot & SMK_BULK_FROM_GLOBAL) != 0,
        };
        made.barrier = made.to_global ? 0 : (uint32_t)SMK_ROW(uint64_t, warp, op->d)[lane];
        if (!find_addresses(warp, op, lane, &made)) {
            return NULL;
        }
        smk_bulk_copy *copy = add_copy(block);
        if (copy == NULL) {
            return smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_MEMORY, "no memory for copies of cp.async.bulk");
        }
        made.group = block->bulk->group[made.warp * SMK_WARP_SIZE + lane];
        *copy = made;
    }
    return op + 1;
}

const smk_operation *smk_bulk_commit(smk_warp *warp, const smk_operation *op)
{
    smk_bulk *bulk = warp->control->block->bulk; /* NULL: there was no copy, and its group is empty */
    for (uint32_t left = bulk == NULL ? 0 : smk_operation_mask(warp, op); left != 0; left &= left - 1) {
        bulk->group[warp->control->index * SMK_WARP_SIZE + smk_bits_first(left)]++;
    }
    return op + 1;
}

/* Moves the data ------------------------------------------------------------------------------------------------- */

static void reduce(const smk_block *block, const smk_bulk_copy *copy)
{
    const smk_type type = (smk_type)copy->op->element;
    const unsigned bytes = smk_module_type_bits(type) / 8;
    const bool alone = block->run->ordered || !copy->to_global;
    for (uint32_t at = 0; at < copy->bytes; at += bytes) {
        uint64_t value = 0;
        memcpy(&value, copy->from + at, bytes); /* little endian */
        smk_atomic_update(copy->to + at, bytes, alone, (smk_modifier)copy->op->count, type, value);
    }
}

static void move(const smk_block *block, const smk_bulk_copy *copy)
{
    if (copy->to == NULL) {
        return;
    }
    if (copy->op->count != SMK_MODIFIER_COUNT) {
        reduce(block, copy);
    } else if (copy->mask == MASK_ALL) {
        memmove(copy->to, copy->from, copy->bytes);
    } else {
        for (uint32_t at = 0; at < copy->bytes; at++) {
            copy->to[at] = (copy->mask >> at % SMK_BULK_CHUNK & 1) != 0 ? copy->from[at] : copy->to[at];
        }
    }
}

static void report(const smk_block *block, const smk_bulk_copy *copy, smk_bulk_stage stage)
{
    const smk_observer *observer = block->run->observer;
    if (observer != NULL && observer->bulk_done != NULL) {
        observer->bulk_done(block->observer_state, copy, stage);
    }
}

/* Counts the bytes in the copy's mbarrier. */
static bool count_bytes(smk_warp *warp, const smk_operation *op, const smk_bulk_copy *copy)
{
    const smk_block *block = warp->control->block;
    char location[LOCATION_BYTES];
    uint64_t word;
    memcpy(&word, block->shared + copy->barrier, sizeof word);
    if (smk_mbarrier_bytes(word) - (int64_t)copy->bytes < -SMK_MBARRIER_BYTES_MAX) {
        smk_warp_describe(&block->warp[copy->warp], copy->op, location, sizeof location);
        (void)smk_warp_fail(warp, op, warp->active, SMK_EXECUTION,
                            "the mbarrier at byte %" PRIu32 " of shared memory expects %" PRId64
                            " bytes, and counts down to -%" PRId64 " at the least: it cannot count the %" PRIu32
                            " bytes of the cp.async.bulk at %s",
                            copy->barrier, smk_mbarrier_bytes(word), SMK_MBARRIER_BYTES_MAX, copy->bytes, location);
        return false;
    }
    word = smk_mbarrier_complete(word, copy->bytes);
    memcpy(block->shared + copy->barrier, &word, sizeof word);
    return true;
}

bool smk_bulk_land(smk_warp *warp, const smk_operation *op)
{
    smk_block *block = warp->control->block;
    smk_bulk *bulk = block->bulk;
    uint32_t kept = 0;
    bool good = true;
    for (uint32_t i = 0; bulk != NULL && i < bulk->count; i++) {
        const smk_bulk_copy *copy = &bulk->copy[i];
        if (copy->to_global) {
            bulk->copy[kept++] = *copy;
        } else if (good) {
            move(block, copy);
            report(block, copy, SMK_BULK_WRITTEN);
            good = count_bytes(warp, op, copy);
        }
    }
    if (bulk != NULL) {
        bulk->count = kept;
    }
    return good;
}

const smk_operation *smk_bulk_wait(smk_warp *warp, const smk_operation *op)
{
    smk_block *block = warp->control->block;
    smk_bulk *bulk = block->bulk;
    const uint32_t mask = smk_operation_mask(warp, op);
    const bool reads = op->count != 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; bulk != NULL && i < bulk->count; i++) {
        smk_bulk_copy copy = bulk->copy[i];
        const uint64_t committed = bulk->group[copy.warp * SMK_WARP_SIZE + copy.lane];
        const bool due = copy.to_global && copy.warp == warp->control->index && (mask >> copy.lane & 1) != 0 &&
                         copy.group < committed && committed - copy.group > op->u.immediate;
        if (due && !copy.done) {
            move(block, &copy);
            report(block, &copy, SMK_BULK_READ);
            copy.done = true;
        }
        if (due && !reads) {
            report(block, &copy, SMK_BULK_WRITTEN);
        } else if (!due || (block->run->observer != NULL && block->run->observer->bulk_done != NULL)) {
            bulk->copy[kept++] = copy;
        }
    }
    if (bulk != NULL) {
        bulk->count = kept;
    }
    return op + 1;
}

/* Blocks ------------------------------------------------------------------------------------------------------------ */

void smk_bulk_begin(smk_block *block)
{
    if (block->bulk != NULL) {
        block->bulk->count = 0;
        memset(block->bulk->group, 0, (size_t)block->warp_count * SMK_WARP_SIZE * sizeof *block->bulk->group);
    }
}

void smk_bulk_end(smk_block *block)
{
    for (uint32_t i = 0; block->bulk != NULL && i < block->bulk->count; i++) {
        const smk_bulk_copy *copy = &block->bulk->copy[i];
        if (copy->to_global && !copy->done) {
            move(block, copy);
            report(block, copy, SMK_BULK_LEFT);
        }
        if (copy->to_global) {
            report(block, copy, SMK_BULK_WRITTEN);
        }
    }
}

void smk_bulk_free(smk_block *block)
{
    if (block->bulk != NULL) {
        smk_heap_free(block->bulk->copy);
        smk_heap_free(block->bulk->group);
        smk_heap_free(block->bulk);
        block->bulk = NULL;
    }
}
