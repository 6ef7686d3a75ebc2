/* Plans of reduce_axis: one launch each; long axes are cut into parts. */
#include "registry/plan.h"

#include <string.h>

/* m, n, k: what lies before the axis, the axis, and what lies behind it. */
enum { DIMENSION_M, DIMENSION_N, DIMENSION_K };

/* As in the kernels: threads of a block, bytes of a read; short rows of a group of lanes (warp); the reads of a thread
 * that are under way (strip); the rows of a warp that are (panel). */
enum { THREADS = 256, WARPS = 8, READ_BYTES = 16, SHORT_ROWS = 4, PACKS = 4, ROWS = 8 };

/* Blocks that a multiprocessor holds, as the kernels' launch bounds say, and among which strips and panels are shared;
 * fewer where an index is found. */
enum { BLOCKS_EACH = 4, INDEX_BLOCKS_EACH = 3 };

/* Turns of a warp, of several rows each, that pay for a part of a panel, where each multiprocessor has a block. */
enum { PART_TURNS = 4 };

/* The reads of a row for each lane; those up to which each has a lane, and those of a warp's lane from which on a row is
 * long, where rows begin at reads and where they begin anywhere. */
enum { LANE_READS = 5, FEW_READS = 4, LONG_READS = 2, LONG_ANYWHERE = 1 };

/* The bytes of a part's value: of the largest accumulator, an element and its index. */
enum { PART_BYTES = 16, ALIGNMENT = 256 };

typedef struct axis_shape {
    int64_t m, n, k, items; /* items: elements of a read of 16 bytes */
    int64_t multiprocessors;
} axis_shape;

static axis_shape read_shape(const smk_request *request)
{
    const int64_t *d = request->dimensions, multiprocessors = request->machine->multiprocessors;
    return (axis_shape){d[DIMENSION_M], d[DIMENSION_N], d[DIMENSION_K], READ_BYTES / (int64_t)request->item_bytes,
                        multiprocessors > 0 ? multiprocessors : 1};
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static double share(double part, double whole)
{
    return part < whole ? part / whole : 1.0;
}

static int64_t find_divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : find_divisor(b, a % b);
}

/* A launch of `blocks` blocks with (x, out, m, n, k); no step where the result has no elements. */
static smk_status begin(const smk_request *request, int64_t blocks, smk_plan *plan, smk_error *error)
{
    const axis_shape shape = read_shape(request);
    *plan = (smk_plan){.step_count = shape.m > 0 && shape.k > 0, .shares_memory = true};
    if (plan->step_count == 0) {
        return SMK_OK;
    }
    if (shape.n == 0 && strcmp(request->choice, "sum") != 0) {
        return smk_status_fail(error, SMK_ARGUMENT, "reduce_axis: no elements have no %s; give it at least one",
                               request->choice);
    }
    if (blocks > INT32_MAX) {
        return smk_status_fail(error, SMK_LAUNCH, "reduce_axis variant '%s': %lld blocks, a grid has %lld at most",
                               request->variant->name, (long long)blocks, (long long)INT32_MAX);
    }
    smk_step *step = &plan->step[0];
    step->grid = (smk_dim3){(uint32_t)blocks, 1, 1};
    step->block = (smk_dim3){THREADS, 1, 1};
    smk_plan_add(step, SMK_SOURCE_OPERAND, 0);
    smk_plan_add(step, SMK_SOURCE_OPERAND, 1);
    smk_plan_add(step, SMK_SOURCE_NUMBER, shape.m);
    smk_plan_add(step, SMK_SOURCE_NUMBER, shape.n);
    smk_plan_add(step, SMK_SOURCE_NUMBER, shape.k);
    return SMK_OK;
}

/* (parts, tickets, partial): a ticket for each of `groups` groups of blocks, and for each part of them its values. */
static void add_parts(smk_plan *plan, int64_t parts, int64_t groups, int64_t values)
{
    const int64_t tickets = smk_plan_divide_up(groups * (int64_t)sizeof(uint32_t), ALIGNMENT) * ALIGNMENT;
    smk_step *step = &plan->step[0];
    smk_plan_add(step, SMK_SOURCE_NUMBER, parts);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, 0);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, tickets);
    plan->restores_workspace = true;
    plan->workspace_bytes = parts > 1 ? (uint64_t)(tickets + parts * values * PART_BYTES) : ALIGNMENT;
}

