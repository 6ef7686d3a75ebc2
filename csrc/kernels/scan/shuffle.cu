// scan / shuffle
//
// What     out[i] = OP of x[0] to x[i] (kind 0), or to x[i - 1] (kind 1), within the block's 2048 elements, with
//          sums[block] before them. Where out is null, sums[block] = OP of these elements instead: the kernel first
//          makes the sums, scans them, and then runs again with what it has found.
// Idea     The lanes of a warp hand their values to each other directly, from register to register. A warp scans eight
//          rows of 32 elements one after the other, and takes the last value of a row along to the next. Shared
//          memory only carries one value from each warp to those behind it, past one barrier where the tree had
//          eighteen.
//          Elements past the end are NEUTRAL, which changes no result.
// Differs  from scan/blelloch_padded: shuffles in place of the tree, and with them the part of x that a block covers.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
// Source   the warp shuffles of CUDA C++ Programming Guide, "Warp Shuffle Functions"

extern "C" __global__ void __launch_bounds__(256)
scan_shuffle(const T *x, A *out, long long n, long long kind, A *sums)
{
    constexpr int THREADS = 256, ITEMS = 8, WARPS = THREADS / 32;
    constexpr unsigned ALL = 0xffffffff;
    __shared__ A part[WARPS];

    // Who am I: ITEMS elements of x, from here a row of the warp apart.
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const long long first = (long long)blockIdx.x * (THREADS * ITEMS) + warp * (32 * ITEMS) + lane;

    // Read, all of them before the first is used.
    A item[ITEMS];
    for (int k = 0; k < ITEMS; ++k)
        item[k] = first + k * 32 < n ? (A)x[first + k * 32] : NEUTRAL;

    // Compute in registers: each row by itself, then with the rows before it.
    A before = NEUTRAL;
    for (int k = 0; k < ITEMS; ++k) {
        for (int reach = 1; reach < 32; reach *= 2) {
            const A left = __shfl_up_sync(ALL, item[k], reach);
            if (lane >= reach)
                item[k] = OP(left, item[k]);
        }
        const A left = __shfl_up_sync(ALL, item[k], 1), last = __shfl_sync(ALL, item[k], 31);
        item[k] = kind == 0 ? OP(before, item[k]) : lane > 0 ? OP(before, left) : before;
        before = OP(before, last);
    }

    // Stage: one value a warp.
    if (lane == 0)
        part[warp] = before;

    // Every warp reads what the warps before it wrote: all must be done.
    __syncthreads();

    // Write the sum, or the results.
    A front = out != nullptr && sums != nullptr ? sums[blockIdx.x] : NEUTRAL;
    for (int w = 0; w < warp; ++w)
        front = OP(front, part[w]);
    if (out == nullptr) {
        if (thread == THREADS - 1)
            sums[blockIdx.x] = OP(front, before);
        return;
    }
    for (int k = 0; k < ITEMS; ++k)
        if (first + k * 32 < n)
            out[first + k * 32] = OP(front, item[k]);
}
