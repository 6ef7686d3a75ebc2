#include "sim/profile/access_cost.h"

#include "ptx/bulk_form.h"
#include "ptx/opcode.h"
#include "sim/code/bits.h"
#include "sim/cost/async_cost.h"
#include "sim/cost/atomic_loop.h"
#include "sim/cost/sector.h"

#include <string.h>

enum {
    BANK_LOW = 3,
    SECTOR_LOW = 31,
    PART_BYTES_MAX = 16,
    WORD_BYTES = 4,
    GROUP_LANES = 8,
    WORDS_MAX = GROUP_LANES * 9 /* 32 bytes a lane, with any alignment */
};

static uint32_t count_lanes(uint32_t mask)
{
    return mask == UINT32_MAX ? SMK_WARP_SIZE : smk_bits_count(mask);
}

/* Local memory ----------------------------------------------------------------------------------- */

/* The number of distinct words of eight neighbouring lanes. Each is a sector, since the words of one index of eight
 * lanes fill one sector. */
static uint32_t count_group_words(const uint64_t *address, unsigned bytes, uint32_t mask)
{
    uint64_t seen[WORDS_MAX];
    uint32_t count = 0;
    for (unsigned lane = 0; lane < GROUP_LANES; lane++) {
        if ((mask >> lane & 1) == 0) {
            continue;
        }
        for (uint64_t word = address[lane] / 4; word <= (address[lane] + bytes - 1) / 4; word++) {
            uint32_t i = 0;
            while (i < count && seen[i] != word) {
                i++;
            }
            if (i == count) {
                seen[count++] = word;
            }
        }
    }
    return count;
}

uint32_t smk_access_cost_local_sectors(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask)
{
    uint32_t sectors = 0;
    for (unsigned group = 0; group < SMK_WARP_SIZE; group += GROUP_LANES) {
        uint32_t part = mask >> group & 0xFF;
        sectors += part == 0 ? 0 : count_group_words(address + group, bytes, part);
    }
    return sectors;
}

/* Constant memory -------------------------------------------------------------------------------- */

uint32_t smk_access_cost_addresses(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask)
{
    const uint64_t unit = bytes > WORD_BYTES ? bytes : WORD_BYTES;
    uint64_t seen[SMK_WARP_SIZE];
    uint32_t count = 0;
    for (; mask != 0; mask &= mask - 1) {
        const uint64_t word = address[smk_bits_first(mask)] / unit;
        uint32_t i = 0;
        while (i < count && seen[i] != word) {
            i++;
        }
        if (i == count) {
            seen[count++] = word;
        }
    }
    return count;
}

/* Events in one memory ----------------------------------------------------------------------------- */

/* Do the addresses have the pattern's differences? The masks are equal. */
static bool is_same(const smk_access_cost_pattern *pattern, const uint64_t *address, uint64_t first, uint32_t mask)
{
    uint64_t differ = 0;
    if (mask == UINT32_MAX) {
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            differ |= (address[lane] - first) ^ pattern->delta[lane];
        }
    } else {
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            differ |= ((address[lane] - first) ^ pattern->delta[lane]) & pattern->select[lane];
        }
    }
    return differ == 0;
}

/* The same where both halves of the warp have the shape of the last request: only their distance is compared. */
static bool is_same_shape(const smk_access_cost_pattern *pattern, const uint64_t *address)
{
    return address[SMK_WARP_SIZE / 2] - address[0] == pattern->delta[SMK_WARP_SIZE / 2] - pattern->delta[0];
}

static void keep_pattern(smk_access_cost_pattern *pattern, const uint64_t *address, uint64_t first, uint32_t mask)
{
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        pattern->delta[lane] = address[lane] - first;
        pattern->select[lane] = (mask >> lane & 1) != 0 ? UINT64_MAX : 0;
    }
}

/* The cost does not change when all addresses move by a whole number of words in shared memory (banks are cyclic), of
 * sectors in global memory, or of words in local memory; then it is that of the last request. */
