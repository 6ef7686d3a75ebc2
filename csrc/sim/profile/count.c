/* For POSIX threads under -std=c11. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "sim/profile/count.h"

#include "base/heap.h"
#include "ptx/opcode.h"
#include "sim/code/bits.h"
#include "sim/code/program.h"
#include "sim/exec/block.h"
#include "sim/exec/mma.h"
#include "sim/lower/instrument.h"
#include "sim/profile/access_cost.h"
#include "sim/profile/access_counters.h"
#include "sim/profile/barrier_reach.h"
#include "sim/profile/busiest.h"
#include "sim/ptxas/fusion.h"

#include <pthread.h>
#include <string.h>

enum { SAMPLED_MEMORIES = 2 /* the first two of smk_access_cost_memory */ };

const smk_counter_row smk_counter_rows[] = {
#define SMK_COUNTER(id, name, unit, ncu, meaning)                                                                      \
    {name, unit, ncu, meaning, false, SMK_COUNTER_COUNT, SMK_COUNTER_COUNT, 1.0},
#include "sim/profile/counters.def"
#define SMK_RATIO(id, name, above, below, scale, unit, ncu, meaning)                                                   \
    {name, unit, ncu, meaning, true, SMK_COUNTER_##above, SMK_COUNTER_##below, scale},
#include "sim/profile/counters.def"
};

const unsigned smk_counter_row_count = sizeof smk_counter_rows / sizeof smk_counter_rows[0];

/* Counts by instruction id: instructions of all functions are numbered consecutively. */
typedef struct numbers {
    uint64_t *runs; /* of ids at which a run begins: executions, and the sum of their lanes */
    uint64_t *lanes;
    uint64_t *guarded;  /* lanes whose guard was true */
    uint64_t *diverged; /* branches that diverged */
    uint64_t *arrivals; /* of warps at barriers */
    smk_access_cost *totals;
} numbers;

typedef struct counting {
    const smk_module *module;
    bool model, footprint;
    uint64_t blocks; /* to count; 0: all */
    smk_arena arena;
    smk_fusion_access **plan; /* by function; NULL: none of its accesses was lowered */
    smk_status failure;       /* of a fusion plan, reported by `open`, since `selects` cannot fail */
    smk_error error;

    pthread_mutex_t lock; /* guards what follows while blocks run */
    bool ready;
    uint32_t *first; /* by function: id of its first instruction */
    uint32_t instruction_count;
    uint8_t *begins;  /* by id: a run begins here */
    uint32_t *length; /* by id of such: its instructions */
    uint32_t *number; /* by id: number of the access, or SMK_NO_INDEX */
    smk_access_cost_plan *access;
    uint32_t access_count, totals_count;
    uint32_t shared_bytes;
    uint32_t *barrier; /* by id of a barrier: its number; those of one source line have one number */
    uint8_t *reach;    /* by number of a barrier */
    uint32_t barrier_count;
    bool unknown;                 /* all barriers have the widest reach */
    smk_count_variable *variable; /* in shared memory */
    uint32_t variable_count;
    numbers sum;
    smk_footprint_row *rows; /* of the workers that have ended */
    size_t row_count;
    smk_busiest_warp most;
    bool lost; /* no memory was left for the rows */
} counting;

/* The state of one host thread. */
typedef struct worker {
    counting *count;
    const uint32_t *first;
    numbers own;
    smk_access_event source; /* source of the copy whose target follows; mask 0: it reads nothing */
    smk_barrier_reach order;
    smk_footprint *touched; /* NULL: not asked for */
    smk_busiest busiest;    /* the same of its `open` */
} worker;

static smk_status out_of_memory(smk_error *error)
{
    return smk_status_fail(error, SMK_MEMORY, "no memory left to count what a kernel does");
}

/* Lowering --------------------------------------------------------------------------------------- */

static smk_status make_plan(counting *c, const smk_function *function, smk_fusion_access **plan)
{
    smk_cfg cfg;
    smk_status status = smk_cfg_build(function, &c->arena, &cfg, &c->error);
    return status == SMK_OK ? smk_fusion_plan(c->module, function, &cfg, &c->arena, plan, &c->error) : status;
}

static bool selects(void *context, const smk_function *function, uint32_t instruction)
{
    counting *c = context;
    if (!c->model || c->failure != SMK_OK) {
        return true;
    }
    smk_fusion_access **plan = &c->plan[function - c->module->functions];
    if (*plan == NULL) {
        c->failure = make_plan(c, function, plan);
        if (c->failure != SMK_OK) {
            return true;
        }
    }
    return (*plan)[instruction].role != SMK_FUSION_MEMBER && (*plan)[instruction].role != SMK_FUSION_GONE;
}

/* Instruction ids and accesses ------------------------------------------------------------------- */

/* Numbers the accesses of a function; with `room` also fills their plans. */
static void number_accesses(counting *c, uint32_t function, bool room)
{
    const smk_function *f = &c->module->functions[function];
    const smk_fusion_access *plan = c->plan[function];
    for (uint32_t i = 0; i < f->instruction_count; i++) {
        bool touches[SMK_ACCESS_COST_MEMORIES];
        smk_bank_op op;
        if (!smk_access_cost_describe(&f->instructions[i], &op, touches)) {
            continue;
        }
        smk_access_cost_plan access = {.function = function, .instruction = i, .op = (uint8_t)op};
        if (plan != NULL && plan[i].role == SMK_FUSION_LEADER) {
            access.bytes = plan[i].bytes;
            access.shift = plan[i].shift;
            access.more_bytes = plan[i].more_bytes;
            access.more_shift = plan[i].more_shift;
        }
        access.form = plan != NULL ? plan[i].form : (uint8_t)SMK_FUSION_PLAIN;
        access.op = access.form == SMK_FUSION_COUNT ? (uint8_t)SMK_BANK_INCREMENT : access.op;
        access.bypass = smk_module_has(&f->instructions[i], SMK_MODIFIER_CG);
        access.zfill = plan != NULL && plan[i].zfill;
        access.reads_nothing = op == SMK_BANK_ASYNC && smk_access_cost_reads_nothing(&f->instructions[i]);
        for (unsigned memory = 0; memory < SMK_ACCESS_COST_MEMORIES; memory++) {
            access.cost_index[memory] = touches[memory] ? c->totals_count++ : SMK_NO_INDEX;
        }
        const bool loop = access.form == SMK_FUSION_LOOP || access.form == SMK_FUSION_BOUND;
        access.loads = loop ? c->totals_count++ : SMK_NO_INDEX;
        if (room) {
            c->number[c->first[function] + i] = c->access_count;
            c->access[c->access_count] = access;
        }
        c->access_count++;
    }
}

static smk_status allocate_numbers(const counting *c, numbers *n, smk_error *error)
{
    const size_t rows = 5, instructions = c->instruction_count;
    uint64_t *all = smk_heap_allocate(rows * instructions + 1, sizeof *all);
    smk_access_cost *totals = smk_heap_allocate(c->totals_count, sizeof *totals);
    if (all == NULL || totals == NULL) {
        smk_heap_free(all);
        smk_heap_free(totals);
        return out_of_memory(error);
    }
    *n = (numbers){all,   all + instructions, all + 2 * instructions, all + 3 * instructions, all + 4 * instructions,
                   totals};
    return SMK_OK;
}

static void free_numbers(numbers *n)
{
    smk_heap_free(n->runs);
    smk_heap_free(n->totals);
    *n = (numbers){0};
}

static void find_runs(counting *c, const smk_image *image)
{
    for (uint32_t i = 0; i < image->code_count; i++) {
        const smk_code *code = image->code[i];
        for (uint32_t k = 0; k < code->operation_count; k++) {
            if (smk_instrument_is_run(&code->operation[k])) {
                c->begins[c->first[code->index] + code->operation[k].instruction] = 1;
            }
        }
    }
}

static void measure_runs(counting *c)
{
    for (uint32_t f = 0; f < c->module->function_count; f++) {
        uint32_t end = f + 1 < c->module->function_count ? c->first[f + 1] : c->instruction_count, run = c->first[f];
        for (uint32_t id = run; id < end; id++) {
            run = c->begins[id] != 0 ? id : run;
            c->length[run]++;
        }
    }
}

/* Numbers barriers: those of one source line alike. */
static smk_status number_barriers(counting *c, const smk_image *image, smk_error *error)
{
    const smk_instruction **known = smk_arena_allocate(&c->arena, (size_t)c->instruction_count + 1, sizeof *known);
    c->barrier = smk_arena_allocate(&c->arena, (size_t)c->instruction_count + 1, sizeof *c->barrier);
    c->reach = smk_arena_allocate(&c->arena, (size_t)c->instruction_count + 1, 1);
    if (known == NULL || c->barrier == NULL || c->reach == NULL) {
        return out_of_memory(error);
    }
    for (uint32_t k = 0; k < image->code_count; k++) {
        const uint32_t index = image->code[k]->index;
        const smk_function *f = &c->module->functions[index];
        for (uint32_t i = 0; i < f->instruction_count; i++) {
            const smk_instruction *barrier = &f->instructions[i];
            uint32_t number = 0;
            if (smk_opcode_class(barrier) != SMK_CLASS_BARRIER || smk_module_has(barrier, SMK_MODIFIER_WARP)) {
                continue;
            }
            while (number < c->barrier_count &&
                   (barrier->source_line == 0 || known[number]->source_line != barrier->source_line ||
                    known[number]->source_file != barrier->source_file)) {
                number++;
            }
            known[number] = barrier;
            c->barrier[c->first[index] + i] = number;
            c->barrier_count += number == c->barrier_count;
        }
    }
    return SMK_OK;
}

static smk_status list_variables(counting *c, const smk_image *image, smk_error *error)
{
    c->variable = smk_arena_allocate(&c->arena, (size_t)image->shared_count + 1, sizeof *c->variable);
    if (c->variable == NULL) {
        return out_of_memory(error);
    }
    for (uint32_t i = 0; i < image->shared_count; i++) {
        const smk_variable *variable = image->shared[i].variable;
        c->variable[i] = (smk_count_variable){variable->name, image->shared[i].offset, variable->bytes};
    }
    c->variable_count = image->shared_count;
    return SMK_OK;
}

/* Finds what is to be counted, once the code is lowered. Under the lock. */
static smk_status prepare(counting *c, const smk_block *block, smk_error *error)
{
    const smk_image *image = block->run->image;
    const uint32_t functions = c->module->function_count;
    c->first = smk_arena_allocate(&c->arena, functions, sizeof *c->first);
    if (c->first == NULL) {
        return out_of_memory(error);
    }
    c->instruction_count = c->access_count = c->totals_count = 0;
    for (uint32_t i = 0; i < functions; i++) {
        c->first[i] = c->instruction_count;
        if (smk_image_code(image, i) != NULL) {
            c->instruction_count += c->module->functions[i].instruction_count;
            number_accesses(c, i, false);
        }
    }
    c->begins = smk_arena_allocate(&c->arena, (size_t)c->instruction_count + 1, 1);
    c->length = smk_arena_allocate(&c->arena, (size_t)c->instruction_count + 1, sizeof *c->length);
    c->number = smk_arena_allocate(&c->arena, (size_t)c->instruction_count + 1, sizeof *c->number);
    c->access = smk_arena_allocate(&c->arena, (size_t)c->access_count + 1, sizeof *c->access);
    if (c->begins == NULL || c->length == NULL || c->number == NULL || c->access == NULL) {
        return out_of_memory(error);
    }
    smk_status status = list_variables(c, image, error);
    status = status == SMK_OK ? number_barriers(c, image, error) : status;
    status = status == SMK_OK ? allocate_numbers(c, &c->sum, error) : status;
    if (status != SMK_OK) {
        return status;
    }
    for (uint32_t i = 0; i < c->instruction_count; i++) {
        c->number[i] = SMK_NO_INDEX;
    }
    c->access_count = c->totals_count = 0;
    for (uint32_t i = 0; i < image->code_count; i++) {
        number_accesses(c, image->code[i]->index, true);
    }
    find_runs(c, image);
    measure_runs(c);
    c->shared_bytes = block->run->shared_bytes;
    c->ready = true;
    return SMK_OK;
}

/* Running blocks --------------------------------------------------------------------------------- */

static smk_status open_worker(void *context, const smk_block *block, void **state, smk_error *error)
{
    counting *c = context;
    smk_status status = SMK_OK;
    if (c->failure != SMK_OK) {
        *error = c->error;
        return c->failure;
    }
    (void)pthread_mutex_lock(&c->lock);
    if (!c->ready) {
        status = prepare(c, block, error);
    }
    (void)pthread_mutex_unlock(&c->lock);
    if (status != SMK_OK) {
        return status;
    }
    worker *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return out_of_memory(error);
    }
    made->count = c;
    made->first = c->first;
    bool room = smk_barrier_reach_open(&made->order, c->shared_bytes, c->barrier_count);
    made->touched = room && c->footprint ? smk_footprint_open(c->access_count) : NULL;
    room = room && (made->touched != NULL || !c->footprint);
    room =
        room && (!c->footprint || smk_busiest_open(&made->busiest, c->length, c->instruction_count, block->warp_count));
    status = room ? allocate_numbers(c, &made->own, error) : out_of_memory(error);
    if (status != SMK_OK) {
        smk_footprint_close(made->touched);
        smk_busiest_close(&made->busiest);
        smk_barrier_reach_close(&made->order);
        smk_heap_free(made);
        return status;
    }
    *state = made;
    return SMK_OK;
}

