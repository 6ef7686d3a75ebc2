#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "sim/check/check.h"

#include "base/heap.h"
#include "sim/check/race.h"
#include "sim/code/bits.h"
#include "sim/code/program.h"
#include "sim/exec/access.h"
#include "sim/exec/barrier.h"
#include "sim/exec/block_order.h"
#include "sim/exec/grid.h"
#include "sim/exec/park.h"
#include "sim/lower/link.h"

#include <stdio.h>
#include <string.h>

enum { LANES = 32, SHIFT_MAX = 2 };

typedef struct checking {
    smk_race_launch race;
    const smk_image *image;
    uint64_t stopped_block;
    smk_error stopped;
    bool failed;
} checking;

/* What there is to know of the program ---------------------------------------------------------------- */

/* Does the scope end with the block? No launch has clusters: a block is its own. */
static bool is_near(const smk_instruction *instruction)
{
    return smk_module_has(instruction, SMK_MODIFIER_CTA) || smk_module_has(instruction, SMK_MODIFIER_CLUSTER);
}

static bool is_fence(const smk_instruction *instruction)
{
    return instruction->opcode == SMK_OPCODE_MEMBAR || instruction->opcode == SMK_OPCODE_FENCE;
}

static uint8_t flags_of(const smk_instruction *instruction)
{
    bool atomic = instruction->opcode == SMK_OPCODE_ATOM || instruction->opcode == SMK_OPCODE_RED;
    bool is_volatile = smk_module_has(instruction, SMK_MODIFIER_VOLATILE);
    bool both = smk_module_has(instruction, SMK_MODIFIER_ACQ_REL);
    bool acquire = both || smk_module_has(instruction, SMK_MODIFIER_ACQUIRE);
    bool release = both || smk_module_has(instruction, SMK_MODIFIER_RELEASE);
    bool strong = atomic || is_volatile || acquire || release || smk_module_has(instruction, SMK_MODIFIER_RELAXED);
    bool near = is_near(instruction);
    return (uint8_t)((strong ? SMK_RACE_STRONG : 0) | (atomic ? SMK_RACE_ATOMIC : 0) |
                     (is_volatile ? SMK_RACE_VOLATILE : 0) | (acquire ? SMK_RACE_ACQUIRE : 0) |
                     (release ? SMK_RACE_RELEASE : 0) | (near ? SMK_RACE_NEAR : 0));
}

/* The narrowest access decides how many bytes a cell has. */
static void narrow(checking *c, const smk_instruction *instruction)
{
    unsigned bits = smk_module_type_bits((smk_type)instruction->type), shift = bits <= 8 ? 0 : bits <= 16 ? 1 : 2;
    bool generic = instruction->space == SMK_SPACE_GENERIC;
    if ((generic || instruction->space == SMK_SPACE_SHARED) && shift < c->race.shared_shift) {
        c->race.shared_shift = shift;
    }
    if ((generic || instruction->space == SMK_SPACE_GLOBAL) && shift < c->race.global_shift) {
        c->race.global_shift = shift;
    }
}