static void find_cost(smk_access_cost *total, smk_access_cost_memory memory, smk_bank_op op, const uint64_t *address,
                      unsigned bytes, uint32_t mask, uint16_t shape)
{
    uint64_t first = address[smk_bits_first(mask)];
    uint32_t low = (uint32_t)first & (memory == SMK_ACCESS_COST_GLOBAL ? SECTOR_LOW : BANK_LOW);
    if (total->last_mask == mask && total->last_low == low && total->last_bytes == bytes &&
        (shape != 0 && shape == total->last_shape ? is_same_shape(&total->pattern, address)
                                                  : is_same(&total->pattern, address, first, mask))) {
        return;
    }
    total->last_shape = shape;
    total->last_mask = mask;
    total->last_low = (uint8_t)low;
    total->last_bytes = (uint8_t)bytes;
    total->last_ideal = 0;
    keep_pattern(&total->pattern, address, first, mask);
    unsigned part = bytes > PART_BYTES_MAX ? PART_BYTES_MAX : bytes; /* 32 aligned bytes are one sector, like 16 */
    if (memory == SMK_ACCESS_COST_SHARED) {
        smk_bank_cost cost = smk_bank_count(address, part, mask, op);
        total->last_cost = (uint16_t)cost.wavefronts;
        total->last_ideal = (uint16_t)cost.ideal;
    } else if (memory == SMK_ACCESS_COST_GLOBAL) {
        total->last_cost = (uint16_t)smk_sector_count(address, part, mask);
    } else if (memory == SMK_ACCESS_COST_CONSTANT) {
        total->last_cost = (uint16_t)smk_access_cost_addresses(address, bytes, mask);
    } else {
        total->last_cost = (uint16_t)smk_access_cost_local_sectors(address, bytes, mask);
    }
}

static void keep_sample(smk_access_cost_sample *sample, const smk_warp *warp, const uint64_t *address, unsigned bytes,
                        uint32_t mask)
{
    const smk_block *block = warp->control->block;
    sample->block_number = block->number;
    memcpy(sample->block, block->index, sizeof sample->block);
    sample->warp = warp->control->index;
    sample->mask = mask;
    sample->bytes = (uint8_t)bytes;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        sample->address[lane] = (mask >> lane & 1) != 0 ? address[lane] : 0;
    }
}

static uint64_t sum_used(const uint8_t *used, uint32_t mask)
{
    uint64_t sum = 0;
    for (; mask != 0; mask &= mask - 1) {
        sum += used[smk_bits_first(mask)];
    }
    return sum;
}

static void offer_sample(smk_access_cost *total, uint32_t cost, const smk_warp *warp, const uint64_t *address,
                         unsigned bytes, uint32_t mask)
{
    if (cost > total->best) {
        total->best = cost;
        keep_sample(&total->sample, warp, address, bytes, mask);
    }
}

static void add(smk_access_cost *total, smk_access_cost_memory memory, smk_bank_op op, const smk_warp *warp,
                const uint64_t *address, unsigned bytes, const uint8_t *used, uint32_t mask, uint16_t shape)
{
    find_cost(total, memory, op, address, bytes, mask, shape);
    total->requests += memory == SMK_ACCESS_COST_LOCAL && bytes > WORD_BYTES ? bytes / WORD_BYTES : 1;
    total->cost += total->last_cost;
    total->ideal += total->last_ideal;
    total->bytes += used != NULL ? sum_used(used, mask) : (uint64_t)bytes * count_lanes(mask);
    offer_sample(total, total->last_cost, warp, address, bytes, mask);
}

/* Reads the operands and the memory of a minimum or maximum of 8 bytes before it executes, mapped so that the greater
 * number stays. */
