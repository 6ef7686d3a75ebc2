#include "sim/lower/register_layout.h"

#include "base/heap.h"
#include "base/poll.h"
#include "sim/code/bits.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_ALIGNMENT = 64 };

/* Functions with more bits of liveness get one row for each register. */
#define LIVENESS_BITS_MAX (UINT64_C(1) << 27)
/* The largest frame that is accepted. */
#define FRAME_BYTES_MAX (UINT64_C(1) << 30)

static void visit_operand(const smk_operand *operand, bool writes, void (*visit)(void *, uint32_t, bool), void *context)
{
    if (operand->kind == SMK_OPERAND_REGISTER) {
        visit(context, operand->index, writes);
    } else if (operand->kind == SMK_OPERAND_ADDRESS && operand->base_kind == SMK_OPERAND_REGISTER) {
        visit(context, operand->index, false);
    } else if (operand->kind == SMK_OPERAND_LIST) {
        for (uint32_t i = 0; i < operand->count; i++) {
            const smk_operand *element = &operand->element[i];
            if (element->kind == SMK_OPERAND_REGISTER) { /* lists do not nest */
                visit(context, element->index, writes);
            }
        }
    }
}

void smk_register_layout_visit(const smk_instruction *instruction, void (*visit)(void *, uint32_t, bool), void *context)
{
    unsigned results = instruction->result_count;
    if (instruction->guarded) {
        visit(context, instruction->guard, false);
    }
    /* reads first: a value that the instruction itself writes must not count as one */
    for (unsigned i = results; i < instruction->operand_count; i++) {
        visit_operand(&instruction->operands[i], false, visit, context);
    }
    for (unsigned i = 0; i < results && i < instruction->operand_count; i++) {
        visit_operand(&instruction->operands[i], true, visit, context);
    }
}

/* Liveness and live intervals. The interval of a register extends from the first to the last position at which it is
 * live; instruction i reads at 2i and writes at 2i + 1. */
typedef struct allocator {
    const smk_function *function;
    const smk_cfg *cfg;
    size_t words;                    /* words of a set of registers */
    uint64_t *read, *written, *live; /* by block: read before written, written by all its lanes, live at its start */
    uint32_t *first, *last;          /* interval; first > last: empty */
    /* of the visited instruction */
    uint32_t block, instruction;
    bool guarded, pair;
} allocator;

static bool contains(const uint64_t *set, uint32_t index)
{
    return (set[index / 64] >> index % 64 & 1) != 0;
}

static void insert(uint64_t *set, uint32_t index)
{
    set[index / 64] |= UINT64_C(1) << index % 64;
}

static void note_access(void *context, uint32_t index, bool writes)
{
    allocator *a = context;
    uint64_t *read = a->read + a->block * a->words, *written = a->written + a->block * a->words;
    /* a guarded result keeps the values of the other lanes, so it is also read */
    if ((!writes || a->guarded) && !contains(written, index)) {
        insert(read, index);
    }
    if (writes && !a->guarded) {
        insert(written, index);
    }
}

static void extend(allocator *a, uint32_t index, uint32_t position)
{
    a->first[index] = position < a->first[index] ? position : a->first[index];
    a->last[index] = position > a->last[index] ? position : a->last[index];
}

static void note_position(void *context, uint32_t index, bool writes)
{
    allocator *a = context;
    extend(a, index, 2 * a->instruction + (writes ? 1 : 0));
    /* handlers with two results may write the first before they have read all operands */
    if (a->pair && !writes) {
        extend(a, index, 2 * a->instruction + 1);
    }
}

static void visit_all(allocator *a, void (*visit)(void *, uint32_t, bool))
{
    for (a->block = 0; a->block < a->cfg->graph.count && !smk_poll_stop(); a->block++) {
        for (a->instruction = a->cfg->first[a->block]; a->instruction < a->cfg->first[a->block + 1]; a->instruction++) {
            const smk_instruction *instruction = &a->function->instructions[a->instruction];
            a->guarded = instruction->guarded;
            a->pair = instruction->operand_count > 0 && instruction->operands[0].kind == SMK_OPERAND_LIST;
            smk_register_layout_visit(instruction, visit, a);
        }
    }
}

/* Backward data-flow analysis: live(b) = read(b) or (union of live(successors) and not written(b)), to the fixed
 * point. */
static void solve(allocator *a)
{
    const smk_cfg_graph *graph = &a->cfg->graph;
    memcpy(a->live, a->read, graph->count * a->words * sizeof *a->live);
    for (bool changed = true; changed && !smk_poll_stop();) {
        changed = false;
        for (uint32_t block = graph->count; block-- > 0 && !smk_poll_stop();) {
            uint64_t *live = a->live + block * a->words;
            const uint64_t *written = a->written + block * a->words;
            for (uint32_t j = graph->start[block]; j < graph->start[block + 1]; j++) {
                const uint64_t *next = a->live + graph->successor[j] * a->words;
                for (size_t word = 0; word < a->words; word++) {
                    uint64_t more = next[word] & ~written[word] & ~live[word];
                    live[word] |= more;
                    changed = changed || more != 0;
                }
            }
        }
    }
}

