// probe / random_grouped
//
// What     y[i] is x[i] after steps of one sum or of another: v = v / 2 + 1 where x[i] is negative,
//          else v = 2 - v / 4. n elements.
// Idea     The block sorts its elements by what they want before it works: through a list in shared memory those with a
//          negative x come first, then the others. Now all warps agree but the one in which the two kinds meet.
//          It pays where the work behind the branch is longer than the sorting.
// Differs  from probe/branch_random: the list; i is read from it.
// Claims   branch.divergent = 1                     n 256: the warp where the kinds meet, of 8
// Source   stream compaction by votes, as in Harris and Garland, Optimizing Parallel Prefix Operations for Fermi

extern "C" __global__ void __launch_bounds__(256)
probe_random_grouped(const T *x, T *y, long long n, long long steps)
{
    constexpr int THREADS = 256, WARPS = THREADS / 32;
    __shared__ int found[WARPS][32]; // how many negative elements each warp has, for each of its lanes
    __shared__ int order[THREADS];   // the block's elements, negative ones first

    // Who am I, at first: an element to be sorted. Those behind the end go with the others.
    const long long first = (long long)blockIdx.x * THREADS;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool negative = first + threadIdx.x < n && x[first + threadIdx.x] < 0;
    const unsigned votes = __ballot_sync(0xffffffff, negative);
    found[warp][lane] = __popc(votes); // all lanes the same: asking for one of them would be a branch

    // The places depend on the counts of all warps: none may read them before the last has written.
    __syncthreads();

    // Stage: my place in the list.
    int before = __popc(votes & ((1u << lane) - 1)), total = 0;
    for (int w = 0; w < WARPS; ++w) {
        const int count = found[w][lane];
        before += w < warp ? count : 0;
        total += count;
    }
    order[negative ? before : total + (int)threadIdx.x - before] = threadIdx.x;

    // The list is written by all threads: none may take its element before the last has written.
    __syncthreads();

    // Who am I, from here on: an element of one kind, as are nearly all in my warp.
    const long long i = first + order[threadIdx.x];
    if (i >= n)
        return;

    // Read, compute, write.
    T v = x[i];
    if (v < 0)
        for (long long step = 0; step < steps; ++step)
            v = v * (T)0.5 + (T)1;
    else
        for (long long step = 0; step < steps; ++step)
            v = v * (T)-0.25 + (T)2;
    y[i] = v;
}
