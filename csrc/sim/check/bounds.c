/* Finds accesses that are out of bounds or misaligned, and accesses that leave the variable or allocation from which
 * their address was computed (provenance.h). */
#include "sim/check/race.h"

#include "sim/code/bits.h"
#include "sim/code/program.h"
#include "sim/exec/access.h"
#include "sim/exec/kernel_heap.h"

#include <inttypes.h>
#include <stdio.h>

/* Limits for a block after its first bad access: further steps, and further bad accesses. */
#define STEPS_OF_ALL (UINT64_C(1) << 29) /* shared by the blocks of a launch */
#define STEPS_MIN (UINT64_C(1) << 18)
#define STEPS_MAX (UINT64_C(1) << 25)
enum { BAD_ACCESSES_MAX = 1 << 16 };

void smk_bounds_begin(smk_race *race)
{
    for (unsigned i = 0; i < SMK_RACE_REPEATS; i++) {
        race->repeats[i] = (smk_bounds_repeats){.instruction_id = SMK_FINDING_NO_INSTRUCTION};
    }
}

static void flush_repeats(smk_race *race, const smk_bounds_repeats *repeats)
{
    if (repeats->unreported > 0) {
        smk_finding_repeat(&race->launch->sink, repeats->kind, repeats->instruction_id, repeats->unreported);
    }
}

void smk_bounds_end(smk_race *race)
{
    for (unsigned i = 0; i < SMK_RACE_REPEATS; i++) {
        flush_repeats(race, &race->repeats[i]);
    }
    smk_bounds_begin(race);
}

/* After a bad access the block computes with values that no memory holds, so its loops may end late or never. The
 * block is therefore stopped after a limited number of steps. The limit depends on the launch alone, so that every run
 * stops at the same instruction. */
static void limit_block(smk_block *block)
{
    if (block->bad_accesses++ == 0) {
        const smk_dim3 *grid = &block->run->launch->grid;
        uint64_t more = STEPS_OF_ALL / ((uint64_t)grid->x * grid->y * grid->z);
        more = more < STEPS_MIN ? STEPS_MIN : more > STEPS_MAX ? STEPS_MAX : more;
        block->most_steps = block->steps + more;
    } else if (block->bad_accesses > BAD_ACCESSES_MAX) {
        block->most_steps = block->steps;
    }
}

static void report(smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space, unsigned lane,
                   uint64_t address, unsigned bytes, bool misaligned)
{
    char text[320];
    const smk_operation *op = event->op;
    smk_access_kind kind = event->kind == SMK_ACCESS_COPY ? SMK_ACCESS_STORE : event->kind;
    smk_finding_kind found = misaligned ? SMK_FINDING_MISALIGNED : SMK_FINDING_OUT_OF_BOUNDS;
    const uint32_t instruction_id = smk_finding_instruction_id(&race->launch->ids, op->function, op->instruction);
    smk_bounds_repeats *repeats = &race->repeats[instruction_id % SMK_RACE_REPEATS];
    limit_block(warp->control->block);
    if (repeats->instruction_id == instruction_id && repeats->kind == found) { /* the block has reported one such
                                                                                * access */
        repeats->unreported++;
        return;
    }
    flush_repeats(race, repeats);
    *repeats = (smk_bounds_repeats){.instruction_id = instruction_id, .kind = found};
    smk_finding_event side = {
        .instruction_id = instruction_id,
        .kind = (uint8_t)event->kind,
        .space = space,
        .address = address,
        .bytes = bytes,
        .block = race->block->number,
        .thread = warp->control->index * 32 + lane,
    };
    if (misaligned) {
        smk_access_describe_alignment(warp, op, space, address, event->bytes, kind, text, sizeof text);
    } else {
        smk_access_describe_bounds(warp, op, space, address, bytes, kind, text, sizeof text);
    }
    smk_finding_add(&race->launch->sink, found, &side, NULL, race->block->number, race->sequence++, text);
}

bool smk_bounds_find_allocation(smk_race *race, uint64_t address)
{
    for (unsigned i = 0; i < SMK_RACE_ALLOCATIONS; i++) {
        const smk_allocation *allocation = race->allocations[i];
        if (allocation != NULL && address - allocation->address < allocation->bytes) {
            race->allocation = allocation;
            race->allocation_initialized = race->allocations_initialized[i];
            return true;
        }
    }
    const smk_allocation *allocation = smk_memory_view_find(race->block->run->view, address);
    if (allocation == NULL) {
        return false;
    }
    unsigned at = race->allocation_next++ % SMK_RACE_ALLOCATIONS;
    race->allocation = race->allocations[at] = allocation;
    race->allocation_initialized = race->allocations_initialized[at] =
        smk_memory_view_is_initialized(allocation, 0, allocation->bytes);
    return true;
}