/* Extends intervals of registers that are live across the edges of a block. */
static void stretch(allocator *a)
{
    const smk_cfg_graph *graph = &a->cfg->graph;
    for (uint32_t block = 0; block < graph->count && !smk_poll_stop(); block++) {
        uint32_t start = 2 * a->cfg->first[block], end = 2 * a->cfg->first[block + 1] - 1;
        for (size_t word = 0; word < a->words; word++) {
            uint64_t in = a->live[block * a->words + word], out = 0;
            for (uint32_t j = graph->start[block]; j < graph->start[block + 1]; j++) {
                out |= a->live[graph->successor[j] * a->words + word];
            }
            for (uint64_t left = in; left != 0; left &= left - 1) {
                extend(a, (uint32_t)(word * 64) + smk_bits_first64(left), start);
            }
            for (uint64_t left = out; left != 0; left &= left - 1) {
                extend(a, (uint32_t)(word * 64) + smk_bits_first64(left), end);
            }
        }
    }
}

/* Results and parameters in registers are live from call to return. */
static void stretch_parameters(allocator *a)
{
    const smk_function *function = a->function;
    if (function->parameter_registers == NULL) {
        return;
    }
    for (uint32_t i = 0; i < function->result_count + function->parameter_count; i++) {
        uint32_t index = function->parameter_registers[i];
        if (index != SMK_NO_INDEX) {
            extend(a, index, 0);
            extend(a, index, 2 * function->instruction_count + 1);
        }
    }
}

static unsigned class_of(unsigned bits)
{
    return bits == 1 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
}

static uint32_t class_bytes(unsigned class)
{
    static const uint32_t bytes[4] = {4, 2 * SMK_WARP_SIZE, 4 * SMK_WARP_SIZE, 8 * SMK_WARP_SIZE};
    return bytes[class];
}

/* Assigns offsets to row numbers, class by class. */
static smk_status assign_offsets(const smk_function *function, const uint32_t rows[4], smk_register_layout *made,
                                 smk_error *error)
{
    uint64_t base[4], next = 0;
    for (unsigned class = 0; class < 4; class ++) {
        base[class] = next;
        next += (uint64_t)rows[class] * class_bytes(class);
        next = (next + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
    }
    if (next > FRAME_BYTES_MAX) {
        return smk_status_fail(error, SMK_MEMORY, "the registers of %.*s take %llu bytes a warp",
                               SMK_TEXT_PRINT(function->name), (unsigned long long)next);
    }
    for (uint32_t i = 0; i < function->register_count; i++) {
        unsigned class = class_of(smk_operation_row_bits((smk_type)function->registers[i].type));
        made->offset[i] = (uint32_t)(base[class] + (uint64_t)made->offset[i] * class_bytes(class));
    }
    made->bytes = (uint32_t)next;
    return SMK_OK;
}

/* Linear scan (Poletto and Sarkar, "Linear Scan Register Allocation", 1999), without spilling: as the position
 * advances, rows of intervals that have ended are free for those that begin. */
static void scan(const allocator *a, const uint32_t *starts, const uint32_t *ends, const uint32_t *next_start,
                 const uint32_t *next_end, uint32_t *free_rows, uint32_t *row, uint32_t rows[4])
{
    const smk_function *function = a->function;
    uint32_t free_count[4] = {0, 0, 0, 0}, positions = 2 * function->instruction_count + 2;
    for (uint32_t position = 0; position < positions; position++) {
        if (position > 0) {
            for (uint32_t i = ends[position - 1]; i != SMK_NO_INDEX; i = next_end[i]) {
                unsigned class = class_of(smk_operation_row_bits((smk_type)function->registers[i].type));
                free_rows[(size_t) class * function->register_count + free_count[class]++] = row[i];
            }
        }
        for (uint32_t i = starts[position]; i != SMK_NO_INDEX; i = next_start[i]) {
            unsigned class = class_of(smk_operation_row_bits((smk_type)function->registers[i].type));
            row[i] = free_count[class] > 0 ? free_rows[(size_t) class * function->register_count + --free_count[class]]
                                           : rows[class]++;
        }
    }
}

static smk_status share_rows(allocator *a, smk_register_layout *made, smk_error *error)
{
    const smk_function *function = a->function;
    size_t registers = function->register_count, positions = 2 * (size_t)function->instruction_count + 2;
    uint32_t *block = smk_heap_allocate(2 * positions + 6 * registers, sizeof *block);
    if (block == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory to lay out %zu registers", registers);
    }
    uint32_t *starts = block, *ends = block + positions, *next_start = ends + positions;
    uint32_t *next_end = next_start + registers, *free_rows = next_end + registers, rows[4] = {0, 0, 0, 0};
    memset(starts, 0xff, 2 * positions * sizeof *block);
    for (size_t i = registers; i-- > 0;) {
        if (a->first[i] <= a->last[i]) {
            next_start[i] = starts[a->first[i]];
            starts[a->first[i]] = (uint32_t)i;
            next_end[i] = ends[a->last[i]];
            ends[a->last[i]] = (uint32_t)i;
        }
    }
    scan(a, starts, ends, next_start, next_end, free_rows, made->offset, rows);
    smk_heap_free(block);
    return assign_offsets(function, rows, made, error);
}

/* Registers that are live at the function's start are not written on some path: their rows are cleared, so that
 * results are reproducible. */
static smk_status note_cleared(const allocator *a, smk_arena *arena, smk_register_layout *made, smk_error *error)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->function->register_count; i++) {
        count += a->cfg->graph.count > 0 && contains(a->live, i) ? 1 : 0;
    }
    made->cleared = smk_arena_allocate(arena, (size_t)count + 1, sizeof *made->cleared);
    if (made->cleared == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory to lay out registers");
    }
    for (uint32_t i = 0; i < a->function->register_count && count > 0; i++) {
        if (contains(a->live, i)) {
            unsigned class = class_of(smk_operation_row_bits((smk_type)a->function->registers[i].type));
            made->cleared[made->cleared_count++] = (smk_row_range){made->offset[i], class_bytes(class)};
        }
    }
    return SMK_OK;
}

