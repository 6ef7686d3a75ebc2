#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "sim/check/check.h"

#include "base/heap.h"
#include "ptx/bulk_form.h"
#include "ptx/opcode.h"
#include "sim/check/race.h"
#include "sim/code/bits.h"
#include "sim/code/program.h"
#include "sim/exec/access.h"
#include "sim/exec/barrier.h"
#include "sim/exec/block_order.h"
#include "sim/exec/grid.h"
#include "sim/exec/kernel_heap.h"
#include "sim/exec/park.h"
#include "sim/lower/link.h"

#include <stdio.h>
#include <string.h>

enum { SHIFT_MAX = 2 };

typedef struct check_state {
    smk_race_launch race;
    const smk_image *image;
    uint64_t blocks; /* of the launch */
    uint64_t stopped_block;
    smk_error stopped;
    bool failed;
} check_state;

/* Facts about the program ----------------------------------------------------------------------------- */

/* Is the scope of the instruction its block? The simulator launches no clusters, so a block is its own cluster. */
static bool is_block_scope(const smk_instruction *instruction)
{
    return smk_module_has(instruction, SMK_MODIFIER_CTA) || smk_module_has(instruction, SMK_MODIFIER_CLUSTER);
}

static bool is_fence(const smk_instruction *instruction)
{
    return smk_opcode_class(instruction) == SMK_CLASS_FENCE;
}

static uint8_t flags_of(const smk_instruction *instruction)
{
    bool atomic = smk_opcode_class(instruction) == SMK_CLASS_ATOMIC;
    bool is_volatile = smk_module_has(instruction, SMK_MODIFIER_VOLATILE);
    bool both = smk_module_has(instruction, SMK_MODIFIER_ACQ_REL);
    bool acquire = both || smk_module_has(instruction, SMK_MODIFIER_ACQUIRE);
    bool release = both || smk_module_has(instruction, SMK_MODIFIER_RELEASE);
    bool strong = atomic || is_volatile || acquire || release || smk_module_has(instruction, SMK_MODIFIER_RELAXED);
    bool block_scope = is_block_scope(instruction);
    return (uint8_t)((strong ? SMK_RACE_STRONG : 0) | (atomic ? SMK_RACE_ATOMIC : 0) |
                     (is_volatile ? SMK_RACE_VOLATILE : 0) | (acquire ? SMK_RACE_ACQUIRE : 0) |
                     (release ? SMK_RACE_RELEASE : 0) | (block_scope ? SMK_RACE_BLOCK_SCOPE : 0));
}

/* The narrowest access of the program sets the size of a shadow cell. */
static void narrow(check_state *check, const smk_instruction *instruction)
{
    unsigned bits = smk_module_type_bits((smk_type)instruction->type), shift = bits <= 8 ? 0 : bits <= 16 ? 1 : 2;
    bool generic = instruction->space == SMK_SPACE_GENERIC;
    if ((generic || instruction->space == SMK_SPACE_SHARED) && shift < check->race.shared_shift) {
        check->race.shared_shift = shift;
    }
    if ((generic || instruction->space == SMK_SPACE_GLOBAL) && shift < check->race.global_shift) {
        check->race.global_shift = shift;
    }
}

