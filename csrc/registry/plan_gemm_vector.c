/* The plan of gemm/vector: which operand is the matrix, how its rows lie, and into how many parts k is cut. */
#include "registry/gemm_model.h"

#include <math.h>
#include <stdlib.h>

/* As in gemm/vector.cu: threads of a block, rows of a group of lanes, bytes of a read, vectors at a time. */
enum { THREADS = 256, GROUP_ROWS = 4, READ_BYTES = 16, VECTORS_MOST = 8, WARPS = 8 };

/* Blocks for each multiprocessor below which k is cut, the least length of a part, and the elements of a lane below
 * which a row has fewer lanes: by trial on an H200. */
enum { BLOCKS_EACH = 4, PART_LEAST = 128, LANE_LEAST = 16 };

/* The matrix and the vectors: strides in elements, by row or vector, along k, and from one product to the next. */
typedef struct vector_shape {
    bool a_is_matrix, along; /* rows of the matrix lie along k, or across it */
    int64_t rows, vectors;
    int64_t w_row, w_i, w_stack, x_r, x_i, x_stack, c_row, c_r;
} vector_shape;

static vector_shape describe(const smk_request *request)
{
    const int64_t m = request->dimensions[SMK_GEMM_M], n = request->dimensions[SMK_GEMM_N];
    const smk_gemm_strides s = smk_plan_gemm_strides(request);
    vector_shape shape =
        n <= m ? (vector_shape){true, false, m, n, s.a_row, s.a_col, s.a_stack, s.b_col, s.b_row, s.b_stack, n, 1}
               : (vector_shape){false, false, n, m, s.b_col, s.b_row, s.b_stack, s.a_row, s.a_col, s.a_stack, 1, n};
    shape.along = llabs(shape.w_i) <= llabs(shape.w_row);
    return shape;
}

/* Microseconds on an H200: of a launch; of a turn of a group of lanes, or of the warps of a stripe, and how much each
 * vector more adds to it; of adding up a sum over a pair of lanes, and staging 256 elements of a vector; of what is left
 * of a block's; and how many times its bytes the matrix takes, and its passes where rows begin at odd addresses. */
typedef struct vector_times {
    double start, turn, vector, pair, stage, end, reads, odd;
} vector_times;

enum { RESIDENT = 3, STAGED = 256 };

static const char *name_part(bool along, int64_t at_once)
{
    static const char *const names[2][4] = {{"across", "across2", "across4", "across8"},
                                            {NULL, "along2", "along4", "along8"}};
    return names[along][at_once == 8 ? 3 : at_once / 2];
}

static int64_t round_to_power(int64_t value, int64_t most)
{
    int64_t power = 1;
    while (power < value && power < most) {
        power *= 2;
    }
    return power;
}

/* The blocks of a turn over the matrix go in rounds. */
static double predict(const smk_request *request, const vector_shape *shape, int64_t blocks, int64_t lanes,
                      smk_gemm_parts parts, int64_t at_once)
{
    static const vector_times along = {0.5, 0.35, 0.10, 0.029, 0.2, 2.87, 1.3, 0.0};
    static const vector_times across = {2.6, 0.38, 0.03, 0.0, 0.0, 0.06, 1.12, 0.29};
    const vector_times *times = shape->along ? &along : &across;
    const int64_t count = request->machine->multiprocessors > 0 ? request->machine->multiprocessors : 1;
    const int64_t pack = READ_BYTES / (int64_t)request->item_bytes;
    const double rounds = ceil((double)blocks / (double)(count * RESIDENT));
    const double passes = ceil((double)parts.part_k / (double)(shape->along ? lanes * pack : pack * WARPS));
    const bool is_odd = (shape->along ? smk_gemm_model_odd(shape->w_row, shape->w_i)
                                      : smk_gemm_model_odd(shape->w_i, shape->w_row)) > 0;
    const double odd = is_odd ? 1.0 + times->odd : 1.0;
    const double item = (double)request->item_bytes, vectors = (double)at_once;
    const double stack = shape->w_stack != 0 ? (double)smk_plan_stack(request) : 1.0;
    const double matrix = item * (double)shape->rows * (double)request->dimensions[SMK_GEMM_K] * stack;
    const double reads = smk_gemm_model_bytes(matrix) * times->reads * odd;
    const double work = (passes * times->turn * (1.0 + times->vector * vectors) * odd +
                         GROUP_ROWS * vectors * log2((double)lanes) * times->pair +
                         times->stage * vectors * (double)parts.part_k / STAGED + times->end) *
                        rounds;
    return times->start + (work > reads ? work : reads) * ceil((double)shape->vectors / vectors) +
           smk_gemm_model_bytes(item * (double)smk_plan_gemm_elements(request)) +
           smk_gemm_model_add(request, parts.count);
}

