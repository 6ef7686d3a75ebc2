/* The plan of gemm/tensor, operands of 16 and 8 bits, laid out where their rows do not begin at multiples of 16 bytes;
 * of gemm/tf32, whose operands are rounded where they are laid out, or as they are read; and of gemm/overlapped, which
 * takes all of them, and whose launches begin early.
 *
 * The model of tiles counts k in words of 4 bytes: steps, copies and products of a word take equally long whatever it
 * holds. */
#include "registry/gemm_model.h"
#include "registry/slowdowns.h"

#include <string.h>

/* As in gemm/tensor.cu, gemm/tf32.cu and gemm/overlapped.cu: bytes of a copy, words of a step along k, threads of the kernels, side of a tile of lay_out. */
enum { COPY_BYTES = 16, WORD_BYTES = 4, STEP_WORDS = 32, THREADS = 256, SIDE = 64 };

/* The launch that lays out operands, in microseconds on an H200; and its bytes a microsecond, by bytes of an element. */
static const double LAY_OUT_START = 2.0, LAY_OUT_PACE[] = {[1] = 0.26e6, [2] = 0.95e6, [4] = 2.0e6};

/* An operand as the kernel reads it: elements from one row to the next, and from one product of a stack to the next;
 * and, where it is laid out, its tiles and the bytes of all products (else 0). */
typedef struct operand {
    int64_t pitch, stack, tiles, bytes;
} operand;

/* Operands that are to be laid out in any case, or only where they must. False where 64 bits do not count the bytes, or a
 * grid the tiles. */
static bool describe(const smk_request *request, size_t index, int64_t rows, int64_t columns, bool always,
                     operand *made)
{
    const smk_layout layout = smk_plan_layout(request, index);
    const int64_t item = (int64_t)request->item_bytes, unit = COPY_BYTES / item;
    const bool goes_on = index == SMK_GEMM_A && columns % unit != 0; /* a copy would take what follows in wider rows */
    int64_t bytes = 0;
    *made = (operand){layout.axis[0], layout.stack, 0, 0};
    if (rows == 0 || columns == 0 ||
        (!always && !goes_on && layout.axis[1] == 1 && layout.axis[0] % unit == 0 && layout.stack % unit == 0 &&
         layout.is_aligned != 0)) {
        return true;
    }
    const int64_t copies = layout.stack == 0 ? 1 : smk_plan_stack(request);
    made->pitch = smk_plan_divide_up(columns, unit) * unit;
    if (__builtin_mul_overflow(rows, made->pitch * item, &bytes) || __builtin_mul_overflow(bytes, copies, &bytes) ||
        bytes > INT64_MAX / 4) {
        return false;
    }
    made->stack = layout.stack == 0 ? 0 : rows * made->pitch;
    made->bytes = smk_plan_divide_up(bytes, SMK_GEMM_ALIGNMENT) * SMK_GEMM_ALIGNMENT;
    made->tiles = smk_plan_divide_up(rows, SIDE) * smk_plan_divide_up(made->pitch, SIDE);
    return made->tiles <= INT32_MAX / 2;
}

static void add_dimensions(const smk_request *request, smk_step *step)
{
    for (int i = SMK_GEMM_M; i <= SMK_GEMM_N; i++) {
        smk_plan_add(step, SMK_SOURCE_NUMBER, request->dimensions[i]);
    }
}

/* (a, b, to a, to b, m, k, n, strides, pitches, tiles of a, stack): operands that have tiles. */
static smk_status add_lay_out(const smk_request *request, const operand *a, const operand *b, smk_plan *plan,
                              smk_error *error)
{
    smk_step *step = &plan->step[plan->step_count++];
    step->part = "lay_out";
    step->grid = (smk_dim3){(uint32_t)(a->tiles + b->tiles), 1, 1};
    step->block = (smk_dim3){THREADS, 1, 1};
    smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_A);
    smk_plan_add(step, SMK_SOURCE_OPERAND, SMK_GEMM_B);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, 0);
    smk_plan_add(step, SMK_SOURCE_WORKSPACE, a->bytes);
    add_dimensions(request, step);
    smk_plan_gemm_add_strides(step, request);
    smk_plan_add(step, SMK_SOURCE_NUMBER, a->pitch);
    smk_plan_add(step, SMK_SOURCE_NUMBER, b->pitch);
    smk_plan_add(step, SMK_SOURCE_NUMBER, a->tiles);
    return smk_plan_gemm_add_stack(step, request, error);
}

