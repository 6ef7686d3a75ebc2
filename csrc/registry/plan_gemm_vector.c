/* The plan of gemm/vector: which operand is the matrix, how its rows lie, and into how many parts k is cut. */
#include "registry/gemm_model.h"
#include "registry/slowdowns.h"

#include <math.h>
#include <stdlib.h>

/* As in gemm/vector.cu: threads of a block along and across k, rows of a group of lanes where there are several vectors,
 * bytes of a read, vectors at a time, reads of a lane at a time: half as many where these are of 16 bytes along k. */
enum { THREADS = 256, THREADS_ACROSS = 512, GROUP_ROWS = 4, READ_BYTES = 16, VECTORS_MOST = 8, BATCH = 8 };

/* By trial on an H200: lanes of a row at least, and where there are many rows; reads of a lane below which a row has
 * fewer lanes; bytes of a matrix of which a lane reads 16 at once across k; the least length of a part along and across
 * k, and of one with several vectors, and the blocks of a multiprocessor below which k is cut. */
enum { LANES_LEAST = 16, LANES_MANY = 64, MANY_THREADS = 1024, LANE_READS = 4, LANE_LEAST = 16 };
enum { WIDE_BYTES = 1 << 20, PART_ALONG = 1024, PART_ACROSS = 128, PART_STAGED = 128, PARTS_MOST = 64 };
enum { BLOCKS_ALONG = 2, BLOCKS_ACROSS = 2, BLOCKS_STAGED = 4 };

/* And across k: the columns from which on rows that begin anywhere are read 16 bytes at a time; a shorter k is not cut, nor that of a large matrix with a stripe for every FEW_STRIPES multiprocessors;
 * the lanes of a stripe where k is cut. */
enum { SLANT_LEAST = 128, CUT_ACROSS = 1280, FEW_STRIPES = 3, LANES_CUT = 16 };

/* By trial too: bytes of a row that is read by the kernel that reads rows wherever they begin, though others can read it;
 * the lanes of a row there at least; the threads of a multiprocessor beyond which a row has half as many. */
enum { ROW_BYTES = 4096, ROW_LANES_LEAST = 4, ROW_THREADS = 2048 };

/* Microseconds on an H200: of a launch; of a batch of reads of a lane; of the last block, which adds parts. */
static const double START = 2.6, TURN = 0.62, LAST = 1.3;

/* A launch of the kernel for rows wherever they begin. */
static const double START_ROW = 1.7;

/* Bytes of the matrix a microsecond, and how much longer single elements take. */
static const double PACE = 4.45e6, ODD = 1.1;

/* For several vectors along k: of a turn of a group of lanes, how much each vector more adds to it, of adding up a sum
 * over a pair of lanes, of staging 256 elements, of what is left of a block's; and the blocks of a multiprocessor. */
static const double STAGED_TURN = 0.35, STAGED_VECTOR = 0.10, STAGED_PAIR = 0.029, STAGE = 0.2, STAGED_END = 2.87;
enum { STAGED_RESIDENT = 3, STAGED = 256 };

/* The same across k, where nothing else counts; and for one vector, of a batch of reads of a warp, and of adding up the
 * sums of all warps; and of that for several. */
static const double STAGED_ACROSS = 0.38, STAGED_ACROSS_VECTOR = 0.03, TURN_ACROSS = 0.22, ACROSS = 0.3,
                    STAGED_ACROSS_END = 1.1;

/* Rows and k of a matrix that one block may read as it lies; of its batches of reads, and of adding up its sums. */
enum { NARROW_ROWS = 16, NARROW_MOST = 1 << 14 };
static const double TURN_NARROW = 0.6, NARROW = 0.3;

/* The matrix and the vectors: strides in elements, by row or vector, along k, and from one product to the next. */
typedef struct vector_shape {
    bool a_is_matrix, along; /* rows of the matrix lie along k, or across it */
    bool is_aligned;         /* items of the matrix begin at multiples of 16 bytes where its rows do */
    int64_t rows, vectors, k, stack;
    int64_t w_row, w_i, w_stack, x_r, x_i, x_stack, c_row, c_r;
} vector_shape;