static smk_status add_matrix_step(const smk_request *request, const vector_shape *shape, smk_plan *plan,
                                  smk_gemm_parts *parts, smk_error *error)
{
    const int64_t k = request->dimensions[SMK_GEMM_K], stack = smk_plan_stack(request);
    const int64_t pack = READ_BYTES / (int64_t)request->item_bytes;
    const bool along = shape->along;
    const int64_t at_once = round_to_power(shape->vectors, VECTORS_MOST);
    const int64_t lanes = round_to_power(smk_plan_divide_up(k, LANE_LEAST), SMK_WARP_SIZE);
    const int64_t block_rows = along ? THREADS / lanes * GROUP_ROWS : SMK_WARP_SIZE * pack;
    const int64_t row_blocks = smk_plan_divide_up(shape->rows, block_rows);
    const int64_t passes = smk_plan_divide_up(shape->vectors, at_once);
    int64_t blocks = 0; /* without parts */
    if (__builtin_mul_overflow(row_blocks, passes, &blocks) || __builtin_mul_overflow(blocks, stack, &blocks)) {
        blocks = INT64_MAX;
    }
    *parts =
        smk_plan_gemm_cut(request, blocks, (int64_t)request->machine->multiprocessors * BLOCKS_EACH, PART_LEAST, pack);
    if (passes > UINT16_MAX || row_blocks > INT32_MAX / parts->count) {
        return smk_status_fail(error, SMK_LAUNCH,
                               "gemm variant 'vector': %lld blocks by %lld, a grid has %d by %d at most",
                               (long long)row_blocks, (long long)passes, INT32_MAX, UINT16_MAX);
    }
    smk_step *step = &plan->step[plan->step_count++];
    step->part = name_part(along, at_once);
    step->grid = (smk_dim3){(uint32_t)(row_blocks * parts->count), (uint32_t)passes, (uint32_t)stack};
    step->block = (smk_dim3){THREADS, 1, 1};
    smk_plan_add(step, SMK_SOURCE_OPERAND, shape->a_is_matrix ? SMK_GEMM_A : SMK_GEMM_B);
    smk_plan_add(step, SMK_SOURCE_OPERAND, shape->a_is_matrix ? SMK_GEMM_B : SMK_GEMM_A);
    smk_plan_gemm_add_target(step, *parts, 0);
    const int64_t numbers[] = {
        shape->rows,  k,          shape->vectors, shape->w_row, shape->w_i,     shape->x_i,    shape->x_r,
        shape->c_row, shape->c_r, parts->part_k,  lanes,        shape->w_stack, shape->x_stack};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        smk_plan_add(step, SMK_SOURCE_NUMBER, numbers[i]);
    }
    plan->takes_layout = true;
    plan->time_us = predict(request, shape, row_blocks * parts->count * stack, lanes, *parts, at_once);
    return SMK_OK;
}

/* (matrix, vectors, sums, rows, k, vectors, strides, part_k, lanes, strides of the stack), then for several parts: add
 * (sums, c, elements, parts, lanes). */
smk_status smk_plan_gemm_vector(const smk_request *given, smk_plan *plan, smk_error *error)
{
    smk_plan single = {.step_count = 0}, made = {.step_count = 0};
    smk_gemm_parts parts;
    smk_request request = *given;
    smk_status status = smk_plan_single(&request, &single, error);
    if (status != SMK_OK || single.step_count == 0) {
        *plan = status == SMK_OK ? single : *plan;
        return status;
    }
    made.takes_stack = smk_plan_stack(given) <= UINT16_MAX;
    request.stack = made.takes_stack ? given->stack : 1;
    const vector_shape shape = describe(&request);
    status = add_matrix_step(&request, &shape, &made, &parts, error);
    if (status != SMK_OK) {
        return status;
    }
    smk_plan_gemm_add_sums(&made, &request, parts, 0, THREADS);
    made.parts = parts.count;
    made.workspace_bytes = (uint64_t)smk_plan_gemm_parts_bytes(&request, parts);
    *plan = made;
    return SMK_OK;
}