static bool is_inside(smk_race *race, const smk_access_event *event, uint64_t address, unsigned bytes)
{
    const smk_allocation *allocation = race->allocation;
    if (allocation == NULL || address - allocation->address >= allocation->bytes) {
        if (!smk_bounds_find_allocation(race, address)) {
            return false;
        }
        allocation = race->allocation;
    }
    const bool given = allocation->address != race->heap ||
                       smk_kernel_heap_look(race->block->run->image->program, address, bytes) == SMK_KERNEL_HEAP_GIVEN;
    return given && bytes <= allocation->bytes - (address - allocation->address) &&
           !(allocation->constant && event->kind != SMK_ACCESS_LOAD);
}

/* True where all lanes of a full warp are aligned and inside the limit, or inside race->allocation. Tests all lanes at
 * once; false decides nothing. */
static bool are_good(const smk_race *race, const smk_access_event *event, const uint64_t *address, bool global,
                     uint64_t limit)
{
    uint64_t start = 0, bits = 0, most = 0;
    if (global) {
        if (race->allocation == NULL || race->allocation->address == race->heap ||
            (race->allocation->constant && event->kind != SMK_ACCESS_LOAD)) {
            return false;
        }
        start = race->allocation->address;
        limit = race->allocation->bytes;
    }
    for (unsigned i = 0; i < 32; i++) {
        uint64_t at = address[i] - start;
        bits |= address[i];
        most = at > most ? at : most;
    }
    return (bits & (event->bytes - 1)) == 0 && most <= limit && event->bytes <= limit - most;
}

/* The shared variable that holds all of these bytes, or NULL. */
static const smk_shared_variable *find_variable(const smk_race *race, uint64_t address, unsigned bytes)
{
    const smk_run *run = race->block->run;
    for (uint32_t i = 0; i < run->image->shared_count; i++) {
        const smk_shared_variable *shared = &run->image->shared[i];
        bool dynamic = shared->variable->unsized || shared->variable->is_extern;
        uint64_t end = dynamic ? run->shared_bytes : shared->offset + shared->variable->bytes;
        if (address >= shared->offset && address <= end && bytes <= end - address) {
            return shared;
        }
    }
    return NULL;
}

uint32_t smk_bounds_check(smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space,
                          const uint64_t *address, uint32_t mask)
{
    const smk_warp_control *control = warp->control;
    uint32_t good = mask;
    uint64_t odd = 0, limit = 0;
    bool global = space == SMK_SPACE_GLOBAL || space == SMK_SPACE_CONST;
    limit = space == SMK_SPACE_SHARED  ? control->shared_bytes
            : space == SMK_SPACE_LOCAL ? control->local_top
            : space == SMK_SPACE_PARAM ? control->parameter_bytes
                                       : 0;
    bool gaps = race->launch->padded && space == SMK_SPACE_SHARED;
    if (mask == UINT32_MAX && event->used == NULL && !gaps && are_good(race, event, address, global, limit)) {
        return mask;
    }
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = smk_bits_first(left);
        uint64_t at = address[lane];
        unsigned bytes = event->used != NULL ? event->used[lane] : event->bytes;
        odd = at & (event->bytes - 1);
        bool inside = global ? is_inside(race, event, at, bytes)
                      : gaps ? find_variable(race, at, bytes) != NULL
                             : at <= limit && bytes <= limit - at;
        if (odd != 0 || !inside) {
            report(race, warp, event, space, lane, at, bytes, odd != 0);
            good &= ~(UINT32_C(1) << lane);
        }
    }
    return good;
}

/* Names the memory that an access has reached outside its origin. */
static void describe_landing(const smk_race *race, const smk_origin *origin, uint64_t address, char *text, size_t size)
{
    if (origin->space == SMK_SPACE_GLOBAL) {
        smk_memory_view_name(race->block->run->view, address, text, size);
        return;
    }
    const smk_shared_variable *shared = find_variable(race, address, 1);
    if (shared == NULL) {
        (void)snprintf(text, size, "no variable");
    } else {
        (void)snprintf(text, size, "%.*s, byte %" PRIu64, SMK_TEXT_PRINT(shared->variable->name),
                       address - shared->offset);
    }
}