static void read_values(const smk_warp *warp, const smk_access_event *event, smk_atomic_loop_values *values)
{
    const smk_operation *atomic = event->op + 1;
    const smk_warp_control *control = warp->control;
    const uint64_t top = smk_module_type_kind((smk_type)atomic->element) == SMK_KIND_SIGNED ? UINT64_C(1) << 63 : 0;
    const uint64_t turn = atomic->count == SMK_MODIFIER_MIN ? ~top : top;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        const uint64_t address = event->address[lane];
        uint64_t held = 0;
        if ((event->mask >> lane & 1) != 0 && address < control->shared_bytes &&
            control->shared_bytes - address >= sizeof held) { /* else the access itself reports the error */
            memcpy(&held, control->shared + address, sizeof held);
        }
        values->given[lane] = SMK_ROW(uint64_t, warp, atomic->b)[lane] ^ turn;
        values->held[lane] = held ^ turn;
    }
}

static void add_loop(smk_access_cost *totals, const smk_access_cost_plan *access, const smk_warp *warp,
                     const smk_access_event *event)
{
    smk_access_cost *total = &totals[access->cost_index[SMK_ACCESS_COST_SHARED]], *loads = &totals[access->loads];
    smk_atomic_loop_values values;
    const bool looks = access->form == SMK_FUSION_BOUND;
    if (looks) {
        read_values(warp, event, &values);
    }
    const smk_atomic_loop_cost cost =
        smk_atomic_loop_count(event->address, event->bytes, event->mask, looks ? &values : NULL);
    total->requests += cost.atomics;
    total->cost += cost.wavefronts;
    total->ideal += cost.wavefronts;
    total->bytes += (uint64_t)event->bytes * count_lanes(event->mask);
    loads->requests += cost.loads;
    loads->cost += cost.load.wavefronts;
    loads->ideal += cost.load.ideal;
    loads->bytes += (uint64_t)event->bytes * cost.load_lanes;
    offer_sample(total, cost.wavefronts, warp, event->address, event->bytes, event->mask);
}

/* Generic addresses: the window of each lane's address decides its memory. Constants are in global memory; parameters
 * are not counted. */
static void add_generic(smk_access_cost *totals, const smk_access_cost_plan *access, const smk_warp *warp,
                        const smk_access_event *event, const uint64_t *given, unsigned bytes)
{
    uint32_t mask[SMK_ACCESS_COST_MEMORIES] = {0};
    uint64_t address[SMK_WARP_SIZE] = {0};
    for (uint32_t left = event->mask; left != 0; left &= left - 1) {
        unsigned lane = smk_bits_first(left);
        address[lane] = given[lane];
        if (given[lane] < SMK_WINDOW_SHARED) {
            mask[SMK_ACCESS_COST_GLOBAL] |= UINT32_C(1) << lane;
        } else if (given[lane] - SMK_WINDOW_SHARED < SMK_WINDOW_BYTES) {
            address[lane] -= SMK_WINDOW_SHARED;
            mask[SMK_ACCESS_COST_SHARED] |= UINT32_C(1) << lane;
        } else if (given[lane] - SMK_WINDOW_LOCAL < SMK_WINDOW_BYTES) {
            address[lane] -= SMK_WINDOW_LOCAL;
            mask[SMK_ACCESS_COST_LOCAL] |= UINT32_C(1) << lane;
        }
    }
    for (unsigned memory = 0; memory < SMK_ACCESS_COST_MEMORIES; memory++) {
        if (mask[memory] != 0 && access->cost_index[memory] != SMK_NO_INDEX) {
            add(&totals[access->cost_index[memory]], (smk_access_cost_memory)memory, (smk_bank_op)access->op, warp,
                address, bytes, event->used, mask[memory], 0);
        }
    }
}