/* The function is too large to analyse: one row for each register, all cleared. */
static smk_status give_each(const smk_function *function, smk_arena *arena, smk_register_layout *made, smk_error *error)
{
    uint32_t rows[4] = {0, 0, 0, 0};
    for (uint32_t i = 0; i < function->register_count; i++) {
        made->offset[i] = rows[class_of(smk_operation_row_bits((smk_type)function->registers[i].type))]++;
    }
    smk_status status = assign_offsets(function, rows, made, error);
    if (status != SMK_OK) {
        return status;
    }
    made->cleared = smk_arena_allocate(arena, 1, sizeof *made->cleared);
    if (made->cleared == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory to lay out registers");
    }
    made->cleared[0] = (smk_row_range){0, made->bytes};
    made->cleared_count = 1;
    return SMK_OK;
}

static smk_status share(allocator *a, smk_arena *arena, smk_register_layout *made, smk_error *error)
{
    size_t registers = a->function->register_count, blocks = a->cfg->graph.count;
    a->words = registers / 64 + 1;
    uint64_t *sets = smk_heap_allocate(3 * (blocks + 1) * a->words, sizeof *sets);
    uint32_t *intervals = smk_heap_allocate(2 * registers + 2, sizeof *intervals);
    smk_status status = SMK_MEMORY;
    if (sets == NULL || intervals == NULL) {
        (void)smk_status_fail(error, SMK_MEMORY, "no memory to lay out %zu registers", registers);
    } else {
        a->read = sets;
        a->written = sets + (blocks + 1) * a->words;
        a->live = sets + 2 * (blocks + 1) * a->words;
        a->first = intervals;
        a->last = intervals + registers + 1;
        memset(a->first, 0xff, registers * sizeof *intervals);
        visit_all(a, note_access);
        solve(a);
        visit_all(a, note_position);
        stretch(a);
        stretch_parameters(a);
        status = smk_poll_check(error);
        if (status == SMK_OK) {
            status = share_rows(a, made, error);
        }
        if (status == SMK_OK) {
            status = note_cleared(a, arena, made, error);
        }
    }
    smk_heap_free(sets);
    smk_heap_free(intervals);
    return status;
}

smk_status smk_register_layout_assign(const smk_function *function, const smk_cfg *cfg, smk_arena *arena,
                                      smk_register_layout *rows, smk_error *error)
{
    smk_register_layout made = {0};
    made.offset = smk_arena_allocate(arena, (size_t)function->register_count + 1, sizeof *made.offset);
    if (made.offset == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory to lay out %u registers", function->register_count);
    }
    for (uint32_t i = 0; i < function->register_count; i++) {
        if (smk_operation_row_bits((smk_type)function->registers[i].type) == 0) {
            smk_status status =
                smk_status_fail(error, SMK_UNSUPPORTED, "the register %.*s has a type (.%s) without rows",
                                SMK_TEXT_PRINT(function->registers[i].name),
                                smk_module_type_name((smk_type)function->registers[i].type));
            if (error != NULL) {
                error->ptx_line = function->line;
            }
            return status;
        }
    }
    allocator a = {.function = function, .cfg = cfg};
    uint64_t bits = (uint64_t)function->register_count * ((uint64_t)cfg->graph.count + 1);
    smk_status status =
        bits > LIVENESS_BITS_MAX ? give_each(function, arena, &made, error) : share(&a, arena, &made, error);
    if (status == SMK_OK) {
        *rows = made;
    }
    return status;
}