static vector_shape describe(const smk_request *request)
{
    const int64_t m = request->dimensions[SMK_GEMM_M], n = request->dimensions[SMK_GEMM_N];
    const int64_t k = request->dimensions[SMK_GEMM_K], stack = smk_plan_stack(request);
    const smk_gemm_strides s = smk_plan_gemm_strides(request);
    const bool is_aligned = smk_plan_layout(request, n <= m ? SMK_GEMM_A : SMK_GEMM_B).is_aligned != 0;
    vector_shape shape = n <= m ? (vector_shape){true,    false,     is_aligned, m,       n,         k, stack, s.a_row,
                                                 s.a_col, s.a_stack, s.b_col,    s.b_row, s.b_stack, n, 1}
                                : (vector_shape){false,   false,     is_aligned, n,       m,         k, stack, s.b_col,
                                                 s.b_row, s.b_stack, s.a_row,    s.a_col, s.a_stack, 1, n};
    shape.along = llabs(shape.w_i) <= llabs(shape.w_row);
    return shape;
}

/* The part of the kernel's name, by how many vectors it takes: 1, 2, 4, 8. */
static const char *name_vectors(bool along, int64_t at_once)
{
    static const char *const names[2][4] = {{"across", "across2", "across4", "across8"},
                                            {NULL, "along2", "along4", "along8"}};
    return names[along][at_once == 8 ? 3 : at_once / 2];
}

static int64_t round_to_power(int64_t value, int64_t least, int64_t most)
{
    int64_t power = least;
    while (power < value && power < most) {
        power *= 2;
    }
    return power;
}

/* How the work is divided. */
typedef struct division {
    int64_t at_once, passes; /* vectors */
    int64_t lanes;           /* of a row; across k neighbours of a lane */
    int64_t row_blocks, threads;
    const char *part; /* of the kernel's name */
    bool adds;        /* a launch adds the parts */
    smk_gemm_parts parts;
    double time_us;
} division;

static int64_t count_multiprocessors(const smk_request *request)
{
    return request->machine->multiprocessors > 0 ? (int64_t)request->machine->multiprocessors : 1;
}

/* Blocks of one part: all of the stack. */
static int64_t count_blocks(const vector_shape *shape, const division *made)
{
    int64_t blocks = 0;
    return __builtin_mul_overflow(made->row_blocks, made->passes, &blocks) ||
                   __builtin_mul_overflow(blocks, shape->stack, &blocks)
               ? INT64_MAX
               : blocks;
}

static void cut(const smk_request *request, const vector_shape *shape, division *made, int64_t each, int64_t least)
{
    const int64_t blocks = count_blocks(shape, made), wanted = count_multiprocessors(request) * each;
    const int64_t most = blocks < INT64_MAX / PARTS_MOST ? blocks * PARTS_MOST : blocks;
    made->parts = smk_plan_gemm_cut(request, blocks, wanted < most ? wanted : most, least,
                                    READ_BYTES / (int64_t)request->item_bytes);
}

static double measure_matrix(const smk_request *request, const vector_shape *shape)
{
    const double items = shape->w_stack != 0 ? (double)shape->stack : 1.0;
    return (double)request->item_bytes * (double)shape->rows * (double)shape->k * items;
}

/* How many times as long as one of an H200 a multiprocessor takes for the arithmetic. */
static double slow_down(const smk_request *request)
{
    return smk_slowdowns_variant(request->machine, request->variant, request->type);
}

/* Microseconds in which the memory gives the matrix. */
static double read_matrix(const smk_request *request, const vector_shape *shape)
{
    return measure_matrix(request, shape) / PACE * smk_slowdowns_memory(request->machine);
}

/* Of a division in which each block of `resident` on a multiprocessor makes so many batches of reads. */
static double predict(const smk_request *request, const vector_shape *shape, const division *made, double batches,
                      double resident, bool is_odd)
{
    const double blocks = (double)count_blocks(shape, made) * (double)made->parts.count;
    const double rounds = ceil(blocks / ((double)count_multiprocessors(request) * resident));
    const double reads = read_matrix(request, shape) * (is_odd ? ODD : 1.0) * (double)made->passes;
    const double waits = batches * TURN * rounds * slow_down(request);
    return START + (waits > reads ? waits : reads + TURN) + (made->parts.count > 1 ? LAST : 0.0);
}