static void report_overrun(smk_race *race, const smk_warp *warp, const smk_access_event *event,
                           const smk_origin *origin, unsigned lane, uint64_t address, unsigned bytes)
{
    static const char *const words[] = {"load", "store", "atomic operation", "copy"};
    char name[160], landing[192], text[512];
    smk_finding_event side = {
        .instruction_id = smk_finding_instruction_id(&race->launch->ids, event->op->function, event->op->instruction),
        .kind = (uint8_t)event->kind,
        .space = origin->space,
        .address = address,
        .bytes = bytes,
        .block = race->block->number,
        .thread = warp->control->index * 32 + lane,
    };
    bool before = address < origin->start, across = !before && address < origin->end;
    smk_provenance_name(origin, race->block->run->view->launch, name, sizeof name);
    describe_landing(race, origin, across ? origin->end : address, landing, sizeof landing);
    (void)snprintf(text, sizeof text, "%s of %u bytes by way of %s begins %" PRIu64 " bytes %s and touches %s",
                   words[event->kind], bytes, name,
                   before   ? origin->start - address
                   : across ? origin->end - address
                            : address - origin->end,
                   before   ? "before its start"
                   : across ? "before its end"
                            : "past its end",
                   landing);
    smk_finding_add(&race->launch->sink, SMK_FINDING_OVERRUN, &side, NULL, race->block->number, race->sequence++, text);
}

/* Is the whole warp inside? Decided by the first and last lane of each half, whose lanes access neighbouring addresses
 * or one address. */
static bool are_ends_inside(const smk_access_event *event, uint64_t start, uint64_t room)
{
    const uint64_t *at = event->address;
    return event->shape[0] != SMK_ACCESS_ANY && event->shape[1] != SMK_ACCESS_ANY && at[0] - start <= room &&
           at[15] - start <= room && at[16] - start <= room && at[31] - start <= room;
}

/* The lanes, active or not, whose address is outside. Addresses of inactive lanes are arbitrary. */
static uint32_t find_outside(const uint64_t *address, uint64_t start, uint64_t room)
{
    uint32_t outside = 0;
    for (unsigned i = 0; i < 32; i++) {
        outside |= (uint32_t)(address[i] - start > room) << i;
    }
    return outside;
}

uint32_t smk_bounds_check_origin(smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space,
                                 const uint64_t *address, uint32_t mask, uint32_t *refused)
{
    const smk_provenance *provenance = &race->launch->provenance;
    uint32_t instruction_id =
        smk_finding_instruction_id(&race->launch->ids, event->op->function, event->op->instruction);
    unsigned number =
        provenance->origin_of[event->used != NULL][instruction_id]; /* of copies only the source has `used` */
    if (number == SMK_ORIGIN_NONE) {
        return 0;
    }
    const smk_origin *origin = &provenance->origin[number - 1];
    bool global = space == SMK_SPACE_GLOBAL || space == SMK_SPACE_CONST;
    if (global != (origin->space == SMK_SPACE_GLOBAL) || (!global && space != SMK_SPACE_SHARED)) {
        return 0;
    }
    uint64_t room = origin->end - origin->start;
    if (room >= event->bytes && address == event->address &&
        are_ends_inside(event, origin->start, room - event->bytes)) {
        return 0;
    }
    uint32_t outside = room < event->bytes ? UINT32_MAX : find_outside(address, origin->start, room - event->bytes);
    outside &= mask;
    for (uint32_t left = outside; left != 0; left &= left - 1) {
        unsigned lane = smk_bits_first(left);
        unsigned bytes = event->used != NULL ? event->used[lane] : event->bytes;
        uint64_t at = address[lane] - origin->start;
        if (at <= room && bytes <= room - at) { /* a copy can read fewer bytes than it writes */
            outside &= ~(UINT32_C(1) << lane);
        }
    }
    if (outside == 0) {
        return 0;
    }
    uint32_t good = smk_bounds_check(race, warp, event, space, address, outside);
    for (uint32_t left = good; left != 0; left &= left - 1) {
        unsigned lane = smk_bits_first(left);
        report_overrun(race, warp, event, origin, lane, address[lane],
                       event->used != NULL ? event->used[lane] : event->bytes);
    }
    *refused = outside & ~good;
    return outside;
}