static void close_worker(void *context, void *state)
{
    counting *c = context;
    worker *w = state;
    const size_t rows = 5;
    (void)pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < rows * c->instruction_count; i++) {
        c->sum.runs[i] += w->own.runs[i]; /* including the arrays behind it */
    }
    for (uint32_t i = 0; i < c->totals_count; i++) {
        smk_access_cost_merge(&c->sum.totals[i], &w->own.totals[i]);
    }
    for (uint32_t i = 0; i < c->barrier_count; i++) {
        c->reach[i] = c->reach[i] < w->order.reach[i] ? w->order.reach[i] : c->reach[i];
    }
    c->unknown = c->unknown || w->order.unknown;
    c->lost = c->lost || (w->touched != NULL && !smk_footprint_collect(w->touched, &c->rows, &c->row_count));
    smk_busiest_collect(&w->busiest, &c->most);
    (void)pthread_mutex_unlock(&c->lock);
    smk_footprint_close(w->touched);
    smk_busiest_close(&w->busiest);
    smk_barrier_reach_close(&w->order);
    free_numbers(&w->own);
    smk_heap_free(w);
}

static uint32_t get_id(const worker *w, const smk_operation *op)
{
    return w->first[op->function] + op->instruction;
}

static uint32_t count_lanes(uint32_t mask)
{
    return mask == UINT32_MAX ? SMK_WARP_SIZE : smk_bits_count(mask);
}

