// reduce / unrolled
//
// What     out[block] = OP of the block's 2048 elements of x; the kernel runs again on these until one is left.
// Idea     Most threads of a tree idle most of the time. So each first reads several elements, all on their way from
//          memory at once, and makes one of them in a register: the same tree serves eight times as many.
//          Neighbouring threads read neighbours each time: the elements of a thread lie a block apart.
// Differs  from reduce/sequential: ITEMS elements a thread, and with them the part of x that a block covers.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
// Source   M. Harris, Optimizing Parallel Reduction in CUDA (2007), kernels 4 and 7

extern "C" __global__ void __launch_bounds__(256)
reduce_unrolled(const T *x, A *out, long long n)
{
    constexpr int THREADS = 256, ITEMS = 8;
    __shared__ A tree[THREADS];

    // Who am I: ITEMS elements of x, from here a block apart.
    const int thread = threadIdx.x;
    const long long first = (long long)blockIdx.x * (THREADS * ITEMS) + thread;

    // Read, all of them before the first is used.
    A item[ITEMS];
    for (int k = 0; k < ITEMS; ++k)
        item[k] = first + k * THREADS < n ? (A)x[first + k * THREADS] : NEUTRAL;

    // Compute in registers, and stage.
    for (int k = 1; k < ITEMS; ++k)
        item[0] = OP(item[0], item[k]);
    tree[thread] = item[0];

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