/* One vector, and rows that lie along k without a gap: a lane has one batch of reads, or two where there are many rows. */
static division divide_rows(const smk_request *request, const vector_shape *shape)
{
    const int64_t batch = READ_BYTES / (int64_t)request->item_bytes * BATCH / 2;
    division made = {.at_once = 1, .passes = shape->vectors, .threads = THREADS, .part = "row"};
    made.lanes = round_to_power(smk_plan_divide_up(shape->k, batch), ROW_LANES_LEAST, THREADS);
    const double threads = (double)shape->rows * (double)shape->stack * (double)made.lanes;
    if (made.lanes >= SMK_WARP_SIZE && threads > (double)count_multiprocessors(request) * ROW_THREADS) {
        made.lanes = made.lanes / 2 < LANES_MANY ? made.lanes / 2 : LANES_MANY;
    }
    made.row_blocks = smk_plan_divide_up(shape->rows, THREADS / made.lanes);
    made.parts = (smk_gemm_parts){1, shape->k > 0 ? shape->k : 1};
    const double batches = ceil((double)shape->k / (double)(made.lanes * batch));
    made.time_us = START_ROW - START + predict(request, shape, &made, batches, 2048.0 / THREADS / 2.0, false);
    return made;
}

/* One vector: a row has as many lanes as have a few reads each. */
static division divide_along(const smk_request *request, const vector_shape *shape)
{
    const bool is_odd = smk_gemm_model_odd(shape->w_row, shape->w_i) > 0 || shape->x_i != 1;
    const int64_t whole = READ_BYTES / (int64_t)request->item_bytes, pack = is_odd ? 1 : whole;
    division made = {.at_once = 1, .passes = shape->vectors, .threads = THREADS};
    const bool is_many = (double)shape->rows * (double)shape->stack * LANES_MANY >=
                         (double)count_multiprocessors(request) * MANY_THREADS;
    made.part = name_vectors(true, 1);
    made.lanes =
        round_to_power(smk_plan_divide_up(shape->k, pack * LANE_READS), LANES_LEAST, is_many ? LANES_MANY : THREADS);
    made.row_blocks = smk_plan_divide_up(shape->rows, THREADS / made.lanes);
    cut(request, shape, &made, BLOCKS_ALONG, PART_ALONG);
    const double batches = ceil((double)made.parts.part_k / (double)(made.lanes * pack * BATCH));
    made.time_us = predict(request, shape, &made, batches, 2048.0 / THREADS / 2.0, is_odd);
    const bool is_long =
        shape->w_row % whole == 0 && shape->k % whole == 0 && shape->k * (int64_t)request->item_bytes > ROW_BYTES;
    const bool is_unit = shape->w_i == 1 && shape->x_i == 1;
    return made.parts.count == 1 && is_unit && !is_long ? divide_rows(request, shape) : made;
}

/* Several vectors, staged in shared memory. */
static division divide_staged(const smk_request *request, const vector_shape *shape)
{
    const int64_t pack = READ_BYTES / (int64_t)request->item_bytes;
    division made = {.at_once = round_to_power(shape->vectors, 1, VECTORS_MOST), .threads = THREADS};
    made.part = name_vectors(true, made.at_once);
    made.passes = smk_plan_divide_up(shape->vectors, made.at_once);
    made.lanes = round_to_power(smk_plan_divide_up(shape->k, LANE_LEAST), 1, SMK_WARP_SIZE);
    made.row_blocks = smk_plan_divide_up(shape->rows, THREADS / made.lanes * GROUP_ROWS);
    cut(request, shape, &made, BLOCKS_STAGED, PART_STAGED);
    const double blocks = (double)count_blocks(shape, &made) / (double)made.passes * (double)made.parts.count;
    const double rounds = ceil(blocks / (double)(count_multiprocessors(request) * STAGED_RESIDENT));
    const double steps = ceil((double)made.parts.part_k / (double)(made.lanes * pack)), vectors = (double)made.at_once;
    double work = steps * STAGED_TURN * (1.0 + STAGED_VECTOR * vectors) +
                  GROUP_ROWS * vectors * log2((double)made.lanes) * STAGED_PAIR +
                  STAGE * vectors * (double)made.parts.part_k / STAGED + STAGED_END;
    const double reads = 1.5 * read_matrix(request, shape);
    work *= slow_down(request);
    made.time_us = START + (work * rounds > reads ? work * rounds : reads) * (double)made.passes +
                   (made.parts.count > 1 ? LAST : 0.0);
    return made;
}

/* Whether all rows of the matrix, which lie across k, can be read 16 bytes at a time from their first element on. */
static bool is_packed(const vector_shape *shape, int64_t pack)
{
    return shape->is_aligned && shape->w_row == 1 && (shape->rows | shape->w_i | shape->w_stack) % pack == 0;
}

/* One vector: a block takes a stripe of columns. Of a large matrix a lane reads 16 bytes; the stripes are as narrow as
 * leaves no more of them than run at once, since a k in one part needs no sums of parts. */