static void note_run(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask)
{
    worker *w = state;
    uint32_t id = get_id(w, op);
    w->own.runs[id]++;
    if (w->busiest.open != NULL) {
        smk_busiest_note(&w->busiest, warp->control->index, id);
    }
    w->own.lanes[id] += count_lanes(mask);
}

static void note_guarded(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask)
{
    worker *w = state;
    (void)warp;
    w->own.guarded[get_id(w, op)] += count_lanes(mask);
}

static void note_branch(void *state, const smk_warp *warp, const smk_operation *op, uint32_t taken, uint32_t stayed)
{
    worker *w = state;
    uint32_t id = get_id(w, op);
    (void)warp;
    w->own.guarded[id] += count_lanes(taken);
    w->own.diverged[id] += taken != 0 && stayed != 0;
}

/* The cost of a copy depends on source and target. */
static void note_copy(worker *w, const smk_access_cost_plan *access, const smk_warp *warp,
                      const smk_access_event *event)
{
    if (event->kind == SMK_ACCESS_COPY) {
        smk_access_cost_add_copy(w->own.totals, access, warp, &w->source, event);
        w->source.mask = 0;
    } else {
        w->source = *event;
    }
}

static void begin_block(void *state, const smk_block *block)
{
    worker *w = state;
    smk_barrier_reach_begin(&w->order);
    if (w->touched != NULL) {
        const smk_dim3 *grid = &block->run->launch->grid;
        smk_footprint_begin(w->touched, block->number, (uint64_t)grid->x * grid->y * grid->z, w->count->blocks);
        smk_busiest_begin(&w->busiest, block->number);
    }
}

