// reduce / divergent
//
// What     out[block] = OP of the block's 256 elements of x; the kernel runs again on these until one is left.
// Idea     A tree in shared memory: in each step a thread takes in its neighbour, then the neighbour's neighbour ...
//          Slow because those that work, every second, every fourth, every eighth thread, lie scattered: to the
//          end every warp goes through every step, with ever fewer of its lanes active.
//          Elements past the end are NEUTRAL, which changes no result.
// Differs  from nothing: the ladder starts here.
// Claims   shared.load.conflicts = 0                 float32
//          shared.store.conflicts = 0
// Source   M. Harris, Optimizing Parallel Reduction in CUDA (2007), kernel 1

extern "C" __global__ void __launch_bounds__(256)
reduce_divergent(const T *x, A *out, long long n)
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

        if (thread % (2 * reach) == 0)
            tree[thread] = OP(tree[thread], tree[thread + reach]);
    }

    // Write. Thread 0 made the last step itself.
    if (thread == 0)
        out[blockIdx.x] = tree[0];
}
