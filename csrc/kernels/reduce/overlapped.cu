// reduce / overlapped
//
// What     out = OP of all n elements of x, in one launch.
// Idea     Launches that follow each other in a stream overlap: the blocks of this one come to the multiprocessors when
//          those of the launch before have ended, while its last writes are still under way and its end is told. To
//          start a grid then takes less time of its own; of short arrays that is a third of all time.
//          The host allows it (programmatic dependent launch), and one line makes it safe: a block waits until all
//          launches before have ended and what they wrote is there, before it reads or writes anything. What it may do
//          earlier needs no memory: here it is nothing. A call that no other one comes before gains nothing.
// Differs  from reduce/single_pass: this line, and that its launch may begin early.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
// Length   it is the fast one.
// Source   CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization"

extern "C" __global__ void __launch_bounds__(512)
    reduce_overlapped(const T *x, A *out, long long n, unsigned int *ticket, unsigned long long *words)
{
    constexpr int THREADS = 512, PACKS = 4, WARPS = THREADS / 32, ITEMS = 16 / sizeof(T), HALVES = sizeof(A) / 4;
    constexpr int AT_ONCE = 4; // parts
    constexpr unsigned ALL = 0xffffffff;
    struct alignas(16) pack {
        T item[ITEMS];
    };
    union number {
        A value;
        unsigned half[HALVES];
    };
    __shared__ A part[WARPS];

    // The launches before have ended, whose results may be x, and who left tickets and parts 0.
    cudaGridDependencySynchronize();

    // Who am I: a thread of a block that takes every gridDim.x-th tile of THREADS * PACKS packs.
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const long long step = (long long)gridDim.x * (THREADS * PACKS), count = n / ITEMS;
    const pack *packs = reinterpret_cast<const pack *>(x);
    unsigned drawn = 0;
    if (thread == 0 && gridDim.x > 1)
        drawn = atomicInc(ticket, gridDim.x - 1); // the last one makes it 0 again

    // One value of the warp, in its first lane.
    auto reduce_warp = [&](A mine, int reach) {
        for (; reach > 0; reach /= 2)
            mine = OP(mine, __shfl_down_sync(ALL, mine, reach));
        return mine;
    };

    // Read and compute. First what no pack holds, then whole tiles, then the rest of the last tile.
    A mine[ITEMS];
    for (int k = 0; k < ITEMS; ++k)
        mine[k] = NEUTRAL;
    if (blockIdx.x == 0 && thread < n - count * ITEMS)
        mine[0] = x[count * ITEMS + thread];
    long long i = (long long)blockIdx.x * (THREADS * PACKS) + thread;
    for (; i + (PACKS - 1) * THREADS < count; i += step) {
        pack read[PACKS];
        for (int j = 0; j < PACKS; ++j)
            read[j] = packs[i + j * THREADS];
        for (int j = 0; j < PACKS; ++j)
            for (int k = 0; k < ITEMS; ++k)
                mine[k] = OP(mine[k], read[j].item[k]);
    }
    for (int j = 0; j < PACKS; ++j)
        if (i + j * THREADS < count) {
            const pack read = packs[i + j * THREADS];
            for (int k = 0; k < ITEMS; ++k)
                mine[k] = OP(mine[k], read.item[k]);
        }
    for (int k = 1; k < ITEMS; ++k)
        mine[0] = OP(mine[0], mine[k]);
    mine[0] = reduce_warp(mine[0], 16);
    if (lane == 0)
        part[warp] = mine[0];
    // The first warp reads what all warps wrote: all must be done.
    __syncthreads();
    if (warp > 0)
        return;
    number result = {reduce_warp(lane < WARPS ? part[lane] : NEUTRAL, WARPS / 2)};

    if (gridDim.x == 1) { // the block is alone: its part is the result
        if (lane == 0)
            *out = result.value;
        return;
    }

    // Write the block's part: 32 bits a word, beside a 1.
    if (lane == 0)
        for (int h = 0; h < HALVES; ++h)
            __nv_atomic_store_n(&words[blockIdx.x * HALVES + h], 1ull << 32 | result.half[h], __NV_ATOMIC_RELAXED,
                                __NV_THREAD_SCOPE_DEVICE);
    if (__shfl_sync(ALL, drawn, 0) != gridDim.x - 1)
        return;

    // The last block: read the parts, some at once, until they are there; leave 0 in their places, compute, write.
    A total = NEUTRAL;
    for (unsigned first = lane; first < gridDim.x; first += AT_ONCE * 32) {
        unsigned long long word[AT_ONCE][HALVES];
        for (bool wait = true; wait;) {
            wait = false;
            for (int k = 0; k < AT_ONCE * HALVES; ++k)
                if (first + k / HALVES * 32 < gridDim.x) {
                    const unsigned at = (first + k / HALVES * 32) * HALVES + k % HALVES;
                    word[k / HALVES][k % HALVES] =
                        __nv_atomic_load_n(&words[at], __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
                    wait = wait || word[k / HALVES][k % HALVES] == 0;
                }
        }
        for (int k = 0; k < AT_ONCE; ++k)
            if (first + k * 32 < gridDim.x) {
                for (int h = 0; h < HALVES; ++h) {
                    result.half[h] = (unsigned)word[k][h];
                    __nv_atomic_store_n(&words[(first + k * 32) * HALVES + h], 0ull, __NV_ATOMIC_RELAXED,
                                        __NV_THREAD_SCOPE_DEVICE);
                }
                total = OP(total, result.value);
            }
    }
    total = reduce_warp(total, 16);
    if (lane == 0)
        *out = total;
}