/* Follows an access as the machine makes it. */
static void follow(worker *w, const smk_access_cost_plan *access, const smk_warp *warp, const smk_access_event *event)
{
    const smk_instruction *instruction =
        &w->count->module->functions[access->function].instructions[access->instruction];
    unsigned bytes = access->bytes != 0 ? access->bytes : event->bytes;
    smk_barrier_reach_note(&w->order, warp, event, bytes, access->shift, instruction);
    if (access->more_bytes != 0) {
        smk_barrier_reach_note(&w->order, warp, event, access->more_bytes, access->more_shift, instruction);
    }
}

static uint32_t note_access(void *state, const smk_warp *warp, const smk_access_event *event)
{
    worker *w = state;
    uint32_t number = w->count->number[get_id(w, event->op)];
    if (number != SMK_NO_INDEX) {
        const smk_access_cost_plan *access = &w->count->access[number];
        follow(w, access, warp, event);
        if (w->touched != NULL && access->cost_index[SMK_ACCESS_COST_GLOBAL] != SMK_NO_INDEX) {
            smk_access_cost_touch(w->touched, number, access, warp->control->index, event);
        }
        if (access->op == SMK_BANK_ASYNC) {
            note_copy(w, access, warp, event);
            return event->mask;
        }
        smk_access_cost_add(w->own.totals, access, warp, event);
        if (access->more_bytes != 0) {
            smk_access_cost_plan second = *access;
            second.bytes = access->more_bytes;
            second.shift = access->more_shift;
            smk_access_cost_add(w->own.totals, &second, warp, event);
        }
    }
    return event->mask;
}