static division divide_stripes(const smk_request *request, const vector_shape *shape)
{
    const int64_t pack = READ_BYTES / (int64_t)request->item_bytes, count = count_multiprocessors(request);
    const bool is_whole = is_packed(shape, pack),
               is_gapless = shape->w_row == 1 && shape->w_i == shape->rows && shape->rows >= SLANT_LEAST;
    const bool is_wide = measure_matrix(request, shape) >= WIDE_BYTES && (is_whole || is_gapless);
    const int64_t columns = is_wide ? pack : 1, lost = is_wide && !is_whole ? columns : 0;
    division made = {.at_once = 1, .passes = shape->vectors, .threads = THREADS_ACROSS};
    made.part = !is_wide ? "stripe" : is_whole ? name_vectors(false, 1) : "slant";
    made.lanes = SMK_WARP_SIZE / columns;
    made.row_blocks = smk_plan_divide_up(shape->rows, made.lanes * columns - lost);
    const bool is_few = count_blocks(shape, &made) < count / FEW_STRIPES;
    const int64_t each = shape->k < CUT_ACROSS ? 0 : !is_wide ? BLOCKS_ACROSS : is_few ? 1 : 0;
    while (made.lanes < SMK_WARP_SIZE &&
           (each > 0 ? made.lanes < LANES_CUT : count_blocks(shape, &made) > BLOCKS_ACROSS * count)) {
        made.lanes *= 2;
        made.row_blocks = smk_plan_divide_up(shape->rows, made.lanes * columns - lost);
    }
    cut(request, shape, &made, each, PART_ACROSS);
    const double blocks = (double)count_blocks(shape, &made) * (double)made.parts.count;
    const double rounds = ceil(blocks / (double)count), use = blocks / (double)count / rounds;
    const double batches = ceil((double)made.parts.part_k * (double)made.lanes / (THREADS_ACROSS * BATCH));
    const double reads = read_matrix(request, shape) / (measure_matrix(request, shape) > SMK_GEMM_CACHED ? use : 1.0) *
                         (double)made.passes;
    const double waits = batches * TURN_ACROSS * ceil(rounds / BLOCKS_ACROSS) * slow_down(request);
    made.time_us = START + (waits > reads ? waits : reads) + (made.parts.count > 1 ? LAST : 0.0) + ACROSS;
    return made;
}

/* One vector, and a matrix of a few rows without gaps: one block reads it as it lies. */
static division divide_narrow(const smk_request *request, const vector_shape *shape)
{
    const double elements = (double)shape->rows * (double)shape->k;
    const double rounds = ceil((double)shape->stack / (double)count_multiprocessors(request));
    const double batches = ceil(elements / (THREADS_ACROSS * BATCH));
    division made = {.at_once = 1, .passes = shape->vectors, .threads = THREADS_ACROSS, .lanes = 1, .part = "narrow"};
    made.row_blocks = 1;
    made.parts = (smk_gemm_parts){1, shape->k > 0 ? shape->k : 1};
    made.time_us = START + NARROW + batches * TURN_NARROW * rounds * slow_down(request);
    return made;
}

static division divide_across(const smk_request *request, const vector_shape *shape)
{
    const division stripes = divide_stripes(request, shape);
    if (shape->w_row != 1 || shape->w_i != shape->rows || shape->rows > NARROW_ROWS || shape->k > NARROW_MOST) {
        return stripes;
    }
    const division narrow = divide_narrow(request, shape);
    return narrow.time_us < stripes.time_us ? narrow : stripes;
}

/* Vectors that are staged: a block of 8 warps takes a stripe of columns. */
static division divide_staged_across(const smk_request *request, const vector_shape *shape)
{
    const int64_t pack = READ_BYTES / (int64_t)request->item_bytes;
    const bool is_odd = smk_gemm_model_odd(shape->w_i, shape->w_row) > 0 || shape->rows % pack != 0;
    const double odd = is_odd ? 1.29 : 1.0;
    division made = {
        .at_once = round_to_power(shape->vectors, 2, VECTORS_MOST), .threads = THREADS, .lanes = pack, .adds = true};
    made.part = name_vectors(false, made.at_once);
    made.passes = smk_plan_divide_up(shape->vectors, made.at_once);
    made.row_blocks = smk_plan_divide_up(shape->rows, SMK_WARP_SIZE * pack);
    cut(request, shape, &made, BLOCKS_STAGED, PART_STAGED);
    const double blocks = (double)count_blocks(shape, &made) / (double)made.passes * (double)made.parts.count;
    const double rounds = ceil(blocks / (double)(count_multiprocessors(request) * STAGED_RESIDENT));
    const double steps = ceil((double)made.parts.part_k / (double)(pack * THREADS / SMK_WARP_SIZE));
    const double work =
        slow_down(request) * steps * STAGED_ACROSS * (1.0 + STAGED_ACROSS_VECTOR * (double)made.at_once) * odd * rounds;
    const double reads = 1.18 * odd * read_matrix(request, shape);
    made.time_us = START + (work > reads ? work : reads) * (double)made.passes + STAGED_ACROSS_END +
                   smk_gemm_model_add(request, made.parts.count);
    return made;
}

