/* The plan of gemm/tuned: both operands are laid out for tensor cores, then multiplied. */
#include "registry/gemm_model.h"
#include "registry/slowdowns.h"

/* As in gemm/tuned.cu: rows or columns of a fragment, threads of a block, warps of it, k of a step. */
enum { FRAGMENT = 16, THREADS = 128, WARPS = 4, STEP_K = 16, VECTOR_BYTES = 16, STAGES = 3, PARTED_BYTES = 4 };

/* Of a fragment of float32, behind all fragments of its operand: 8 words that say which numbers have no parts, and a
 * byte that says whether there are any. */
enum { MARK_BYTES = 8 * 4 + 1 };

/* The launch that lays out the operands, in microseconds on an H200; and its bytes a microsecond. */
static const double ARRANGE_START = 1.6, ARRANGE_PACE = 3.6e6;

/* Bytes of c a microsecond that rows of an odd length take longer to write, since they are written element by element. */
static const double ODD_PACE = 2.2e6;

/* float64: the cost of laying out an element, in products of the main loop. */
static const double ARRANGE_PRODUCTS = 145.0;

typedef struct fragment_shape {
    int64_t k, bytes, mark_bytes; /* elements along k; bytes of all its parts; of its marks */
} fragment_shape;

static bool has_parts(const smk_request *request)
{
    return request->item_bytes == PARTED_BYTES;
}

static fragment_shape shape_fragment(const smk_request *request)
{
    return has_parts(request) ? (fragment_shape){16, (int64_t)3 * SMK_WARP_SIZE * VECTOR_BYTES, MARK_BYTES}
                              /* bfloat16 */
                              : (fragment_shape){4, (int64_t)SMK_WARP_SIZE * VECTOR_BYTES, 0};
}

/* Fragments of both operands, and where those of b lie in the workspace; bytes from one product of the stack to the next,
 * 0 for an operand that all share. */
typedef struct arranged {
    int64_t tiles_a, tiles_b, tiles_k, bytes_a, bytes, stack_a, stack_b;
} arranged;

/* Bytes of an operand that is laid out; false where they do not fit: a single row is laid out as a whole tile. */
static bool count_bytes(const fragment_shape *fragment, int64_t tiles, int64_t tiles_k, int64_t *bytes)
{
    int64_t fragments = 0, exact = 0;
    if (__builtin_mul_overflow(tiles, tiles_k, &fragments) ||
        __builtin_mul_overflow(fragments, fragment->bytes + fragment->mark_bytes, &exact) ||
        exact > INT64_MAX - SMK_GEMM_ALIGNMENT) {
        return false;
    }
    *bytes = smk_plan_divide_up(exact, SMK_GEMM_ALIGNMENT) * SMK_GEMM_ALIGNMENT;
    return true;
}

/* The same for all products of the stack; `step` is the bytes of one. */
static bool count_stack(int64_t stack, int64_t stride, int64_t *bytes, int64_t *step)
{
    const bool is_shared = stack == 1 || stride == 0;
    *step = is_shared ? 0 : *bytes;
    return is_shared || !__builtin_mul_overflow(*bytes, stack, bytes);
}

static smk_status count_fragments(const smk_request *request, const smk_gemm_tile *tile, arranged *counted,
                                  smk_error *error)
{
    const int64_t *d = request->dimensions, k = d[SMK_GEMM_K];
    const fragment_shape fragment = shape_fragment(request);
    const smk_gemm_strides strides = smk_plan_gemm_strides(request);
    const int64_t stack = smk_plan_stack(request);
    int64_t bytes_b = 0;
    counted->tiles_a = smk_plan_divide_up(d[SMK_GEMM_M], tile->rows) * (tile->rows / FRAGMENT);
    counted->tiles_b = smk_plan_divide_up(d[SMK_GEMM_N], tile->columns) * (tile->columns / FRAGMENT);
    counted->tiles_k = smk_plan_divide_up(k, STEP_K) * (STEP_K / fragment.k);
    if (!count_bytes(&fragment, counted->tiles_a, counted->tiles_k, &counted->bytes_a) ||
        !count_bytes(&fragment, counted->tiles_b, counted->tiles_k, &bytes_b) ||
        !count_stack(stack, strides.a_stack, &counted->bytes_a, &counted->stack_a) ||
        !count_stack(stack, strides.b_stack, &bytes_b, &counted->stack_b) ||
        __builtin_add_overflow(counted->bytes_a, bytes_b, &counted->bytes)) {
        return smk_status_fail(error, SMK_MEMORY,
                               "gemm variant 'tuned': both operands laid out for k = %lld have more bytes than 64 bits "
                               "count; other variants lay out none",
                               (long long)k);
    }
    if ((counted->tiles_a + counted->tiles_b) * counted->tiles_k > UINT32_MAX - WARPS) {
        return smk_status_fail(error, SMK_LAUNCH,
                               "gemm variant 'tuned': %lld fragments to lay out, the kernel counts them in 32 bits",
                               (long long)((counted->tiles_a + counted->tiles_b) * counted->tiles_k));
    }
    return SMK_OK;
}