static void note_arrival(void *state, const smk_warp *warp, const smk_operation *op, uint32_t barrier, bool waits)
{
    worker *w = state;
    uint32_t id = get_id(w, op);
    (void)barrier;
    (void)waits;
    w->own.arrivals[id]++;
    smk_barrier_reach_arrive(&w->order, warp, &w->count->module->functions[op->function].instructions[op->instruction],
                             w->count->barrier[id]);
}

/* Other events of synchronisation are not counted. */
static void ignore_release(void *state, const smk_block *block, uint32_t barrier, uint32_t waited)
{
    (void)state;
    (void)block;
    (void)barrier;
    (void)waited;
}

static void ignore_lanes(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask)
{
    (void)state;
    (void)warp;
    (void)op;
    (void)mask;
}

/* What a fence orders may be seen by other blocks. */
static void note_fence(void *state, const smk_warp *warp, const smk_operation *op, uint32_t mask)
{
    worker *w = state;
    ignore_lanes(state, warp, op, mask);
    w->order.unknown = true;
}

static void ignore_missing(void *state, const smk_warp *warp, const struct smk_parked *parked, uint32_t missing)
{
    (void)state;
    (void)warp;
    (void)parked;
    (void)missing;
}

static void ignore_landing(void *state, const smk_warp *warp, const smk_operation *op, const smk_pending_copy *copy)
{
    (void)state;
    (void)warp;
    (void)op;
    (void)copy;
}

/* Results ---------------------------------------------------------------------------------------- */

