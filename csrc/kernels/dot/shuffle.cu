// dot / shuffle
//
// What     out = sum over i of x[i] * y[i]. out is 0 beforehand.
// Idea     Each thread adds many products in registers, with eight reads of 16 bytes on their way at once; lanes hand
//          their sums to each other by shuffles, and shared memory carries one value a warp, past one barrier.
//          So a block makes one sum of 8192 products (float64: 4096), and memory is always busy.
// Differs  from dot/shared: shuffles in place of the tree; several elements a thread, in wider reads.
// Claims   global.load.sectors_per_request = 16      n a multiple of 128: 512 bytes in a row
//          shared.load.conflicts = 0
//          shared.store.conflicts = 0
// Source   the warp shuffles of CUDA C++ Programming Guide, "Warp Shuffle Functions"

extern "C" __global__ void __launch_bounds__(512)
dot_shuffle(const T *x, const T *y, T *out, long long n)
{
    constexpr int THREADS = 512, PACKS = 4, WARPS = THREADS / 32, ITEMS = 16 / sizeof(T);
    constexpr unsigned ALL = 0xffffffff;
    struct alignas(16) pack {
        T item[ITEMS];
    };
    __shared__ T part[WARPS];

    // Who am I: PACKS packs of elements of x and y, from here a block apart.
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const long long first = (long long)blockIdx.x * (THREADS * PACKS) + thread, count = n / ITEMS;

    // Read, all of them before the first is used; past the end zeros.
    pack left[PACKS] = {}, right[PACKS] = {};
    for (int j = 0; j < PACKS; ++j)
        if (first + j * THREADS < count) {
            left[j] = reinterpret_cast<const pack *>(x)[first + j * THREADS];
            right[j] = reinterpret_cast<const pack *>(y)[first + j * THREADS];
        }

    // Compute in registers. The first block also takes what no pack holds.
    T sum = 0;
    for (int j = 0; j < PACKS; ++j)
        for (int k = 0; k < ITEMS; ++k)
            sum += left[j].item[k] * right[j].item[k];
    if (blockIdx.x == 0 && thread < n - count * ITEMS)
        sum += x[count * ITEMS + thread] * y[count * ITEMS + thread];

    // Compute: of the warp's lanes one sum, in lane 0. Stage: one value a warp.
    for (int reach = 16; reach > 0; reach /= 2)
        sum += __shfl_down_sync(ALL, sum, reach);
    if (lane == 0)
        part[warp] = sum;

    // The first warp reads what all warps wrote: all must be done.
    __syncthreads();

    // Compute and write: one atomic addition a block.
    if (warp == 0) {
        sum = lane < WARPS ? part[lane] : T(0);
        for (int reach = WARPS / 2; reach > 0; reach /= 2)
            sum += __shfl_down_sync(ALL, sum, reach);
        if (lane == 0)
            atomicAdd(out, sum);
    }
}