/* (matrix, vectors, c, tickets, sums, rows, k, vectors, strides, part_k, parts, lanes, strides of the stack). */
static void add_step(const smk_request *request, const vector_shape *shape, const division *made, smk_plan *plan)
{
    const int64_t parts = made->parts.count;
    const int64_t tickets = parts == 1 || made->adds ? 0 : count_blocks(shape, made) * (int64_t)sizeof(uint32_t);
    const int64_t sums = smk_plan_divide_up(tickets, SMK_GEMM_ALIGNMENT) * SMK_GEMM_ALIGNMENT;
    smk_step *step = &plan->step[plan->step_count++];
    step->part = made->part;
    step->grid = (smk_dim3){(uint32_t)(made->row_blocks * parts), (uint32_t)made->passes, (uint32_t)shape->stack};
    step->block = (smk_dim3){(uint32_t)made->threads, 1, 1};
    smk_plan_add(step, SMK_SOURCE_OPERAND, shape->a_is_matrix ? SMK_GEMM_A : SMK_GEMM_B);
    smk_plan_add(step, SMK_SOURCE_OPERAND, shape->a_is_matrix ? SMK_GEMM_B : SMK_GEMM_A);
    smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_C);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, 0);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, sums);
    const int64_t numbers[] = {shape->rows, shape->k,    shape->vectors, shape->w_row,  shape->w_i,
                               shape->x_i,  shape->x_r,  shape->c_row,   shape->c_r,    made->parts.part_k,
                               parts,       made->lanes, shape->w_stack, shape->x_stack};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        smk_plan_add(step, SMK_SOURCE_NUMBER, numbers[i]);
    }
    plan->restores_workspace = parts > 1 && !made->adds;
    plan->adds_parts = parts > 1;
    if (made->adds) {
        smk_plan_gemm_add_sums(plan, request, made->parts, sums, THREADS);
    }
    plan->workspace_bytes = parts > 1 ? (uint64_t)(sums + smk_plan_gemm_parts_bytes(request, made->parts)) : 0;
    plan->takes_layout = true;
    plan->parts = parts;
    plan->time_us = made->time_us + smk_gemm_model_bytes(request, (double)request->item_bytes *
                                                                      (double)smk_plan_gemm_elements(request));
}

smk_status smk_plan_gemm_vector(const smk_request *given, smk_plan *plan, smk_error *error)
{
    smk_plan single = {.step_count = 0}, made = {.step_count = 0};
    smk_request request = *given;
    smk_status status = smk_plan_single(&request, &single, error);
    if (status != SMK_OK || single.step_count == 0) {
        *plan = status == SMK_OK ? single : *plan;
        return status;
    }
    made.takes_stack = smk_plan_stack(given) <= UINT16_MAX;
    request.stack = made.takes_stack ? given->stack : 1;
    const vector_shape shape = describe(&request);
    const bool is_single = shape.vectors == 1;
    const division divided = shape.along ? is_single ? divide_along(&request, &shape) : divide_staged(&request, &shape)
                             : is_single ? divide_across(&request, &shape)
                                         : divide_staged_across(&request, &shape);
    if (divided.passes > UINT16_MAX || divided.row_blocks > INT32_MAX / divided.parts.count ||
        divided.parts.part_k > INT32_MAX / 2) {
        return smk_status_fail(error, SMK_LAUNCH,
                               "gemm variant 'vector': %lld blocks by %lld, a grid has %d by %d at most",
                               (long long)divided.row_blocks, (long long)divided.passes, INT32_MAX, UINT16_MAX);
    }
    add_step(&request, &shape, &divided, &made);
    *plan = made;
    return SMK_OK;
}
