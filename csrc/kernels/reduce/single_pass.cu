// reduce / single_pass
//
// What     out = OP of all n elements of x, in one launch.
// Idea     Each block leaves its part in global memory and draws a ticket. Who draws the last one knows that all
//          other parts are written, and makes the result of them. No second launch, and x is read once.
//          A fixed number of blocks take turns at x, so that there are few parts; and a thread has four reads of 16
//          bytes on their way at once, so that memory is always busy.
//          The ticket counts round to 0, ready for the next call.
// Differs  from reduce/shuffle: who makes the result of the parts; and for speed turns, and wider reads.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
// Source   CUDA C++ Programming Guide, "Memory Fence Functions": the sum whose last block finishes

extern "C" __global__ void __launch_bounds__(512)
reduce_single_pass(const T *x, A *out, long long n, unsigned int *ticket, A *parts)
{
    constexpr int THREADS = 512, PACKS = 4, WARPS = THREADS / 32, ITEMS = 16 / sizeof(T);
    constexpr unsigned ALL = 0xffffffff;
    struct alignas(16) pack {
        T item[ITEMS];
    };
    __shared__ A part[WARPS];
    __shared__ bool is_last;

    // Who am I: a thread of a block that takes every gridDim.x-th tile of THREADS * PACKS packs.
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const long long step = (long long)gridDim.x * (THREADS * PACKS), count = n / ITEMS;
    const pack *packs = reinterpret_cast<const pack *>(x);

    // One value of the whole block, in thread 0.
    auto reduce_block = [&](A mine) {
        for (int reach = 16; reach > 0; reach /= 2)
            mine = OP(mine, __shfl_down_sync(ALL, mine, reach));
        if (lane == 0)
            part[warp] = mine;
        // The first warp reads what all warps wrote: all must be done.
        __syncthreads();
        if (warp == 0) {
            mine = lane < WARPS ? part[lane] : NEUTRAL;
            for (int reach = WARPS / 2; reach > 0; reach /= 2)
                mine = OP(mine, __shfl_down_sync(ALL, mine, reach));
        }
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
    A result = reduce_block(mine[0]);

    // Write the block's part, where every thread of the device sees it before the ticket is drawn.
    if (thread == 0) {
        parts[blockIdx.x] = result;
        __threadfence();
        is_last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }

    // All threads read is_last, which thread 0 wrote; and `part` was read by the first warp: it may be used again.
    __syncthreads();
    if (!is_last)
        return;

    // The last block: read the parts, compute, write.
    result = NEUTRAL;
    for (unsigned k = thread; k < gridDim.x; k += THREADS)
        result = OP(result, parts[k]);
    result = reduce_block(result);
    if (thread == 0)
        *out = result;
}
