/* Plans of gemm's kernels that make c in one launch: direct, whose tile and parts of k the model chooses; and short_k. */
#include "registry/gemm_model.h"
#include "registry/slowdowns.h"

#include <math.h>

/* As in gemm/direct.cu and gemm/short_k.cu. */
enum { ADD_THREADS = 128, PART_STEP = 16, SHORT_THREADS = 256, SHORT_ROWS = 64, SHORT_COLUMNS = 128 };

static bool is_empty(const smk_request *request)
{
    return request->dimensions[SMK_GEMM_M] == 0 || request->dimensions[SMK_GEMM_N] == 0;
}

/* (a, b, sums, m, k, n, strides, part_k, stack), then for several parts: add. */
smk_status smk_plan_gemm_direct(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const int64_t *d = request->dimensions;
    smk_plan made = {.step_count = 0};
    if (is_empty(request)) {
        *plan = made;
        return SMK_OK;
    }
    const smk_gemm_choice choice = smk_gemm_model_choose(request, PART_STEP);
    smk_status status = smk_gemm_model_check(request, choice, error);
    if (status != SMK_OK) {
        return status;
    }
    const int64_t blocks = smk_plan_divide_up(d[SMK_GEMM_M], choice.tile->rows) *
                           smk_plan_divide_up(d[SMK_GEMM_N], choice.tile->columns) * choice.parts.count;
    smk_step *step = &made.step[made.step_count++];
    step->part = choice.tile->part;
    step->grid = (smk_dim3){(uint32_t)blocks, 1, 1};
    step->block = (smk_dim3){choice.tile->threads, 1, 1};
    step->shared_bytes = choice.tile->shared_bytes;
    smk_plan_gemm_add_operands(step, request, choice.parts, 0);
    smk_plan_add(step, SMK_SOURCE_NUMBER, choice.parts.part_k);
    status = smk_plan_gemm_add_stack(step, request, error);
    if (status != SMK_OK) {
        return status;
    }
    smk_gemm_model_note(&choice, &made);
    smk_plan_gemm_add_sums(&made, request, choice.parts, 0, ADD_THREADS);
    made.workspace_bytes = (uint64_t)smk_plan_gemm_parts_bytes(request, choice.parts);
    made.time_us = choice.time_us;
    *plan = made;
    return SMK_OK;
}

/* Times of the two kernels, in microseconds on an H200: of a launch; of so many steps along k where all blocks fit, that
 * is how many are on their way at a time, and of each that is left over, 0 where these go together; of a read of a warp,
 * of which it makes `reads` a step; how many times their bytes the writes take; and, where the products of a block may take
 * longer than all else, of a step of theirs along k and of what a block does beside. */
typedef struct short_times {
    double start, steps, left_over;
    int64_t unrolled;
    double read, reads, writes, products, block;
} short_times;

enum { BLOCK_WARPS = SHORT_THREADS / SMK_WARP_SIZE };

static double predict_short(const smk_request *request, const short_times *times, double blocks)
{
    const int64_t *d = request->dimensions;
    const double k = (double)d[SMK_GEMM_K], elements = (double)smk_plan_gemm_elements(request);
    const double count = request->machine->multiprocessors > 0 ? (double)request->machine->multiprocessors : 1.0;
    const double slowdown = smk_slowdowns_variant(request->machine, request->variant, request->type);
    const double written = (double)request->item_bytes * elements;
    const double bytes = smk_gemm_model_repeated(request, written, times->writes) +
                         smk_gemm_model_bytes(request, smk_gemm_model_read(request));
    const int64_t whole = d[SMK_GEMM_K] / times->unrolled, left = d[SMK_GEMM_K] % times->unrolled;
    const double rest = times->left_over > 0.0 ? (double)left * times->left_over : left > 0 ? times->steps : 0.0;
    const double steps = slowdown * ((double)whole * times->steps + rest);
    const double reads = slowdown * blocks * BLOCK_WARPS * k * times->reads / count * times->read;
    const double moved = (steps > reads ? steps : reads) + bytes;
    const double products = slowdown * ceil(blocks / count) * (k * times->products + times->block);
    return times->start + (moved > products ? moved : products);
}

/* (a, b, c, m, k, n, strides, stack): a thread an element where that is predicted to take less time. */
smk_status smk_plan_gemm_short_k(const smk_request *request, smk_plan *plan, smk_error *error)
{
    static const short_times tiled_times = {2.72, 0.58, 0.0, 4, 1.18e-3, 12.0, 1.09, 0.0, 0.0};
    static const short_times tiled_doubles = {2.72, 0.58, 0.0, 4, 1.18e-3, 12.0, 1.09, 0.23, 0.9};
    static const short_times flat_times = {2.15, 0.34, 0.0, 8, 0.90e-3, 2.0, 6.3, 0.0, 0.0};
    static const short_times flat_doubles = {2.00, 0.49, 0.17, 8, 0.88e-3, 2.0, 3.9, 0.0, 0.0};
    const int64_t m = request->dimensions[SMK_GEMM_M], n = request->dimensions[SMK_GEMM_N];
    smk_plan made = {.step_count = 0};
    int64_t elements = 0, tiled = 0;
    if (is_empty(request)) {
        *plan = made;
        return SMK_OK;
    }
    const bool no_flat = __builtin_mul_overflow(m, n, &elements) || elements > INT32_MAX;
    if (__builtin_mul_overflow(smk_plan_divide_up(m, SHORT_ROWS), smk_plan_divide_up(n, SHORT_COLUMNS), &tiled) ||
        tiled > INT32_MAX) {
        return smk_gemm_model_check(request, (smk_gemm_choice){.tile = NULL}, error);
    }
    const int64_t flat = no_flat ? 0 : smk_plan_divide_up(elements, SHORT_THREADS);
    const int64_t stack = smk_plan_stack(request);
    const bool is_double = request->item_bytes == sizeof(double);
    const short_times *const tiled_of_type = is_double ? &tiled_doubles : &tiled_times;
    const short_times *const flat_of_type = is_double ? &flat_doubles : &flat_times;
    const double tiled_us = predict_short(request, tiled_of_type, (double)tiled * (double)stack);
    const double flat_us = no_flat ? tiled_us : predict_short(request, flat_of_type, (double)flat * (double)stack);
    smk_step *step = &made.step[made.step_count++];
    step->part = flat_us < tiled_us ? "flat" : NULL;
    step->grid = (smk_dim3){(uint32_t)(flat_us < tiled_us ? flat : tiled), 1, 1};
    step->block = (smk_dim3){SHORT_THREADS, 1, 1};
    smk_plan_gemm_add_operands(step, request, (smk_gemm_parts){1, 1}, 0);
    const smk_status status = smk_plan_gemm_add_stack(step, request, error);
    if (status != SMK_OK) {
        return status;
    }
    made.takes_stack = made.takes_layout = true;
    made.time_us = flat_us < tiled_us ? flat_us : tiled_us;
    *plan = made;
    return SMK_OK;
}
