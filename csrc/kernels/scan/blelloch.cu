// scan / blelloch
//
// What     out[i] = OP of x[0] to x[i] (kind 0), or to x[i - 1] (kind 1), within the block's 512 elements, with
//          sums[block] before them. Where out is null, sums[block] = OP of these elements instead: the kernel first
//          makes the sums, scans them, and then runs again with what it has found.
// Idea     A tree with a few more operations than elements. On the way up each node becomes the sum of its two
//          children. On the way down each node hands what lies before it to the left child, and that with the left
//          child's sum to the right one.
//          Slow because the working threads' nodes lie 2, 4, 8 ... elements apart, so they meet in ever fewer banks.
//          Elements past the end are NEUTRAL, which changes no result.
// Differs  from scan/hillis_steele: a tree up and down in place of steps of all elements; two elements a thread.
// Claims   shared.load.conflicts = 375   float32; n at most 512: one block
//          shared.store.conflicts = 225  float32; n at most 512: one block
//          shared.load.conflicts = 620   float64; int64; n at most 512: 8 bytes, in two banks; sums of int32 too
//          shared.store.conflicts = 372  float64; int64; n at most 512
// Source   G. E. Blelloch, Prefix sums and their applications, CMU-CS-90-190 (1990)

extern "C" __global__ void __launch_bounds__(256)
scan_blelloch(const T *x, A *out, long long n, long long kind, A *sums)
{
    constexpr int THREADS = 256, ITEMS = 2 * THREADS;
    __shared__ A tree[ITEMS];

    // Who am I: two elements of x, half a tile apart.
    const int thread = threadIdx.x;
    const long long first = (long long)blockIdx.x * ITEMS + thread, second = first + THREADS;

    // Read and stage.
    const A low = first < n ? (A)x[first] : NEUTRAL, high = second < n ? (A)x[second] : NEUTRAL;
    tree[thread] = low;
    tree[thread + THREADS] = high;

    // Compute, on the way up, in a loop that stays one.
#pragma unroll 1
    for (int reach = 1; reach < ITEMS; reach *= 2) {
        // The children were written by other threads, in the step before or above: all must be done.
        __syncthreads();

        const int node = 2 * reach * (thread + 1) - 1;
        if (node < ITEMS)
            tree[node] = OP(tree[node - reach], tree[node]);
    }

    // Thread 0 made the root itself. It writes the sum, or puts into the root what lies before the block.
    if (out == nullptr) {
        if (thread == 0)
            sums[blockIdx.x] = tree[ITEMS - 1];
        return;
    }
    if (thread == 0)
        tree[ITEMS - 1] = sums != nullptr ? sums[blockIdx.x] : NEUTRAL;

    // Compute, on the way down.
#pragma unroll 1
    for (int reach = ITEMS / 2; reach > 0; reach /= 2) {
        // What lies before the node was written by another thread, in the step before or above: all must be done.
        __syncthreads();

        const int node = 2 * reach * (thread + 1) - 1;
        if (node < ITEMS) {
            const A left = tree[node - reach];
            tree[node - reach] = tree[node];
            tree[node] = OP(tree[node], left);
        }
    }

    // The leaves were written by other threads: all must be done. Write.
    __syncthreads();
    if (first < n)
        out[first] = kind == 0 ? OP(tree[thread], low) : tree[thread];
    if (second < n)
        out[second] = kind == 0 ? OP(tree[thread + THREADS], high) : tree[thread + THREADS];
}