void smk_access_cost_add(smk_access_cost *totals, const smk_access_cost_plan *access, const smk_warp *warp,
                         const smk_access_event *event)
{
    static const smk_access_cost_memory memories[] = {
        [SMK_SPACE_GLOBAL] = SMK_ACCESS_COST_GLOBAL,
        [SMK_SPACE_SHARED] = SMK_ACCESS_COST_SHARED,
        [SMK_SPACE_LOCAL] = SMK_ACCESS_COST_LOCAL,
    };
    unsigned bytes = access->bytes != 0 ? access->bytes : event->bytes;
    const uint64_t *address = event->address;
    uint64_t moved[SMK_WARP_SIZE];
    uint32_t mask = event->mask;
    if (access->loads != SMK_NO_INDEX) {
        add_loop(totals, access, warp, event);
        return;
    }
    if (access->shift != 0) {
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            moved[lane] = address[lane] + (uint64_t)(int64_t)access->shift;
        }
        address = moved;
    }
    if (event->space == SMK_SPACE_GENERIC) {
        add_generic(totals, access, warp, event, address, bytes);
    } else if (access->cost_index[SMK_ACCESS_COST_CONSTANT] != SMK_NO_INDEX) {
        if (event->space != SMK_SPACE_LOCAL) { /* where the parameters of a function lie */
            add(&totals[access->cost_index[SMK_ACCESS_COST_CONSTANT]], SMK_ACCESS_COST_CONSTANT, SMK_BANK_LOAD, warp,
                address, bytes, NULL, mask, 0);
        }
    } else if (event->space <= SMK_SPACE_LOCAL) {
        smk_access_cost_memory memory = memories[event->space];
        if (access->form == SMK_FUSION_SINGLE || (access->form == SMK_FUSION_SCAN && event->mask == UINT32_MAX)) {
            mask = UINT32_C(1) << smk_bits_first(mask);
        }
        if (access->cost_index[memory] != SMK_NO_INDEX) {
            const bool shaped = event->shape[0] != SMK_ACCESS_ANY && event->shape[1] != SMK_ACCESS_ANY;
            add(&totals[access->cost_index[memory]], memory, (smk_bank_op)access->op, warp, address, bytes, event->used,
                mask, shaped ? (uint16_t)(event->shape[0] | (unsigned)event->shape[1] << 8) : 0);
        }
    }
}

void smk_access_cost_add_copy(smk_access_cost *totals, const smk_access_cost_plan *access, const smk_warp *warp,
                              const smk_access_event *source, const smk_access_event *target)
{
    smk_access_cost *shared = &totals[access->cost_index[SMK_ACCESS_COST_SHARED]],
                    *global = &totals[access->cost_index[SMK_ACCESS_COST_GLOBAL]];
    const smk_async_cost cost = smk_async_cost_count(access->reads_nothing ? NULL : target->source, target->address,
                                                     target->bytes, target->mask, source->mask,
                                                     !access->bypass ? SMK_ASYNC_CACHED
                                                     : access->zfill ? SMK_ASYNC_BYPASS_ZFILL
                                                                     : SMK_ASYNC_BYPASS);
    if (source->mask != 0) {
        global->requests++;
        global->cost += cost.sectors;
        global->bytes += sum_used(source->used, source->mask);
        offer_sample(global, cost.sectors, warp, source->address, source->bytes, source->mask);
    }
    shared->requests++;
    shared->cost += cost.shared.wavefronts;
    shared->ideal += cost.shared.ideal;
    shared->bytes += (uint64_t)target->bytes * count_lanes(target->mask);
    offer_sample(shared, cost.shared.wavefronts, warp, target->address, target->bytes, target->mask);
}

void smk_access_cost_touch(smk_footprint *footprint, uint32_t number, const smk_access_cost_plan *access, uint32_t warp,
                           const smk_access_event *event)
{
    const unsigned bytes = access->bytes != 0 ? access->bytes : event->bytes;
    uint64_t address[SMK_WARP_SIZE];
    uint32_t mask = 0;
    if (event->kind == SMK_ACCESS_COPY || (event->space != SMK_SPACE_GENERIC && event->space != SMK_SPACE_GLOBAL)) {
        return;
    }
    for (uint32_t left = event->mask; left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left);
        address[lane] = event->address[lane] + (uint64_t)(int64_t)access->shift;
        mask |= event->space == SMK_SPACE_GLOBAL || address[lane] < SMK_WINDOW_SHARED ? UINT32_C(1) << lane : 0;
    }
    if (access->form == SMK_FUSION_SINGLE && mask != 0) {
        mask = UINT32_C(1) << smk_bits_first(mask);
    }
    if (mask != 0) {
        smk_footprint_note(footprint, number, event->kind, warp, address, bytes, mask);
    }
}