/* The parts of a row's speed that shapes allow, by trial on an H200: bytes of a row that the lanes of a warp may read one
 * after the other and still find in the L1 cache, all of them or most; threads that keep the memory busy; bytes of a strip
 * that pay for a block's end. */
enum { CACHED_BYTES = 64, CACHED_MOST = 144, BUSY_THREADS = 1 << 17, BUSY_LANES = 1 << 14, STRIP_BYTES = 1 << 14 };

static bool finds_index(const smk_request *request)
{
    return strncmp(request->choice, "arg", 3) == 0;
}

static double judge_thread(const smk_request *request, const axis_shape *shape)
{
    const double item_bytes = (double)request->item_bytes;
    const double column_bytes = (double)shape->n * (double)shape->k * item_bytes;
    if (shape->k >= SMK_WARP_SIZE) {
        return share((double)shape->m * (double)shape->k, BUSY_THREADS);
    }
    if (column_bytes <= CACHED_BYTES) {
        return finds_index(request) ? 1.0 : shape->n % shape->items != 0 && shape->items == 2 ? 0.8 : 0.95;
    }
    return column_bytes <= CACHED_MOST ? 0.95 : 0.3;
}

static double judge_warp(const smk_request *request, const axis_shape *shape, bool is_packed, int64_t lanes)
{
    const double row_bytes = (double)shape->n * (double)request->item_bytes;
    if (shape->k > 1) {
        return 0.1; /* each lane reads a sector of its own */
    }
    const bool exchanges = finds_index(request); /* more words for each element */
    const double short_form = is_packed && !exchanges ? 1.0 : 0.9;
    const double long_form = exchanges ? 1.06 : 0.98;
    const double form = row_bytes <= CACHED_BYTES              ? short_form
                        : row_bytes > STRIP_BYTES && is_packed ? long_form
                        : is_packed                            ? 1.0
                                                               : 0.85;
    return form * share((double)shape->m * (double)lanes, row_bytes > STRIP_BYTES ? BUSY_THREADS : BUSY_LANES);
}

static double judge_strip(const axis_shape *shape, double item_bytes)
{
    const double form = shape->k > 64 ? 0.75 : (shape->k & (shape->k - 1)) != 0 ? 0.92 : 1.0;
    return form * share((double)shape->n * (double)shape->k * item_bytes, STRIP_BYTES);
}

static double judge_panel(const axis_shape *shape, int64_t down)
{
    const int64_t width = SMK_WARP_SIZE * shape->items, panels = smk_plan_divide_up(shape->k, width);
    const double used = panels > 0 ? (double)shape->k / (double)(panels * width) : 1.0;
    return used * (down == 1 ? 0.88 : 1.0) * share((double)shape->n, ROWS);
}

smk_status smk_plan_reduce_axis_thread(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const axis_shape shape = read_shape(request);
    smk_plan made;
    smk_status status = begin(request, smk_plan_divide_up(shape.m * shape.k, THREADS), &made, error);
    if (status == SMK_OK) {
        made.efficiency = judge_thread(request, &shape);
        *plan = made;
    }
    return status;
}

/* (..., lanes, rows): a lane for some reads of a row, at most a warp's. Of long rows one at a time, wherever it begins. */
smk_status smk_plan_reduce_axis_warp(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const axis_shape shape = read_shape(request);
    const bool is_aligned = shape.n % shape.items == 0;
    const int64_t least = (is_aligned ? LONG_READS : LONG_ANYWHERE) * SMK_WARP_SIZE;
    const bool is_long = shape.k == 1 && shape.n / shape.items >= least;
    const bool is_packed = is_long || (shape.k == 1 && is_aligned);
    const int64_t reads = is_packed ? shape.n / shape.items : shape.n;
    int64_t lanes = 1;
    const int64_t each = is_packed && reads <= FEW_READS ? 1 : LANE_READS;
    while (lanes * each < reads && lanes < SMK_WARP_SIZE) {
        lanes *= 2;
    }
    const int64_t rows = is_long ? 1 : SHORT_ROWS;
    smk_plan made;
    smk_status status = begin(request, smk_plan_divide_up(shape.m * shape.k, THREADS / lanes * rows), &made, error);
    if (status == SMK_OK) {
        smk_plan_add(&made.step[0], SMK_SOURCE_NUMBER, lanes);
        smk_plan_add(&made.step[0], SMK_SOURCE_NUMBER, rows);
        made.efficiency = judge_warp(request, &shape, is_packed, lanes);
        *plan = made;
    }
    return status;
}

