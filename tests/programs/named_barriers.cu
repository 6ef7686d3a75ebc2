// Two warps hand tiles to two others over numbered barriers, and the block counts votes at barriers.
// Exercises bar.sync and bar.arrive with a number and a thread count, __syncthreads_count, _and, _or.

extern "C" __global__ void __launch_bounds__(128) named_barriers(const int *in, int *out, int rounds, int *votes)
{
    __shared__ int tile[64];
    int i = threadIdx.x;
    if (i < 64) {
        for (int round = 0; round < rounds; ++round) {
            asm volatile("bar.sync 2, 128;" ::: "memory"); // the tile is free
            tile[i] = in[round * 64 + i] * 3;
            asm volatile("bar.arrive 1, 128;" ::: "memory"); // the tile is full; do not wait for its readers
        }
    } else {
        asm volatile("bar.arrive 2, 128;" ::: "memory");
        for (int round = 0; round < rounds; ++round) {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            out[round * 64 + i - 64] = tile[127 - i] + round;
            if (round + 1 < rounds) {
                asm volatile("bar.arrive 2, 128;" ::: "memory");
            }
        }
    }
    int count = __syncthreads_count(i % 3 == 0);
    int every = __syncthreads_and(i < 128);
    int none = __syncthreads_or(i > 128);
    int some = __syncthreads_or(i == 77);
    votes[i] = count * 8 + (every != 0) * 4 + (none != 0) * 2 + (some != 0);
}
