/* Plans of histogram and histogram_weighted: kernels that add to counts and sums of 0. */
#include "registry/plan_persistent.h"

#include <string.h>

/* n, e, b: elements, edges, bins. */
enum { DIMENSION_N, DIMENSION_E, DIMENSION_B };

/* Bytes are counted by value. */
enum { BYTE_BINS = 256 };

/* A block counts in 32 bits: of no bin more than it reads. */
static const int64_t counted_max = INT64_C(1) << 31;

static smk_status check_bins(const smk_request *request, smk_error *error)
{
    const long long edges = (long long)request->dimensions[DIMENSION_E];
    const long long bins = (long long)request->dimensions[DIMENSION_B];
    if (edges < 1 || edges - 1 != bins) {
        return smk_status_fail(error, SMK_SHAPE, "%s: %lld edges do not bound the %lld bins of out",
                               request->family->name, edges, bins);
    }
    if (strcmp(request->type, "uint8") == 0 && bins != BYTE_BINS) {
        return smk_status_fail(error, SMK_ARGUMENT, "%s: uint8 is counted by value, in %d bins, not %lld",
                               request->family->name, BYTE_BINS, bins);
    }
    return SMK_OK;
}

/* The numbers of a block's copies, as in histogram/shared.cu, histogram/lane.cu, histogram/even.cu and
 * histogram_weighted/shared.cu. More bins are counted in windows of that size, and x is read once for each window. */
enum { SHARED_WORDS = 4096, LANE_WORDS = 8192, EVEN_WIDTH = 8000, WEIGHTED_SUMS = 2048 };

/* The number of bins at which global additions have half the speed that they have with many bins, where threads rarely
 * address one word. Measured on an H200. */
static const double spread_bins = 50000.0;

/* Of even for bytes, whose bins lane finds with fewer instructions. */
static const double byte_efficiency = 0.9;

/* A tile of the row's size for each block. */
smk_status smk_plan_histogram_added(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_plan made = {.step_count = 0};
    smk_status status = check_bins(request, error);
    if (status == SMK_OK) {
        status = smk_plan_single(request, &made, error);
    }
    if (status == SMK_OK) {
        const double bins = (double)request->dimensions[DIMENSION_B];
        made.clears_outputs = true;
        made.efficiency = bins / (bins + spread_bins);
        *plan = made;
    }
    return status;
}

/* Persistent blocks that count in `words` words of shared memory. */
static smk_status plan_persistent(const smk_request *request, int64_t block_bytes, uint32_t blocks_per_multiprocessor,
                                  int64_t words, smk_plan *plan, smk_error *error)
{
    const int64_t windows = request->dimensions[DIMENSION_B] / words + (request->dimensions[DIMENSION_B] % words != 0);
    smk_plan made = {.step_count = 0};
    smk_status status = check_bins(request, error);
    if (status == SMK_OK) {
        status = smk_plan_persistent(request, block_bytes, blocks_per_multiprocessor, &made, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    const int64_t least = request->dimensions[DIMENSION_N] / counted_max + 1;
    if ((int64_t)made.step[0].grid.x < least) {
        made.step[0].grid.x = (uint32_t)least;
    }
    made.clears_outputs = true;
    made.efficiency = windows > 1 ? 1.0 / (double)windows : 1.0;
    *plan = made;
    return SMK_OK;
}

/* 256 threads, eight blocks a multiprocessor. */
smk_status smk_plan_histogram_shared(const smk_request *request, smk_plan *plan, smk_error *error)
{
    return plan_persistent(request, INT64_C(256) * 16, 8, SHARED_WORDS, plan, error);
}

/* The same, with an element and its weight a thread at a time. */
smk_status smk_plan_histogram_weighted(const smk_request *request, smk_plan *plan, smk_error *error)
{
    return plan_persistent(request, INT64_C(256) * 16, 8, WEIGHTED_SUMS, plan, error);
}

/* 1024 threads with a read of 16 bytes at least; the memory of one block's copies is enough for a multiprocessor. */
smk_status smk_plan_histogram_lane(const smk_request *request, smk_plan *plan, smk_error *error)
{
    return plan_persistent(request, INT64_C(1024) * 16, 1, LANE_WORDS, plan, error);
}

/* The same, with the edges behind the copies, in dynamic shared memory. */
smk_status smk_plan_histogram_even(const smk_request *request, smk_plan *plan, smk_error *error)
{
    const int64_t bins = request->dimensions[DIMENSION_B];
    smk_plan made;
    smk_status status = plan_persistent(request, INT64_C(1024) * 16, 1, EVEN_WIDTH, &made, error);
    if (status == SMK_OK && made.step_count > 0) {
        const int64_t edges = (bins < EVEN_WIDTH ? bins : EVEN_WIDTH) + 1;
        made.step[0].shared_bytes = (size_t)((LANE_WORDS + edges) * (int64_t)sizeof(uint32_t));
        made.efficiency *= strcmp(request->type, "uint8") == 0 ? byte_efficiency : 1.0;
    }
    if (status == SMK_OK) {
        *plan = made;
    }
    return status;
}