/* Adds the stack, and where its products lie when they are laid out, in units of 16 bytes. */
static smk_status add_stack(const smk_request *request, const arranged *counted, smk_step *step, smk_error *error)
{
    const smk_status status = smk_plan_gemm_add_stack(step, request, error);
    smk_plan_add(step, SMK_SOURCE_NUMBER, counted->stack_a / VECTOR_BYTES);
    smk_plan_add(step, SMK_SOURCE_NUMBER, counted->stack_b / VECTOR_BYTES);
    return status;
}

/* (a, b, to a, to b, m, k, n, strides, fragments of a, of b, along k, stack): a warp makes a fragment. */
static smk_status add_arrange(const smk_request *request, const arranged *counted, smk_plan *plan, smk_error *error)
{
    smk_step *step = &plan->step[plan->step_count++];
    const int64_t fragments = (counted->tiles_a + counted->tiles_b) * counted->tiles_k;
    step->part = "arrange";
    step->grid = (smk_dim3){(uint32_t)smk_plan_divide_up(fragments, WARPS), 1, 1};
    step->block = (smk_dim3){THREADS, 1, 1};
    smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_A);
    smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_B);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, 0);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, counted->bytes_a);
    for (int i = SMK_GEMM_M; i <= SMK_GEMM_N; i++) {
        smk_plan_add(step, SMK_SOURCE_NUMBER, request->dimensions[i]);
    }
    smk_plan_gemm_add_strides(step, request);
    smk_plan_add(step, SMK_SOURCE_NUMBER, counted->tiles_a);
    smk_plan_add(step, SMK_SOURCE_NUMBER, counted->tiles_b);
    smk_plan_add(step, SMK_SOURCE_NUMBER, counted->tiles_k);
    return add_stack(request, counted, step, error);
}

/* Predicted microseconds of all steps. */
static double predict(const smk_request *request, const smk_gemm_choice *choice, const arranged *counted,
                      int64_t blocks)
{
    const int64_t *d = request->dimensions;
    const double m = (double)d[SMK_GEMM_M], n = (double)d[SMK_GEMM_N];
    if (has_parts(request)) {
        const double read = smk_gemm_model_read(request), slower = smk_slowdowns_memory(request->machine);
        const bool is_odd = d[SMK_GEMM_N] % 2 != 0 && choice->parts.count == 1;
        const double written = (double)request->item_bytes * (double)smk_plan_gemm_elements(request);
        return choice->time_us + (is_odd ? slower * written / ODD_PACE : 0.0) +
               (d[SMK_GEMM_K] > 0 ? ARRANGE_START + slower * (read + (double)counted->bytes) / ARRANGE_PACE : 0.0);
    }
    const double covered = (double)counted->tiles_a * (double)counted->tiles_b * FRAGMENT * FRAGMENT;
    return smk_gemm_model_rate(request, blocks, m * n / covered / (1.0 + ARRANGE_PRODUCTS * (1.0 / m + 1.0 / n)));
}

/* arrange, then (a, b, sums, m, k, n, strides, arranged a, arranged b, steps of a part, stack), then
 * for several parts: add. */
smk_status smk_plan_gemm_tuned(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const int64_t *d = request->dimensions;
    smk_plan made = {.step_count = 0};
    arranged counted = {0};
    if (d[SMK_GEMM_M] == 0 || d[SMK_GEMM_N] == 0) {
        *plan = made;
        return SMK_OK;
    }
    smk_gemm_choice choice = smk_gemm_model_choose(request, STEP_K);
    smk_status status = smk_gemm_model_check(request, choice, error);
    if (status == SMK_OK) {
        status = count_fragments(request, choice.tile, &counted, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    const fragment_shape fragment = shape_fragment(request);
    const int64_t fragments_of_step = (choice.tile->rows + choice.tile->columns) / FRAGMENT * (STEP_K / fragment.k);
    const int64_t blocks = smk_plan_divide_up(d[SMK_GEMM_M], choice.tile->rows) *
                           smk_plan_divide_up(d[SMK_GEMM_N], choice.tile->columns) * choice.parts.count;
    if (blocks > INT32_MAX) {
        return smk_gemm_model_check(request, (smk_gemm_choice){.tile = NULL}, error);
    }
    if (d[SMK_GEMM_K] > 0 && (status = add_arrange(request, &counted, &made, error)) != SMK_OK) {
        return status;
    }
    smk_step *step = &made.step[made.step_count++];
    step->part = choice.tile->part;
    step->grid = (smk_dim3){(uint32_t)blocks, 1, 1};
    step->block = (smk_dim3){THREADS, 1, 1};
    step->shared_bytes = (size_t)(STAGES * fragments_of_step * fragment.bytes);
    smk_plan_gemm_add_operands(step, request, choice.parts, counted.bytes);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, 0);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, counted.bytes_a);
    smk_plan_add(step, SMK_SOURCE_NUMBER, smk_plan_divide_up(choice.parts.part_k, STEP_K));
    status = add_stack(request, &counted, step, error);
    if (status != SMK_OK) {
        return status;
    }
    smk_gemm_model_note(&choice, &made);
    smk_plan_gemm_add_sums(&made, request, choice.parts, counted.bytes, THREADS);
    made.workspace_bytes = (uint64_t)counted.bytes + (uint64_t)smk_plan_gemm_parts_bytes(request, choice.parts);
    made.time_us = predict(request, &choice, &counted, blocks * smk_plan_stack(request));
    *plan = made;
    return SMK_OK;
}
