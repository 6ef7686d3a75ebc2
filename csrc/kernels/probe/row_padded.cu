// probe / row_padded
//
// What     Each warp reads rows of a 32 x 32 tile in shared memory, one after the other, rounds of them from
//          each of 4 tiles; out[thread] is the exclusive or of what it read.
// Idea     For rows the pad changes nothing: they had no conflicts. Reads of neighbouring rows are no longer at a fixed
//          power of two from each other, and the tile takes 1/32 more room.
// Differs  from probe/row: PAD.
// Claims   shared.load.conflicts = 0
// Source   none

extern "C" __global__ void __launch_bounds__(256)
probe_row_padded(T *out, long long rounds)
{
    constexpr int TILE = 32, TILES = 4, PAD = 1;
    __shared__ T tile[TILES][TILE][TILE + PAD];

    // Who am I: a lane; warps start at different places.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    // Stage: numbers that tell elements apart.
    for (int i = 0; i < TILES * TILE; i += 8)
        tile[(warp + i) / TILE][(warp + i) % TILE][lane] = (T)((warp + i) * TILE + lane);

    // The tiles were written by all threads: none may read them before the last has written.
    __syncthreads();

    // Read and compute.
    T sum = 0;
    for (long long round = 0; round < rounds; ++round) {
        const int i = (int)(round + warp) % TILE;
        for (int t = 0; t < TILES; ++t)
            sum ^= tile[t][i][lane];
    }

    // Write.
    out[(long long)blockIdx.x * 256 + threadIdx.x] = sum;
}