void smk_access_cost_merge(smk_access_cost *to, const smk_access_cost *from)
{
    to->requests += from->requests;
    to->cost += from->cost;
    to->ideal += from->ideal;
    to->bytes += from->bytes;
    /* no two host threads run the same block */
    if (from->best > to->best ||
        (from->best != 0 && from->best == to->best && from->sample.block_number < to->sample.block_number)) {
        to->best = from->best;
        to->sample = from->sample;
    }
}

/* A load of constant memory, or of a parameter, at an address in a register. Those at constant addresses are operands
 * of other instructions in machine code. */
static bool reads_constants(const smk_instruction *load)
{
    const smk_operand *address = &load->operands[1];
    return (load->space == SMK_SPACE_CONST || load->space == SMK_SPACE_PARAM) && load->operand_count > 1 &&
           address->kind == SMK_OPERAND_ADDRESS && address->base_kind == SMK_OPERAND_REGISTER;
}

bool smk_access_cost_describe(const smk_instruction *instruction, smk_bank_op *op,
                              bool touches[SMK_ACCESS_COST_MEMORIES])
{
    bool generic = instruction->space == SMK_SPACE_GENERIC;
    *op = SMK_BANK_LOAD;
    touches[SMK_ACCESS_COST_CONSTANT] = false;
    switch (smk_opcode_class(instruction)) {
    case SMK_CLASS_LOAD:
        touches[SMK_ACCESS_COST_CONSTANT] = reads_constants(instruction);
        break;
    case SMK_CLASS_MATRIX:
        if (!smk_opcode_moves_matrices(instruction)) {
            return false;
        }
        *op = instruction->opcode == SMK_OPCODE_LDMATRIX ? SMK_BANK_MATRIX : SMK_BANK_STORE;
        break;
    case SMK_CLASS_STORE:
        *op = SMK_BANK_STORE;
        break;
    case SMK_CLASS_ATOMIC:
        *op = smk_module_has(instruction, SMK_MODIFIER_CAS) ? SMK_BANK_CAS : SMK_BANK_ATOMIC;
        break;
    case SMK_CLASS_COPY:
        if (smk_bulk_form_is(instruction)) { /* goes past the path of loads and stores, and is not counted */
            return false;
        }
        *op = SMK_BANK_ASYNC;
        generic = true;
        break;
    case SMK_CLASS_ALU:
    case SMK_CLASS_ADDRESS:
    case SMK_CLASS_EXCHANGE:
    case SMK_CLASS_TEXTURE: /* not counted */
    case SMK_CLASS_BARRIER:
    case SMK_CLASS_FENCE:
    case SMK_CLASS_BRANCH:
    case SMK_CLASS_CALL:
    case SMK_CLASS_END:
    case SMK_CLASS_PAUSE:
    case SMK_CLASS_HINT:
        return false;
    }
    touches[SMK_ACCESS_COST_SHARED] = generic || instruction->space == SMK_SPACE_SHARED;
    touches[SMK_ACCESS_COST_GLOBAL] = generic || instruction->space == SMK_SPACE_GLOBAL;
    touches[SMK_ACCESS_COST_LOCAL] = (generic && *op != SMK_BANK_ASYNC) || instruction->space == SMK_SPACE_LOCAL;
    return touches[SMK_ACCESS_COST_SHARED] || touches[SMK_ACCESS_COST_GLOBAL] || touches[SMK_ACCESS_COST_LOCAL] ||
           touches[SMK_ACCESS_COST_CONSTANT];
}

bool smk_access_cost_reads_nothing(const smk_instruction *copy)
{
    const smk_operand *size = &copy->operands[3];
    return copy->operand_count > 3 && size->kind == SMK_OPERAND_IMMEDIATE && size->type != SMK_TYPE_PRED &&
           size->bits == 0;
}