static smk_status survey(check_state *check, const smk_module *module, smk_error *error)
{
    uint32_t count = 0;
    check->race.ids.module = module;
    check->race.program = check->image->program;
    check->race.shared_shift = check->race.global_shift = SHIFT_MAX;
    check->race.ids.first = smk_heap_allocate((size_t)module->function_count + 2, sizeof *check->race.ids.first);
    for (uint32_t i = 0; i < module->function_count; i++) {
        count += module->functions[i].instruction_count;
    }
    check->race.flags = smk_heap_allocate((size_t)count + 1, 1);
    if (check->race.ids.first == NULL || check->race.flags == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    count = 0;
    for (uint32_t i = 0; i < module->function_count; i++) {
        const smk_function *function = &module->functions[i];
        bool reached = smk_image_code(check->image, i) != NULL;
        check->race.ids.first[i] = count;
        for (uint32_t k = 0; k < function->instruction_count; k++, count++) {
            if (!reached) {
                continue;
            }
            const smk_instruction *instruction = &function->instructions[k];
            if (smk_opcode_accesses(instruction)) {
                uint8_t flags = check->race.flags[count] = flags_of(instruction);
                check->race.synchronizes =
                    check->race.synchronizes || (flags & (SMK_RACE_ACQUIRE | SMK_RACE_RELEASE)) != 0;
                check->race.order.block_scope = check->race.order.block_scope || (flags & SMK_RACE_BLOCK_SCOPE) != 0;
                check->race.ordered = check->race.ordered || smk_image_is_block_scope(instruction);
                narrow(check, instruction);
            } else if (smk_bulk_form_copies(instruction)) {
                const bool lands = smk_bulk_form_target(instruction) == SMK_SPACE_SHARED;
                check->race.flags[count] =
                    (uint8_t)((lands ? SMK_RACE_LANDS : 0) |
                              (smk_bulk_form_updates(instruction) ? SMK_RACE_STRONG : 0) |
                              (smk_module_has(instruction, SMK_MODIFIER_REDUCE) ? SMK_RACE_ATOMIC : 0));
                check->race.copies = check->race.copies || lands;
            } else if (is_fence(instruction)) {
                check->race.synchronizes = true;
                check->race.order.block_scope = check->race.order.block_scope || is_block_scope(instruction);
            }
        }
    }
    check->race.ids.first[module->function_count] = count;
    return SMK_OK;
}

/* Accesses to parameters at constant offsets need no check; those at computed addresses are observed. */
static bool selects(void *context, const smk_function *function, uint32_t instruction)
{
    const smk_instruction *i = &function->instructions[instruction];
    const smk_operand *from = &i->operands[i->result_count];
    (void)context;
    return i->space != SMK_SPACE_PARAM || from->base_kind == SMK_OPERAND_REGISTER;
}

static bool emit(void *context, struct smk_lowering *lowering)
{
    check_state *check = context;
    return smk_undefined_emit(&check->race.undefined, lowering);
}

/* Running blocks -------------------------------------------------------------------------------------- */

static void close_race(void *context, void *state)
{
    check_state *check = context;
    smk_race *race = state;
    check->failed = check->failed || smk_happens_before_is_failed(&race->order) || race->shared.failed ||
                    race->global.failed || race->undefined.failed;
    smk_undefined_free(&race->undefined);
    smk_happens_before_free(&race->order);
    smk_shadow_free(&race->shared);
    smk_shadow_free(&race->global);
    smk_heap_free(race->landings.landing);
    smk_heap_free(race);
}

static smk_status open_race(void *context, const smk_block *block, void **state, smk_error *error)
{
    check_state *check = context;
    smk_race *race = smk_heap_allocate(1, sizeof *race);
    if (race == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    race->launch = &check->race;
    race->undefined.plan = &check->race.undefined;
    uint64_t shared_bytes = block->run->shared_bytes == 0 ? 1 : block->run->shared_bytes;
    smk_status status =
        smk_happens_before_create(&race->order, block->warp_count, check->race.ordered ? &check->race.order : NULL,
                                  check->race.synchronizes, error);
    if (check->race.copies) {
        smk_happens_before_expect_copies(&race->order, check->blocks);
    }
    if (status == SMK_OK) {
        status = smk_shadow_create(&race->shared, check->race.shared_shift, shared_bytes, error);
    }
    if (status == SMK_OK) {
        status = smk_shadow_create(&race->global, check->race.global_shift, 0, error);
    }
    if (status != SMK_OK) {
        close_race(check, race);
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
    race->landings.count = 0;
    race->heap = smk_kernel_heap_address(block->run->image->program);
    smk_bounds_begin(race);
    smk_undefined_begin(&race->undefined);
    smk_happens_before_begin(&race->order, block->number);
    smk_shadow_begin(&race->shared);
    smk_shadow_begin(&race->global);
    /* a copy that an earlier block never waited for is still marked pending */
    for (uint32_t i = 0; i < race->shared.direct_count; i++) {
        for (unsigned k = 0; k < SMK_SHADOW_CELLS; k++) {
            uint32_t *time = &race->shared.direct[i].write_time[k];
            *time = *time == SMK_SHADOW_PENDING ? 0 : *time;
        }
    }
    for (unsigned i = 0; i < SMK_BLOCK_BARRIERS; i++) {
        race->barrier[i].depth = 0;
    }
}

static smk_finding_event barrier_event(const smk_race *race, uint32_t instruction_id, uint32_t thread)
{
    return (smk_finding_event){.instruction_id = instruction_id,
                               .kind = SMK_FINDING_SYNC,
                               .space = SMK_SPACE_SHARED,
                               .block = race->block->number,
                               .thread = thread};
}

static uint32_t instruction_id_of(const smk_race *race, const smk_operation *op)
{
    const smk_instruction_ids *ids = &race->launch->ids;
    uint32_t most = ids->module->functions[op->function].instruction_count;
    return smk_finding_instruction_id(ids, op->function, op->instruction < most ? op->instruction : most - 1);
}

/* The id of the instruction that an error names. */
static uint32_t instruction_id_of_error(const smk_race *race, const smk_error *error)
{
    const smk_instruction_ids *ids = &race->launch->ids;
    for (uint32_t i = 0; i < ids->module->function_count; i++) {
        const smk_function *function = &ids->module->functions[i];
        for (uint32_t k = 0; k < function->instruction_count; k++) {
            const smk_instruction *instruction = &function->instructions[k];
            if (instruction->line == error->ptx_line && instruction->column == error->ptx_column) {
                return smk_finding_instruction_id(ids, i, k);
            }
        }
    }
    return 0;
}

/* Finds other waiting threads of the block: at another barrier, or on another path of the failed warp. */
static bool find_other(const smk_race *race, uint32_t instruction_id, smk_finding_event *other)
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
        if (op != NULL && lanes != 0 && instruction_id_of(race, op) != instruction_id) {
            *other = barrier_event(race, instruction_id_of(race, op), i * SMK_WARP_SIZE + smk_bits_first(lanes));
            other->kind = control->state == SMK_WARP_BARRIER ? SMK_FINDING_SYNC : SMK_FINDING_WAIT;
            return true;
        }
    }
    return false;
}

static void note_error(smk_race *race, const smk_error *error, smk_finding_kind kind)
{
    const smk_dim3 *size = &race->block->run->launch->block;
    uint32_t instruction_id = instruction_id_of_error(race, error);
    uint32_t thread = error->thread[0] + size->x * (error->thread[1] + size->y * error->thread[2]);
    smk_finding_event first = barrier_event(race, instruction_id, thread), second;
    bool two = kind == SMK_FINDING_BARRIER && find_other(race, instruction_id, &second);
    if (kind != SMK_FINDING_BARRIER) {
        uint32_t function = 0, at = 0;
        const smk_instruction *instruction = smk_finding_locate(&race->launch->ids, instruction_id, &function, &at);
        const bool stores = instruction != NULL && instruction->opcode == SMK_OPCODE_SUST;
        first.kind = stores ? SMK_ACCESS_STORE : SMK_ACCESS_LOAD;
        first.space = SMK_SPACE_GLOBAL;
    }
    smk_finding_add(&race->launch->sink, kind, &first, two ? &second : NULL, race->block->number, race->sequence++,
                    error->message);
}

/* Did the block deadlock in spinning loops? A warp that waits at a barrier is not ready; a warp whose lanes wait for
 * each other has failed. */
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
    check_state *check = (check_state *)(void *)race->launch; /* its first member */
    smk_bounds_end(race);
    if (!check->race.ordered && !race->global.failed) {
        smk_race_grid_merge(&check->race.grid, &race->global, block->number, race->order.begin);
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
    (void)pthread_mutex_lock(&check->race.sink.lock);
    if (check->stopped.status == SMK_OK || block->number < check->stopped_block) {
        check->stopped = *error;
        check->stopped_block = block->number;
    }
    (void)pthread_mutex_unlock(&check->race.sink.lock);
    return true;
}

static void arrive(void *state, const smk_warp *warp, const smk_operation *op, uint32_t barrier, bool waits)
{
    smk_race *race = state;
    const smk_instruction *instruction =
        &race->launch->ids.module->functions[op->function].instructions[op->instruction];
    bool aligned = instruction->opcode == SMK_OPCODE_BAR || smk_module_has(instruction, SMK_MODIFIER_ALIGNED);
    uint32_t index = warp->control->index, thread = index * SMK_WARP_SIZE + smk_bits_first(warp->active), a = 0, b = 0;
    smk_barrier_site here, *previous = &race->barrier[barrier];
    smk_happens_before_arrive(&race->order, index, barrier);
    if (!waits || !aligned || op->u.immediate != 0) {
        return;
    }
    smk_barrier_site_fill(&here, &race->launch->ids, warp, op);
    if (previous->depth == 0) {
        *previous = here;
        race->barrier_thread[barrier] = thread;
    } else if (!smk_barrier_site_is_same(&race->launch->ids, previous, &here, &a, &b)) {
        smk_finding_event first = barrier_event(race, a, race->barrier_thread[barrier]);
        smk_finding_event second = barrier_event(race, b, thread);
        smk_finding_add(&race->launch->sink, SMK_FINDING_BARRIER, &first, &second, race->block->number,
                        race->sequence++, NULL);
    }
}

static void release(void *state, const smk_block *block, uint32_t barrier, uint32_t waited)
{
    smk_race *race = state;
    race->barrier[barrier].depth = 0;
    smk_happens_before_leave(&race->order, barrier, waited, block->live);
}

static void warp_sync(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask)
{
    smk_race *race = state;
    (void)op;
    smk_happens_before_sync_warp(&race->order, warp->control->index, mask, mask == warp->control->lanes);
}

/* Reports lanes that the mask of a .sync operation names and that never came to it: they were on another path. */
static void missing_lanes(void *state, const smk_warp *warp, const smk_parked *parked, uint32_t missing)
{
    smk_race *race = state;
    char text[sizeof((smk_finding_entry *)NULL)->text];
    const uint32_t first = warp->control->index * SMK_WARP_SIZE;
    smk_finding_event here =
        barrier_event(race, instruction_id_of(race, parked->pc), first + smk_bits_first(parked->lanes));
    smk_finding_event there = here;
    smk_park_describe(warp, parked, missing, text, sizeof text);
    if (parked->other != NULL) {
        there = barrier_event(race, instruction_id_of(race, parked->other), first + smk_bits_first(missing));
        there.kind = SMK_FINDING_WAIT;
    }
    smk_finding_add(&race->launch->sink, SMK_FINDING_BARRIER, &here, parked->other == NULL ? NULL : &there,
                    race->block->number, race->sequence++, text);
}

static void fence(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask)
{
    smk_race *race = state;
    const smk_instruction *instruction =
        &race->launch->ids.module->functions[op->function].instructions[op->instruction];
    smk_fence_kind kind = {.block_scope = is_block_scope(instruction),
                           .acquires = !smk_module_has(instruction, SMK_MODIFIER_RELEASE),
                           .releases = !smk_module_has(instruction, SMK_MODIFIER_ACQUIRE)};
    smk_happens_before_fence(&race->order, warp->control->index, mask, kind);
}

static void complete_copy(void *state, const smk_warp *warp, const smk_operation *op, const smk_pending_copy *copy)
{
    (void)op;
    smk_race_complete_copy(state, warp->control->index, copy);
}

/* Launches --------------------------------------------------------------------------------------------- */

/* Marks `cells` cells from the cell `first` on as initialised. */
static void note_cells(const check_state *check, smk_memory *memory, const smk_memory_view *view, uint64_t first,
                       uint64_t cells)
{
    const uint64_t address = first << check->race.global_shift, bytes = cells << check->race.global_shift;
    const smk_allocation *allocation = cells == 0 ? NULL : smk_memory_view_find(view, address);
    if (allocation != NULL && !smk_memory_view_is_initialized(allocation, address - allocation->address, bytes)) {
        smk_memory_view_mark_initialized(memory, allocation, address - allocation->address, bytes);
    }
}

/* Marks what the launch has written as initialised. After an interrupted launch all allocations are marked, which is
 * fast. */
static void note_written(const check_state *check, smk_memory *memory, const smk_memory_view *view, smk_status status)
{
    const smk_race_grid_line *line;
    if (status == SMK_INTERRUPTED) {
        smk_memory_view_mark_all_initialized(memory, view);
        return;
    }
    for (uint32_t n = 0; (line = smk_race_grid_get(&check->race.grid, n)) != NULL; n++) {
        const uint64_t first = line->number * SMK_SHADOW_CELLS;
        uint64_t cells = 0; /* length of the run of written cells before this one */
        for (unsigned i = 0; i < SMK_SHADOW_CELLS; i++) {
            const bool written = smk_race_grid_line_written(line, i);
            if (!written) {
                note_cells(check, memory, view, first + i - cells, cells);
            }
            cells = written ? cells + 1 : 0;
        }
        note_cells(check, memory, view, first + SMK_SHADOW_CELLS - cells, cells);
    }
}

static smk_status prepare(check_state *check, const smk_program *program, const smk_launch *launch,
                          const smk_memory_view *view, smk_error *error)
{
    uint64_t total = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    smk_status status = smk_finding_open(&check->race.sink, error);
    if (status != SMK_OK) {
        check->race.sink.slot = NULL;
        return status;
    }
    check->race.ordered = smk_block_order_matters(check->image, launch, view);
    check->race.padded = check->image->padding > 0;
    status = survey(check, program->module, error);
    if (status == SMK_OK) {
        status = smk_race_grid_create(&check->race.grid, check->race.global_shift, check->race.flags, error);
    }
    check->race.order.space = smk_clock_space_of(check->race.copies ? 2 * total : total);
    check->blocks = total;
    return status;
}

static void clean_up(check_state *check, smk_status status)
{
    if (check->race.sink.slot != NULL) {
        smk_finding_close(&check->race.sink);
    }
    if (status == SMK_INTERRUPTED) {
        smk_race_grid_free_later(&check->race.grid);
    } else {
        smk_race_grid_free(&check->race.grid);
    }
    smk_happens_before_launch_free(&check->race.order);
    smk_provenance_free(&check->race.provenance);
    smk_undefined_plan_free(&check->race.undefined);
    smk_heap_free(check->race.ids.first);
    smk_heap_free(check->race.flags);
}

/* Makes the result of a launch that has ended, well or not. */
static smk_status conclude(check_state *check, const smk_launch *launch, const smk_memory_view *view, smk_status status,
                           const smk_error *failure, smk_check_result *made, smk_error *error)
{
    if (check->failed || check->race.grid.failed) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    smk_race_report_blocks(&check->race);
    made->incomplete = check->race.grid.unsure;
    if (status != SMK_OK && (status != SMK_STEP_BUDGET || check->race.sink.count == 0)) {
        *error = *failure;
        return status;
    }
    made->stopped = check->stopped;
    if (status == SMK_STEP_BUDGET && made->stopped.status == SMK_OK) {
        made->stopped = *failure;
    }
    if (made->stopped.status != SMK_OK && check->race.sink.count == 0) {
        *error = made->stopped;
        return made->stopped.status;
    }
    return smk_finding_list(&check->race.sink, &check->race.ids, check->image, launch, view, made, error);
}

smk_status smk_check_run(smk_program *program, uint32_t entry, const smk_launch *launch, const smk_run_options *options,
                         const smk_check_options *wanted, smk_check_result *result, smk_error *error)
{
    check_state check = {0};
    smk_check_result made = {0};
    smk_run_result run = {0};
    smk_error failure, unused;
    smk_memory_view *view = NULL;
    smk_image *image = NULL;
    struct smk_coverage_module *covered = NULL;
    const smk_observer observer = {.context = &check,
                                   .wants = SMK_OBSERVE_ACCESSES | SMK_OBSERVE_SYNCHRONIZATION,
                                   .tracks = true,
                                   .padding = wanted->padding,
                                   .selects = selects,
                                   .emit = emit,
                                   .value = value,
                                   .open = open_race,
                                   .close = close_race,
                                   .begin = begin,
                                   .end = end,
                                   .access = smk_race_check,
                                   .arrive = arrive,
                                   .release = release,
                                   .warp_sync = warp_sync,
                                   .missing_lanes = missing_lanes,
                                   .fence = fence,
                                   .copy_done = complete_copy,
                                   .bulk_issue = smk_race_bulk_issue,
                                   .bulk_done = smk_race_bulk_done};
    error = error == NULL ? &unused : error;
    const smk_module *module = program->module;
    if (entry >= module->function_count || !module->functions[entry].is_entry || !module->functions[entry].is_defined) {
        return smk_status_fail(error, SMK_ARGUMENT, "the module has no kernel of number %u", entry);
    }
    smk_status status = smk_undefined_plan_create(&check.race.undefined, program->module, error);
    if (status == SMK_OK) {
        status = smk_program_cover(program, &covered, error);
    }
    if (status == SMK_OK) {
        status = smk_link_create(program, entry, &observer, covered, &image, error);
        check.image = check.race.undefined.image = image;
    }
    if (status == SMK_OK) {
        smk_kernel_heap_share(program);
        status = image->allocates ? smk_kernel_heap_prepare(program, error) : SMK_OK; /* so that the view has it */
    }
    if (status == SMK_OK) {
        status = smk_memory_view_create(program->memory, launch, &view, error);
    }
    if (status == SMK_OK) {
        status = prepare(&check, program, launch, view, error);
    }
    if (status == SMK_OK) {
        status = smk_provenance_create(&check.race.provenance, &check.race.ids, check.image, program->addresses, launch,
                                       view, error);
    }
    if (status == SMK_OK) {
        status = smk_grid_launch(program, image, launch, options, &observer, wanted->blocks, &run, &failure);
        note_written(&check, program->memory, view, status);
        status = conclude(&check, launch, view, status, &failure, &made, error);
    }
    if (status == SMK_OK) {
        made.blocks = run.blocks;
        made.blocks_total = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
        *result = made;
    } else {
        smk_check_free(&made);
    }
    smk_memory_view_free(program->memory, view);
    clean_up(&check, status);
    smk_image_free(image);
    return status;
}

void smk_check_free(smk_check_result *result)
{
    if (result != NULL) {
        smk_heap_free(result->finding);
    }
}
