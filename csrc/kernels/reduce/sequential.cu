// reduce / sequential
//
// What     out[block] = OP of the block's 256 elements of x; the kernel runs again on these until one is left.
// Idea     The tree the other way round: in each step the lower half takes in the upper half. The threads that work
//          stand side by side, and so do the elements: no bank conflicts.
//          Elements past the end are NEUTRAL, which changes no result.
// Differs  from reduce/conflicting: reach goes down from half the block, and thread t makes node t.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
// Source   M. Harris, Optimizing Parallel Reduction in CUDA (2007), kernel 3

extern "C" __global__ void __launch_bounds__(256)
reduce_sequential(const T *x, A *out, long long n)
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
    for (int reach = THREADS / 2; reach > 0; reach /= 2) {
        // What the step takes in was written by other threads, in the step before or above: all must be done.
        __syncthreads();

        if (thread < reach)
            tree[thread] = OP(tree[thread], tree[thread + reach]);
    }

    // Write. Thread 0 made the last step itself.
    if (thread == 0)
        out[blockIdx.x] = tree[0];
}
