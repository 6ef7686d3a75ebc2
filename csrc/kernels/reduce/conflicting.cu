// reduce / conflicting
//
// What     out[block] = OP of the block's 256 elements of x; the kernel runs again on these until one is left.
// Idea     The same tree, but the threads that work stand side by side: whole warps fall idle, and few diverge.
//          Slow because neighbouring threads now work 2, 4, 8 ... elements apart, so they meet in ever fewer banks.
//          Elements past the end are NEUTRAL, which changes no result.
// Differs  from reduce/divergent: which thread makes which node of the tree.
// Claims   shared.load.conflicts_per_request = 2.8   float32: 70 in the 25 reads of a block
//          shared.load.conflicts_per_request = 4.8   float64; int64: 8 bytes, in two banks; sums of int32 too
//          shared.store.conflicts_per_request = 1.75 float32
//          shared.store.conflicts_per_request = 3    float64; int64
// Source   M. Harris, Optimizing Parallel Reduction in CUDA (2007), kernel 2

extern "C" __global__ void __launch_bounds__(256)
reduce_conflicting(const T *x, A *out, long long n)
{
    constexpr int THREADS = 256;
    __shared__ A tree[THREADS];

    // Who am I: one element of x.
    const int thread = threadIdx.x;
    const long long i = (long long)blockIdx.x * THREADS + thread;

    // Read and stage.
    tree[thread] = i < n ? (A)x[i] : NEUTRAL;

    // Compute, step by step, in a loop that stays one.
#pragma unroll 1
    for (int reach = 1; reach < THREADS; reach *= 2) {
        // What the step takes in was written by other threads, in the step before or above: all must be done.
        __syncthreads();

        const int node = 2 * reach * thread;
        if (node < THREADS)
            tree[node] = OP(tree[node], tree[node + reach]);
    }

    // Write. Thread 0 made the last step itself.
    if (thread == 0)
        out[blockIdx.x] = tree[0];
}
