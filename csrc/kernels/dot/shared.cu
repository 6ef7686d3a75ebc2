// dot / shared
//
// What     out = sum over i of x[i] * y[i]. out is 0 beforehand.
// Idea     A block adds up its 256 products in shared memory, by a tree (reduce/sequential), and only that sum goes
//          to the one result: an atomic addition a block.
//          Products past the end are 0.
// Differs  from dot/atomic: the tree before the atomic.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
//          global.load.sectors_per_request = 4       float32; n a multiple of 256: 128 bytes in a row
//          global.load.sectors_per_request = 8       float64; n a multiple of 256: 256 bytes in a row
// Source   the textbook cure

extern "C" __global__ void __launch_bounds__(256)
dot_shared(const T *x, const T *y, T *out, long long n)
{
    constexpr int THREADS = 256;
    __shared__ T tree[THREADS];

    // Who am I: one product.
    const int thread = threadIdx.x;
    const long long i = (long long)blockIdx.x * THREADS + thread;

    // Read and stage.
    tree[thread] = i < n ? x[i] * y[i] : T(0);

    // Compute, step by step, in a loop that stays one.
#pragma unroll 1
    for (int reach = THREADS / 2; reach > 0; reach /= 2) {
        // What the step adds was written by other threads, in the step before or above: all must be done.
        __syncthreads();

        if (thread < reach)
            tree[thread] += tree[thread + reach];
    }

    // Write: one atomic addition a block. Thread 0 made the last step itself.
    if (thread == 0)
        atomicAdd(out, tree[0]);
}