/* `run` is the id at which its run begins. */
static void fill_line(const counting *c, smk_count_line *line, uint32_t run)
{
    const smk_instruction *instruction = &c->module->functions[line->function].instructions[line->instruction];
    const smk_fusion_access *plan = c->plan[line->function];
    uint32_t id = c->first[line->function] + line->instruction;
    uint64_t *value = line->value;
    line->busiest = c->most.runs == NULL ? 0 : c->most.runs[run];
    line->role = plan == NULL ? (uint8_t)SMK_FUSION_ALONE : plan[line->instruction].role;
    value[SMK_COUNTER_INSTRUCTIONS_WARP] = c->sum.runs[run];
    value[SMK_COUNTER_INSTRUCTIONS_THREAD] = instruction->guarded ? c->sum.guarded[id] : c->sum.lanes[run];
    if (smk_opcode_class(instruction) == SMK_CLASS_BRANCH) {
        value[SMK_COUNTER_BRANCH_INSTRUCTIONS] = c->sum.runs[run];
        value[SMK_COUNTER_BRANCH_DIVERGENT] = c->sum.diverged[id];
        value[SMK_COUNTER_BRANCH_UNIFORM] = c->sum.runs[run] - c->sum.diverged[id];
    }
    const uint32_t products = smk_mma_products(instruction);
    if (products > 0) { /* by all lanes of a warp, or by none */
        value[SMK_COUNTER_MATRIX_INSTRUCTIONS] = value[SMK_COUNTER_INSTRUCTIONS_THREAD] / SMK_WARP_SIZE;
        value[SMK_COUNTER_MATRIX_PRODUCTS] = value[SMK_COUNTER_MATRIX_INSTRUCTIONS] * products;
    }
    value[SMK_COUNTER_BARRIER_COUNT] = c->sum.arrivals[id];
    line->reach = c->unknown ? (uint8_t)SMK_BARRIER_REACH_THREADS : c->reach[c->barrier[id]];
    if (c->number[id] != SMK_NO_INDEX) {
        smk_access_counters_add(value, &c->access[c->number[id]], c->sum.totals);
    }
}

/* Lists all executed instructions; with `line` NULL only counts them. */
static uint32_t list_lines(const counting *c, smk_count_line *line)
{
    uint32_t count = 0;
    for (uint32_t f = 0; f < c->module->function_count; f++) {
        uint32_t end = f + 1 < c->module->function_count ? c->first[f + 1] : c->instruction_count, run = c->first[f];
        for (uint32_t id = c->first[f]; id < end; id++) {
            run = c->begins[id] != 0 ? id : run;
            if (c->sum.runs[run] == 0) {
                continue;
            }
            if (line != NULL) {
                line[count].function = f;
                line[count].instruction = id - c->first[f];
                fill_line(c, &line[count], run);
            }
            count++;
        }
    }
    return count;
}

static uint32_t list_samples(const counting *c, smk_count_sample *sample)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->access_count; i++) {
        const smk_access_cost_plan *access = &c->access[i];
        for (unsigned memory = 0; memory < SAMPLED_MEMORIES; memory++) {
            const smk_access_cost *total =
                access->cost_index[memory] == SMK_NO_INDEX ? NULL : &c->sum.totals[access->cost_index[memory]];
            if (total == NULL || total->best == 0) {
                continue;
            }
            if (sample != NULL) {
                const smk_access_cost_sample *from = &total->sample;
                smk_count_sample *to = &sample[count];
                to->function = access->function;
                to->instruction = access->instruction;
                to->shared = memory == SMK_ACCESS_COST_SHARED;
                to->op = access->op;
                to->bytes = from->bytes;
                to->mask = from->mask;
                to->cost = total->best;
                memcpy(to->block, from->block, sizeof to->block);
                to->warp = from->warp;
                memcpy(to->address, from->address, sizeof to->address);
            }
            count++;
        }
    }
    return count;
}

