// scan / blelloch_padded
//
// What     out[i] = OP of x[0] to x[i] (kind 0), or to x[i - 1] (kind 1), within the block's 512 elements, with
//          sums[block] before them. Where out is null, sums[block] = OP of these elements instead: the kernel first
//          makes the sums, scans them, and then runs again with what it has found.
// Idea     The same tree with an unused place after every 128 bytes: nodes that would meet in a bank lie one bank
//          further on with each row of banks, so most steps have no conflicts.
//          Elements past the end are NEUTRAL, which changes no result.
// Differs  from scan/blelloch: the place of element i is i + i / BANKS.
// Claims   shared.load.conflicts = 0     float32
//          shared.store.conflicts = 0    float32
//          shared.load.conflicts = 20    float64; int64; n at most 512: one block, where there were 620
//          shared.store.conflicts = 12   float64; int64; n at most 512: where there were 372
// Source   M. Harris, S. Sengupta, J. D. Owens, Parallel Prefix Sum (Scan) with CUDA, GPU Gems 3, chapter 39 (2007)

extern "C" __global__ void __launch_bounds__(256)
scan_blelloch_padded(const T *x, A *out, long long n, long long kind, A *sums)
{
    constexpr int THREADS = 256, ITEMS = 2 * THREADS, BANKS = 128 / sizeof(A);
    __shared__ A held[ITEMS + ITEMS / BANKS];
    auto tree = [&](int i) -> A & { return held[i + i / BANKS]; };

    // Who am I: two elements of x, half a tile apart.
    const int thread = threadIdx.x;
    const long long first = (long long)blockIdx.x * ITEMS + thread, second = first + THREADS;

    // Read and stage.
    const A low = first < n ? (A)x[first] : NEUTRAL, high = second < n ? (A)x[second] : NEUTRAL;
    tree(thread) = low;
    tree(thread + THREADS) = high;

    // Compute, on the way up, in a loop that stays one.
#pragma unroll 1
    for (int reach = 1; reach < ITEMS; reach *= 2) {
        // The children were written by other threads, in the step before or above: all must be done.
        __syncthreads();

        const int node = 2 * reach * (thread + 1) - 1;
        if (node < ITEMS)
            tree(node) = OP(tree(node - reach), tree(node));
    }

    // Thread 0 made the root itself. It writes the sum, or puts into the root what lies before the block.
    if (out == nullptr) {
        if (thread == 0)
            sums[blockIdx.x] = tree(ITEMS - 1);
        return;
    }
    if (thread == 0)
        tree(ITEMS - 1) = sums != nullptr ? sums[blockIdx.x] : NEUTRAL;

    // Compute, on the way down.
#pragma unroll 1
    for (int reach = ITEMS / 2; reach > 0; reach /= 2) {
        // What lies before the node was written by another thread, in the step before or above: all must be done.
        __syncthreads();

        const int node = 2 * reach * (thread + 1) - 1;
        if (node < ITEMS) {
            const A left = tree(node - reach);
            tree(node - reach) = tree(node);
            tree(node) = OP(tree(node), left);
        }
    }

    // The leaves were written by other threads: all must be done. Write.
    __syncthreads();
    if (first < n)
        out[first] = kind == 0 ? OP(tree(thread), low) : tree(thread);
    if (second < n)
        out[second] = kind == 0 ? OP(tree(thread + THREADS), high) : tree(thread + THREADS);
}