/* (a, b, sums, m, k, n, pitches, part_k, stack): the products of parts of k. */
static smk_status add_products(const smk_request *request, const smk_gemm_choice *choice, const operand *a,
                               const operand *b, smk_plan *plan, smk_error *error)
{
    const int64_t *d = request->dimensions;
    const int64_t blocks = smk_plan_divide_up(d[SMK_GEMM_M], choice->tile->rows) *
                           smk_plan_divide_up(d[SMK_GEMM_N], choice->tile->columns) * choice->parts.count;
    if (blocks > INT32_MAX) {
        return smk_gemm_model_check(request, (smk_gemm_choice){.tile = NULL}, error);
    }
    smk_step *step = &plan->step[plan->step_count++];
    step->part = choice->tile->part;
    step->grid = (smk_dim3){(uint32_t)blocks, 1, 1};
    step->block = (smk_dim3){THREADS, 1, 1};
    step->shared_bytes = choice->tile->shared_bytes;
    smk_plan_add(step, a->tiles > 0 ? SMK_SOURCE_WORKSPACE : SMK_SOURCE_OPERAND, a->tiles > 0 ? 0 : SMK_GEMM_A);
    smk_plan_add(step, b->tiles > 0 ? SMK_SOURCE_WORKSPACE : SMK_SOURCE_OPERAND, b->tiles > 0 ? a->bytes : SMK_GEMM_B);
    smk_plan_gemm_add_target(step, choice->parts, a->bytes + b->bytes);
    add_dimensions(request, step);
    smk_plan_add(step, SMK_SOURCE_NUMBER, a->pitch);
    smk_plan_add(step, SMK_SOURCE_NUMBER, b->pitch);
    smk_plan_add(step, SMK_SOURCE_NUMBER, choice->parts.part_k * WORD_BYTES / (int64_t)request->item_bytes);
    smk_plan_add(step, SMK_SOURCE_NUMBER, smk_plan_stack(request));
    smk_plan_add(step, SMK_SOURCE_NUMBER, a->stack);
    smk_plan_add(step, SMK_SOURCE_NUMBER, b->stack);
    return smk_plan_stack_grid(request, step, error);
}

/* Operands that are rounded are laid out in any case; columns of b become rows there. */
static bool describe_both(const smk_request *request, bool is_rounded, operand *a, operand *b)
{
    const int64_t *d = request->dimensions, k = d[SMK_GEMM_K], n = d[SMK_GEMM_N];
    return describe(request, SMK_GEMM_A, d[SMK_GEMM_M], k, is_rounded, a) &&
           describe(request, SMK_GEMM_B, is_rounded ? n : k, is_rounded ? k : n, is_rounded, b);
}

static double predict_lay_out(const smk_request *request, const operand *a, const operand *b)
{
    const double bytes = (double)(a->bytes + b->bytes);
    return bytes > 0
               ? LAY_OUT_START + bytes / LAY_OUT_PACE[request->item_bytes] * smk_slowdowns_memory(request->machine)
               : 0.0;
}

/* tf32: takes the tile that rounds as it reads, where the operands allow it and it saves time. */
static void try_raw(const smk_request *request, const smk_request *words, smk_gemm_choice *choice, operand *a,
                    operand *b)
{
    operand raw_a, raw_b;
    if (!describe_both(request, false, &raw_a, &raw_b) || raw_a.tiles + raw_b.tiles > 0) {
        return;
    }
    const smk_gemm_choice raw = smk_gemm_model_choose_kind(words, STEP_WORDS, true);
    if (raw.tile != NULL && raw.time_us < choice->time_us + predict_lay_out(request, a, b)) {
        *choice = raw;
        *a = raw_a;
        *b = raw_b;
    }
}

/* lay_out where an operand needs it, the products, then for several parts of k: add. `is_rounded`: operands are rounded
 * where they are laid out. */
static smk_status make(const smk_request *request, bool is_rounded, smk_plan *plan, smk_error *error)
{
    const int64_t *d = request->dimensions, m = d[SMK_GEMM_M], k = d[SMK_GEMM_K], n = d[SMK_GEMM_N];
    smk_plan made = {.takes_stack = true, .takes_layout = true};
    operand a, b;
    if (m == 0 || n == 0) {
        *plan = made;
        return SMK_OK;
    }
    const int64_t in_words[] = {m, smk_plan_divide_up(k, WORD_BYTES / (int64_t)request->item_bytes), n};
    smk_request words = *request;
    words.dimensions = in_words;
    words.item_bytes = WORD_BYTES;
    smk_gemm_choice choice = smk_gemm_model_choose(&words, STEP_WORDS);
    smk_status status = smk_gemm_model_check(request, choice, error);
    if (status != SMK_OK) {
        return status;
    }
    if (!describe_both(request, is_rounded, &a, &b)) {
        return smk_status_fail(error, SMK_MEMORY,
                               "gemm variant '%s': copies of operands of m = %lld, k = %lld, n = %lld would be too "
                               "large; pass arrays whose rows begin at multiples of 16 bytes",
                               request->variant->name, (long long)m, (long long)k, (long long)n);
    }
    if (is_rounded) {
        try_raw(request, &words, &choice, &a, &b);
    }
    made.time_us = choice.time_us + predict_lay_out(request, &a, &b);
    if (a.tiles + b.tiles > 0) {
        status = add_lay_out(request, &a, &b, &made, error);
    }
    if (status == SMK_OK) {
        status = add_products(request, &choice, &a, &b, &made, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    smk_plan_gemm_add_sums(&made, &words, choice.parts, a.bytes + b.bytes, THREADS);
    made.workspace_bytes = (uint64_t)(a.bytes + b.bytes + smk_plan_gemm_parts_bytes(&words, choice.parts));
    *plan = made;
    return SMK_OK;
}

smk_status smk_plan_gemm_tensor(const smk_request *request, smk_plan *plan, smk_error *error)
{
    return make(request, strcmp(request->type, "tf32") == 0, plan, error);
}

/* The same; the kernels themselves wait for the launches before them. */
smk_status smk_plan_gemm_overlapped(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_status status = make(request, false, plan, error);
    for (size_t i = 0; status == SMK_OK && i < plan->step_count; i++) {
        plan->step[i].begins_early = true;
    }
    return status;
}
