// reduce / shuffle
//
// What     out[block] = OP of the block's 2048 elements of x; the kernel runs again on these until one is left.
// Idea     The lanes of a warp hand their values to each other directly, from register to register: no shared
//          memory, no barrier. Shared memory only carries one value from each warp to the first, past one barrier
//          where the tree had eight.
// Differs  from reduce/unrolled: shuffles in place of the tree.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
// Source   the warp shuffles of CUDA C++ Programming Guide, "Warp Shuffle Functions"

extern "C" __global__ void __launch_bounds__(256)
reduce_shuffle(const T *x, A *out, long long n)
{
    constexpr int THREADS = 256, ITEMS = 8, WARPS = THREADS / 32;
    constexpr unsigned ALL = 0xffffffff;
    __shared__ A part[WARPS];

    // Who am I: ITEMS elements of x, from here a block apart.
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const long long first = (long long)blockIdx.x * (THREADS * ITEMS) + thread;

    // Read, all of them before the first is used.
    A item[ITEMS];
    for (int k = 0; k < ITEMS; ++k)
        item[k] = first + k * THREADS < n ? (A)x[first + k * THREADS] : NEUTRAL;

    // Compute in registers: of the thread's elements one, then of the warp's lanes one, in lane 0.
    for (int k = 1; k < ITEMS; ++k)
        item[0] = OP(item[0], item[k]);
    for (int reach = 16; reach > 0; reach /= 2)
        item[0] = OP(item[0], __shfl_down_sync(ALL, item[0], reach));

    // Stage: one value a warp.
    if (lane == 0)
        part[warp] = item[0];

    // The first warp reads what all warps wrote: all must be done.
    __syncthreads();

    // Compute and write: the first WARPS lanes of the first warp are enough.
    if (warp == 0) {
        A mine = lane < WARPS ? part[lane] : NEUTRAL;
        for (int reach = WARPS / 2; reach > 0; reach /= 2)
            mine = OP(mine, __shfl_down_sync(ALL, mine, reach));
        if (lane == 0)
            out[blockIdx.x] = mine;
    }
}