/* Hands the rows to the result, with the index of the line in place of the number of the access. */
static void move_footprint(counting *c, smk_count_result *result)
{
    for (size_t i = 0; i < c->row_count; i++) {
        const smk_access_cost_plan *access = &c->access[c->rows[i].access];
        uint32_t line = 0;
        while (result->line[line].function != access->function ||
               result->line[line].instruction != access->instruction) {
            line++;
        }
        c->rows[i].access = line;
    }
    smk_footprint_settle(c->rows, c->row_count);
    result->footprint = c->rows;
    result->footprint_count = c->row_count;
    result->warp_most = c->most.instructions;
    result->block_most = c->most.block_most;
    c->rows = NULL;
}

static smk_status make_result(counting *c, smk_count_result *result, smk_error *error)
{
    result->line_count = list_lines(c, NULL);
    result->sample_count = list_samples(c, NULL);
    result->line = smk_heap_allocate((size_t)result->line_count + 1, sizeof *result->line);
    result->sample = smk_heap_allocate((size_t)result->sample_count + 1, sizeof *result->sample);
    result->variable = smk_heap_allocate((size_t)c->variable_count + 1, sizeof *result->variable);
    if (result->line == NULL || result->sample == NULL || result->variable == NULL || c->lost) {
        return out_of_memory(error);
    }
    for (uint32_t i = 0; i < c->variable_count; i++) {
        result->variable[result->variable_count++] = c->variable[i];
    }
    (void)list_lines(c, result->line);
    (void)list_samples(c, result->sample);
    move_footprint(c, result);
    for (uint32_t i = 0; i < result->line_count; i++) {
        for (unsigned k = 0; k < SMK_COUNTER_COUNT; k++) {
            result->total[k] += result->line[i].value[k];
        }
    }
    return SMK_OK;
}

smk_status smk_count_run(smk_program *program, uint32_t entry, const smk_launch *launch, const smk_run_options *options,
                         const smk_count_options *wanted, smk_count_result *result, smk_error *error)
{
    counting c = {
        .module = program->module, .model = wanted->model, .footprint = wanted->footprint, .blocks = wanted->blocks};
    smk_observer observer = {
        .context = &c,
        .wants = SMK_OBSERVE_RUNS | SMK_OBSERVE_BRANCHES | SMK_OBSERVE_ACCESSES | SMK_OBSERVE_SYNCHRONIZATION,
        .selects = selects,
        .open = open_worker,
        .close = close_worker,
        .begin = begin_block,
        .run = note_run,
        .guarded = note_guarded,
        .branch = note_branch,
        .access = note_access,
        .arrive = note_arrival,
        .release = ignore_release,
        .warp_sync = ignore_lanes,
        .missing_lanes = ignore_missing,
        .fence = note_fence,
        .copy_done = ignore_landing,
    };
    smk_count_result made = {.modelled = wanted->model};
    const smk_dim3 *grid = &launch->grid;
    c.plan = smk_arena_allocate(&c.arena, (size_t)c.module->function_count + 1, sizeof *c.plan);
    if (c.plan == NULL || pthread_mutex_init(&c.lock, NULL) != 0) {
        smk_arena_free(&c.arena);
        return out_of_memory(error);
    }
    smk_status status =
        smk_instrument_run(program, entry, launch, options, &observer, wanted->blocks, &made.run, error);
    if (status == SMK_OK) {
        made.blocks = made.run.blocks;
        made.blocks_total = (uint64_t)grid->x * grid->y * grid->z;
        made.shared_bytes = c.shared_bytes;
        status = make_result(&c, &made, error);
    }
    if (status == SMK_OK) {
        *result = made;
    } else {
        smk_count_free(&made);
    }
    free_numbers(&c.sum);
    smk_heap_free(c.rows);
    smk_heap_free(c.most.runs);
    (void)pthread_mutex_destroy(&c.lock);
    smk_arena_free(&c.arena);
    return status;
}

void smk_count_free(smk_count_result *result)
{
    if (result != NULL) {
        smk_heap_free(result->line);
        smk_heap_free(result->sample);
        smk_heap_free(result->variable);
        smk_heap_free(result->footprint);
        result->line = NULL;
        result->sample = NULL;
        result->variable = NULL;
        result->footprint = NULL;
        result->footprint_count = 0;
        result->line_count = result->sample_count = result->variable_count = 0;
    }
}