/* Blocks that the machine holds at once. */
static int64_t count_blocks(const smk_request *request, const axis_shape *shape)
{
    return shape->multiprocessors * (finds_index(request) ? INDEX_BLOCKS_EACH : BLOCKS_EACH);
}

/* (..., period, parts, tickets, partial) */
smk_status smk_plan_reduce_axis_strip(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const axis_shape shape = read_shape(request);
    if (shape.k > THREADS) {
        return smk_status_fail(error, SMK_ARGUMENT,
                               "reduce_axis variant 'strip': k is %lld, a block's %d threads take at most as many "
                               "columns; the variant 'panel' takes any",
                               (long long)shape.k, THREADS);
    }
    const bool is_packed = shape.k == 1 || (shape.k > 0 && shape.n * shape.k % shape.items == 0);
    const int64_t items = is_packed ? shape.items : 1;
    const int64_t period = greater(1, shape.k / find_divisor(items, shape.k));
    const int64_t most = shape.n * shape.k / (THREADS * PACKS * items);
    const int64_t blocks = count_blocks(request, &shape), strips = greater(1, shape.m);
    const int64_t parts = greater(1, lesser(blocks / strips, most));
    smk_plan made;
    smk_status status = begin(request, shape.m * parts, &made, error);
    if (status == SMK_OK) {
        smk_plan_add(&made.step[0], SMK_SOURCE_NUMBER, period);
        add_parts(&made, parts, shape.m, shape.m * shape.k);
        made.efficiency = judge_strip(&shape, (double)request->item_bytes);
        *plan = made;
    }
    return status;
}

/* The panels of all of m, where `down` warps of a block share one. Where rows begin between two packs, those of a block
 * are narrower by one. */
static int64_t count_panels(const axis_shape *shape, int64_t down)
{
    const int64_t lanes = THREADS / down, lost = shape->k % shape->items == 0 ? 0 : 1;
    return shape->m * smk_plan_divide_up(shape->k, (lanes - lost) * shape->items);
}

/* The part of the rounds of blocks that has work. */
static double fill(int64_t blocks, int64_t at_once)
{
    return blocks <= at_once ? 1.0 : (double)blocks / (double)(smk_plan_divide_up(blocks, at_once) * at_once);
}

/* The warps that share a panel: as many as it has rows for, but fewer where blocks would else be left for a last round. A
 * warp whose rows begin between two packs takes every one of as many as a pack has elements. */
static int64_t choose_down(const axis_shape *shape, int64_t at_once)
{
    const int64_t least = shape->k % shape->items == 0 ? 1 : shape->items;
    int64_t most = least;
    while (most < WARPS && most * 2 * ROWS <= shape->n) {
        most *= 2;
    }
    int64_t best = most;
    for (int64_t down = most / 2; down >= least; down /= 2) {
        if (fill(count_panels(shape, down), at_once) > fill(count_panels(shape, best), at_once) + 0.05) {
            best = down;
        }
    }
    return best;
}

/* (..., down, parts, tickets, partial) */
smk_status smk_plan_reduce_axis_panel(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const axis_shape shape = read_shape(request);
    const int64_t blocks = count_blocks(request, &shape), down = choose_down(&shape, blocks);
    const int64_t panels = greater(1, count_panels(&shape, down)), most = shape.n / (down * ROWS);
    const int64_t wanted = lesser(blocks / panels, most / PART_TURNS);
    const int64_t least = lesser(shape.multiprocessors / panels, most);
    const int64_t parts = greater(1, greater(wanted, least));
    smk_plan made;
    smk_status status = begin(request, panels * parts, &made, error);
    if (status == SMK_OK) {
        smk_plan_add(&made.step[0], SMK_SOURCE_NUMBER, down);
        add_parts(&made, parts, panels, shape.m * shape.k);
        made.efficiency = judge_panel(&shape, down);
        *plan = made;
    }
    return status;
}
