/* Plans of sort: a block sorts a row, or several short ones. */
#include "registry/plan.h"

/* Elements of a row at most; sort/shuffle has up to 8 for each of 512 threads. Its rows have those of a warp at least,
 * and after each row of banks an element is unused. */
enum { ROW_MAX = 4096, SHUFFLE_ITEMS = 512, SHUFFLE_ROW_MIN = 32, BANKS_BYTES = 128 };

static int64_t round_to_power(int64_t n, int64_t least)
{
    int64_t size = least;
    while (size < n) {
        size *= 2;
    }
    return size;
}

/* One launch whose blocks sort `each` rows; `items` elements of shared memory. */
static smk_status make(const smk_request *request, int64_t size, int64_t each, int64_t items, smk_plan *plan,
                       smk_error *error)
{
    smk_plan made = {.step_count = 0};
    smk_status status = smk_plan_single(request, &made, error);
    if (status != SMK_OK || made.step_count == 0) {
        *plan = made;
        return status;
    }
    const int64_t rows = smk_plan_stack(request), blocks = smk_plan_divide_up(rows, each);
    const size_t bytes = (size_t)items * request->item_bytes;
    made.takes_stack = blocks <= INT32_MAX;
    if (bytes > request->machine->shared_bytes_max) {
        return smk_status_fail(
            error, SMK_SHARED_MEMORY,
            "sort variant '%s': a row of %lld %s takes %zu bytes of shared memory, more than the %zu "
            "that a block has here",
            request->variant->name, (long long)request->dimensions[0], request->type, bytes,
            request->machine->shared_bytes_max);
    }
    smk_step *step = &made.step[0];
    step->grid = (smk_dim3){made.takes_stack ? (uint32_t)blocks : 1, 1, 1};
    step->shared_bytes = bytes;
    smk_plan_add(step, SMK_SOURCE_NUMBER, size);
    smk_plan_add(step, SMK_SOURCE_NUMBER, made.takes_stack ? rows : 1);
    smk_plan_add(step, SMK_SOURCE_NUMBER, smk_plan_layout(request, 0).stack);
    *plan = made;
    return SMK_OK;
}

static smk_status check_row(const smk_request *request, smk_error *error)
{
    if (request->dimensions[0] > ROW_MAX) {
        return smk_status_fail(error, SMK_SHAPE,
                               "sort: a row of %lld elements; a block sorts %d at most in its shared memory: sort "
                               "pieces, as x.reshape(-1, %d), and merge them",
                               (long long)request->dimensions[0], ROW_MAX, ROW_MAX);
    }
    return SMK_OK;
}

/* A block for each row. */
smk_status smk_plan_sort_row(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_status status = check_row(request, error);
    const int64_t size = round_to_power(request->dimensions[0], 1);
    status = status == SMK_OK ? make(request, size, 1, size, plan, error) : status;
    if (status == SMK_OK && size < 2 * (int64_t)request->variant->block_x) { /* some threads have no pair */
        plan->efficiency = (double)size / (2.0 * (double)request->variant->block_x);
    }
    return status;
}

/* A block for a row, or for several short ones. */
smk_status smk_plan_sort_shuffle(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_status status = check_row(request, error);
    if (status != SMK_OK) {
        return status;
    }
    const int64_t size = round_to_power(request->dimensions[0], SHUFFLE_ROW_MIN);
    const int64_t items = size < SHUFFLE_ITEMS ? SHUFFLE_ITEMS : size;
    return make(request, size, items / size, items + items * (int64_t)request->item_bytes / BANKS_BYTES, plan, error);
}