static smk_status survey(checking *c, const smk_module *module, smk_error *error)
{
    uint32_t count = 0;
    c->race.places.module = module;
    c->race.shared_shift = c->race.global_shift = SHIFT_MAX;
    c->race.places.first = smk_heap_allocate((size_t)module->function_count + 2, sizeof *c->race.places.first);
    for (uint32_t i = 0; i < module->function_count; i++) {
        count += module->functions[i].instruction_count;
    }
    c->race.flags = smk_heap_allocate((size_t)count + 1, 1);
    if (c->race.places.first == NULL || c->race.flags == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    count = 0;
    for (uint32_t i = 0; i < module->function_count; i++) {
        const smk_function *function = &module->functions[i];
        bool reached = smk_image_code(c->image, i) != NULL;
        c->race.places.first[i] = count;
        for (uint32_t k = 0; k < function->instruction_count; k++, count++) {
            if (!reached) {
                continue;
            }
            const smk_instruction *instruction = &function->instructions[k];
            if (smk_module_accesses(instruction)) {
                uint8_t flags = c->race.flags[count] = flags_of(instruction);
                c->race.synchronizes = c->race.synchronizes || (flags & (SMK_RACE_ACQUIRE | SMK_RACE_RELEASE)) != 0;
                c->race.order.near = c->race.order.near || (flags & SMK_RACE_NEAR) != 0;
                c->race.ordered = c->race.ordered || smk_image_is_near(instruction);
                narrow(c, instruction);
            } else if (is_fence(instruction)) {
                c->race.synchronizes = true;
                c->race.order.near = c->race.order.near || is_near(instruction);
            }
        }
    }
    c->race.places.first[module->function_count] = count;
    return SMK_OK;
}

/* Parameters lie where the program says, and their addresses are known beforehand but for computed ones. */
static bool selects(void *context, const smk_function *function, uint32_t instruction)
{
    const smk_instruction *i = &function->instructions[instruction];
    const smk_operand *from = &i->operands[i->opcode == SMK_OPCODE_ST ? 0 : 1];
    (void)context;
    return i->space != SMK_SPACE_PARAM || from->base_kind == SMK_OPERAND_REGISTER;
}

static bool emit(void *context, struct smk_lowering *lowering)
{
    checking *c = context;
    return smk_undefined_emit(&c->race.undefined, lowering);
}

/* Blocks that run ------------------------------------------------------------------------------------- */

static void close_race(void *context, void *state)
{
    checking *c = context;
    smk_race *race = state;
    c->failed = c->failed || smk_order_is_failed(&race->order) || race->shared.failed || race->global.failed ||
                race->undefined.failed;
    smk_undefined_free(&race->undefined);
    smk_order_free(&race->order);
    smk_shadow_free(&race->shared);
    smk_shadow_free(&race->global);
    smk_heap_free(race);
}

static smk_status open_race(void *context, const smk_block *block, void **state, smk_error *error)
{
    checking *c = context;
    smk_race *race = smk_heap_allocate(1, sizeof *race);
    if (race == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    race->launch = &c->race;
    race->undefined.plan = &c->race.undefined;
    uint64_t shared_bytes = block->run->shared_bytes == 0 ? 1 : block->run->shared_bytes;
    smk_status status = smk_order_create(&race->order, block->warp_count, c->race.ordered ? &c->race.order : NULL,
                                         c->race.synchronizes, error);
    if (status == SMK_OK) {
        status = smk_shadow_create(&race->shared, c->race.shared_shift, shared_bytes, error);
    }
    if (status == SMK_OK) {
        status = smk_shadow_create(&race->global, c->race.global_shift, 0, error);
    }
    if (status != SMK_OK) {
        close_race(c, race);
        return status;
    }
    *state = race;
    return SMK_OK;
}

static void value(void *state, const smk_warp *warp, const smk_operation *op)
{
    smk_undefined_pass(state, warp, op);
}

static void begin(void *state, const smk_block *block)
{
    smk_race *race = state;
    race->block = block;
    race->sequence = 0;
    smk_race_forget_strays(race);
    smk_undefined_begin(&race->undefined);
    smk_order_begin(&race->order, block->number);
    smk_shadow_begin(&race->shared);
    smk_shadow_begin(&race->global);
    /* a copy that an earlier block never waited for has no stamp that grows old */
    for (uint32_t i = 0; i < race->shared.direct_count; i++) {
        for (unsigned k = 0; k < SMK_SHADOW_CELLS; k++) {
            uint32_t *time = &race->shared.direct[i].wtime[k];
            *time = *time == SMK_SHADOW_PENDING ? 0 : *time;
        }
    }
    for (unsigned i = 0; i < SMK_BLOCK_BARRIERS; i++) {
        race->barrier[i].depth = 0;
    }
}

static smk_finding_event barrier_event(const smk_race *race, uint32_t place, uint32_t thread)
{
    return (smk_finding_event){.place = place,
                               .kind = SMK_FINDING_MEET,
                               .space = SMK_SPACE_SHARED,
                               .block = race->block->number,
                               .thread = thread};
}

static uint32_t place_of(const smk_race *race, const smk_operation *op)
{
    const smk_finding_places *places = &race->launch->places;
    uint32_t most = places->module->functions[op->function].instruction_count;
    return smk_finding_place(places, op->function, op->instruction < most ? op->instruction : most - 1);
}

/* The instruction that an error names: where the failed warp was. */
static uint32_t place_of_error(const smk_race *race, const smk_error *error)
{
    const smk_finding_places *places = &race->launch->places;
    for (uint32_t i = 0; i < places->module->function_count; i++) {
        const smk_function *function = &places->module->functions[i];
        for (uint32_t k = 0; k < function->instruction_count; k++) {
            const smk_instruction *instruction = &function->instructions[k];
            if (instruction->line == error->ptx_line && instruction->column == error->ptx_column) {
                return smk_finding_place(places, i, k);
            }
        }
    }
    return 0;
}

/* Where else threads of the block wait: at another barrier, or on another way through the failed warp. */
static bool find_other(const smk_race *race, uint32_t place, smk_finding_event *other)
{
    const smk_block *block = race->block;
    for (uint32_t i = 0; i < block->warp_count; i++) {
        const smk_warp *warp = &block->warp[i];
        const smk_warp_control *control = &block->control[i];
        const smk_operation *op = NULL;
        uint32_t lanes = control->live & ~warp->active;
        if (control->state == SMK_WARP_BARRIER) {
            op = control->pc;
            lanes = warp->active;
        } else if (control->state == SMK_WARP_FAILED && lanes != 0) {
            op = smk_warp_waiting(warp, lanes);
        }
        if (op != NULL && lanes != 0 && place_of(race, op) != place) {
            *other = barrier_event(race, place_of(race, op), i * LANES + smk_bits_first(lanes));
            other->kind = control->state == SMK_WARP_BARRIER ? SMK_FINDING_MEET : SMK_FINDING_WAIT;
            return true;
        }
    }
    return false;
}

static void note_error(smk_race *race, const smk_error *error, smk_finding_kind kind)
{
    const smk_dim3 *size = &race->block->run->launch->block;
    uint32_t place = place_of_error(race, error);
    uint32_t thread = error->thread[0] + size->x * (error->thread[1] + size->y * error->thread[2]);
    smk_finding_event first = barrier_event(race, place, thread), second;
    bool two = kind == SMK_FINDING_BARRIER && find_other(race, place, &second);
    if (kind != SMK_FINDING_BARRIER) {
        first.kind = SMK_ACCESS_LOAD;
        first.space = SMK_SPACE_GLOBAL;
    }
    smk_finding_add(&race->launch->sink, kind, &first, two ? &second : NULL, race->block->number, race->sequence++,
                    error->message);
}

/* Warps that wait at a barrier are not ready; one whose lanes wait for each other has failed. */
static bool waits_in_loops(const smk_block *block)
{
    bool failed = false;
    for (uint32_t i = 0; i < block->warp_count; i++) {
        const smk_warp_control *control = &block->control[i];
        failed = failed || (control->state == SMK_WARP_FAILED && control->parked_count > 0);
    }
    return block->ready != 0 && !failed;
}

static bool end(void *state, const smk_block *block, bool failed)
{
    smk_race *race = state;
    checking *c = (checking *)(void *)race->launch; /* its first member */
    smk_race_tell_strays(race);
    if (!c->race.ordered && !race->global.failed) {
        smk_blocks_merge(&c->race.blocks, &race->global, block->number, race->order.begin);
    }
    if (!failed) {
        return false;
    }
    const smk_error *error = &block->error;
    if (error->status == SMK_MEMORY || error->status == SMK_INTERNAL) {
        return false;
    }
    bool at_barrier = error->status == SMK_DEADLOCK && !waits_in_loops(block);
    if (error->status == SMK_BARRIER || at_barrier) {
        note_error(race, error, SMK_FINDING_BARRIER);
    } else if (error->status == SMK_OUT_OF_BOUNDS) {
        note_error(race, error, SMK_FINDING_OUT_OF_BOUNDS);
    } else if (error->status == SMK_MISALIGNED) {
        note_error(race, error, SMK_FINDING_MISALIGNED);
    }
    (void)pthread_mutex_lock(&c->race.sink.lock);
    if (c->stopped.status == SMK_OK || block->number < c->stopped_block) {
        c->stopped = *error;
        c->stopped_block = block->number;
    }
    (void)pthread_mutex_unlock(&c->race.sink.lock);
    return true;
}

static void arrive(void *state, const smk_warp *warp, const smk_operation *op, uint32_t barrier, bool waits)
{
    smk_race *race = state;
    const smk_instruction *instruction =
        &race->launch->places.module->functions[op->function].instructions[op->instruction];
    bool aligned = instruction->opcode == SMK_OPCODE_BAR || smk_module_has(instruction, SMK_MODIFIER_ALIGNED);
    uint32_t index = warp->control->index, thread = index * LANES + smk_bits_first(warp->active), a = 0, b = 0;
    smk_meeting here, *former = &race->barrier[barrier];
    smk_order_arrive(&race->order, index, barrier);
    if (!waits || !aligned || op->u.immediate != 0) {
        return;
    }
    smk_meeting_fill(&here, &race->launch->places, warp, op);
    if (former->depth == 0) {
        *former = here;
        race->barrier_thread[barrier] = thread;
    } else if (!smk_meeting_is_one(&race->launch->places, former, &here, &a, &b)) {
        smk_finding_event first = barrier_event(race, a, race->barrier_thread[barrier]);
        smk_finding_event second = barrier_event(race, b, thread);
        smk_finding_add(&race->launch->sink, SMK_FINDING_BARRIER, &first, &second, race->block->number,
                        race->sequence++, NULL);
    }
}

static void release(void *state, const smk_block *block, uint32_t barrier, uint32_t waited, uint32_t arrived)
{
    smk_race *race = state;
    (void)arrived;
    race->barrier[barrier].depth = 0;
    smk_order_leave(&race->order, barrier, waited, block->live);
}

static void meet(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask)
{
    smk_race *race = state;
    (void)op;
    smk_order_meet(&race->order, warp->control->index, mask, mask == warp->control->lanes);
}

/* Lanes that a .sync operation names, were on another path when it was reached, and never came to it. */
static void miss(void *state, const smk_warp *warp, const smk_parked *parked, uint32_t missing)
{
    smk_race *race = state;
    char text[sizeof((smk_finding_entry *)NULL)->text];
    const uint32_t first = warp->control->index * LANES;
    smk_finding_event here = barrier_event(race, place_of(race, parked->pc), first + smk_bits_first(parked->lanes));
    smk_finding_event there = here;
    smk_park_describe(warp, parked, missing, text, sizeof text);
    if (parked->other != NULL) {
        there = barrier_event(race, place_of(race, parked->other), first + smk_bits_first(missing));
        there.kind = SMK_FINDING_WAIT;
    }
    smk_finding_add(&race->launch->sink, SMK_FINDING_BARRIER, &here, parked->other == NULL ? NULL : &there,
                    race->block->number, race->sequence++, text);
}

static void fence(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask)
{
    smk_race *race = state;
    const smk_instruction *instruction =
        &race->launch->places.module->functions[op->function].instructions[op->instruction];
    smk_order_fencing fencing = {.near = is_near(instruction),
                                 .acquires = !smk_module_has(instruction, SMK_MODIFIER_RELEASE),
                                 .releases = !smk_module_has(instruction, SMK_MODIFIER_ACQUIRE)};
    smk_order_fence(&race->order, warp->control->index, mask, fencing);
}

static void land(void *state, const smk_warp *warp, const smk_operation *op, const smk_pending *copy)
{
    (void)op;
    smk_race_land(state, warp->control->index, copy);
}

/* A launch --------------------------------------------------------------------------------------------- */

/* `cells` of them, from the `first` of a line on, have been written. */
static void note_cells(const checking *c, smk_memory *memory, const smk_memory_view *view, uint64_t first,
                       uint64_t cells)
{
    const uint64_t address = first << c->race.global_shift, bytes = cells << c->race.global_shift;
    const smk_span *span = cells == 0 ? NULL : smk_memory_view_find(view, address);
    if (span != NULL && !smk_memory_view_known(span, address - span->address, bytes)) {
        smk_memory_view_note(memory, span, address - span->address, bytes);
    }
}

/* What the launch has written is initialised from now on; where it was broken off, everything counts as that, which
 * takes no time. */
static void note_written(const checking *c, smk_memory *memory, const smk_memory_view *view, smk_status status)
{
    const smk_blocks_line *line;
    if (status == SMK_INTERRUPTED) {
        smk_memory_view_settle(memory, view);
        return;
    }
    for (uint32_t n = 0; (line = smk_blocks_get(&c->race.blocks, n)) != NULL; n++) {
        const uint64_t first = line->number * SMK_SHADOW_CELLS;
        uint64_t cells = 0; /* written ones, one after the other, before this one */
        for (unsigned i = 0; i < SMK_SHADOW_CELLS; i++) {
            const bool written = smk_blocks_line_written(line, i);
            if (!written) {
                note_cells(c, memory, view, first + i - cells, cells);
            }
            cells = written ? cells + 1 : 0;
        }
        note_cells(c, memory, view, first + SMK_SHADOW_CELLS - cells, cells);
    }
}

static smk_status prepare(checking *c, const smk_program *program, const smk_launch *launch,
                          const smk_memory_view *view, smk_error *error)
{
    uint64_t total = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    smk_status status = smk_finding_open(&c->race.sink, error);
    if (status != SMK_OK) {
        c->race.sink.slot = NULL;
        return status;
    }
    c->race.ordered = smk_block_order_matters(c->image, launch, view);
    c->race.padded = c->image->padding > 0;
    status = survey(c, program->module, error);
    if (status == SMK_OK) {
        status = smk_blocks_create(&c->race.blocks, c->race.global_shift, c->race.flags, error);
    }
    c->race.order.space = smk_clock_space_of(total);
    return status;
}

static void clean_up(checking *c, smk_status status)
{
    if (c->race.sink.slot != NULL) {
        smk_finding_close(&c->race.sink);
    }
    if (status == SMK_INTERRUPTED) {
        smk_blocks_free_later(&c->race.blocks);
    } else {
        smk_blocks_free(&c->race.blocks);
    }
    smk_order_launch_free(&c->race.order);
    smk_provenance_free(&c->race.provenance);
    smk_undefined_plan_free(&c->race.undefined);
    smk_heap_free(c->race.places.first);
    smk_heap_free(c->race.flags);
}

/* The run has ended, well or not: what is to be said of it. */
static smk_status conclude(checking *c, const smk_launch *launch, const smk_memory_view *view, smk_status status,
                           const smk_error *failure, smk_check_result *made, smk_error *error)
{
    if (c->failed || c->race.blocks.failed) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    smk_race_finish(&c->race);
    made->incomplete = c->race.blocks.unsure;
    if (status != SMK_OK && (status != SMK_STEP_BUDGET || c->race.sink.count == 0)) {
        *error = *failure;
        return status;
    }
    made->stopped = c->stopped;
    if (status == SMK_STEP_BUDGET && made->stopped.status == SMK_OK) {
        made->stopped = *failure;
    }
    if (made->stopped.status != SMK_OK && c->race.sink.count == 0) {
        *error = made->stopped;
        return made->stopped.status;
    }
    return smk_finding_list(&c->race.sink, &c->race.places, c->image, launch, view, made, error);
}

smk_status smk_check_run(smk_program *program, uint32_t entry, const smk_launch *launch, const smk_run_options *options,
                         const smk_check_options *wanted, smk_check_result *result, smk_error *error)
{
    checking c = {0};
    smk_check_result made = {0};
    smk_run_result run = {0};
    smk_error failure, unused;
    smk_memory_view *view = NULL;
    smk_image *image = NULL;
    const smk_observer observer = {.context = &c,
                                   .wants = SMK_WATCH_ACCESSES | SMK_WATCH_ORDER,
                                   .tracks = true,
                                   .padding = wanted->padding,
                                   .selects = selects,
                                   .emit = emit,
                                   .value = value,
                                   .open = open_race,
                                   .close = close_race,
                                   .begin = begin,
                                   .end = end,
                                   .access = smk_race_access,
                                   .arrive = arrive,
                                   .release = release,
                                   .meet = meet,
                                   .miss = miss,
                                   .fence = fence,
                                   .land = land};
    error = error == NULL ? &unused : error;
    const smk_module *module = program->module;
    if (entry >= module->function_count || !module->functions[entry].is_entry || !module->functions[entry].is_defined) {
        return smk_status_fail(error, SMK_ARGUMENT, "the module has no kernel of number %u", entry);
    }
    smk_status status = smk_undefined_plan_create(&c.race.undefined, program->module, error);
    if (status == SMK_OK) {
        status = smk_link_create(program, entry, &observer, &image, error);
        c.image = c.race.undefined.image = image;
    }
    if (status == SMK_OK) {
        status = smk_memory_view_create(program->memory, &view, error);
    }
    if (status == SMK_OK) {
        status = prepare(&c, program, launch, view, error);
    }
    if (status == SMK_OK) {
        status =
            smk_provenance_create(&c.race.provenance, &c.race.places, c.image, program->addresses, launch, view, error);
    }
    if (status == SMK_OK) {
        status = smk_grid_launch(program, image, launch, options, &observer, wanted->blocks, &run, &failure);
        note_written(&c, program->memory, view, status);
        status = conclude(&c, launch, view, status, &failure, &made, error);
    }
    if (status == SMK_OK) {
        made.blocks = run.blocks;
        made.blocks_total = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
        *result = made;
    } else {
        smk_check_free(&made);
    }
    smk_memory_view_free(program->memory, view);
    clean_up(&c, status);
    smk_image_free(image);
    return status;
}

void smk_check_free(smk_check_result *result)
{
    if (result != NULL) {
        smk_heap_free(result->finding);
        result->finding = NULL;
        result->finding_count = 0;
    }
}
