// smooth / shared
//
// What     out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3 for all n elements; beyond an end its element counts twice.
// Idea     Stage the block's elements and one more at each side (the halo) in shared memory: each element is read
//          from global memory once a block, not three times. It gains nothing: the L1 cache, which is the same
//          memory, has served the neighbours already, and now the block waits at a barrier.
// Differs  from smooth/naive: the tile.
// Claims   shared.load.conflicts = 0                 always
//          shared.store.conflicts = 0                always
//          global.store.sectors_per_request = 4      float32; n a multiple of 32: one row of 128 bytes
//          global.store.sectors_per_request = 8      float64; n a multiple of 32: one row of 256 bytes
// Source   the 1-D stencil, as every introduction to CUDA has it

extern "C" __global__ void __launch_bounds__(256)
smooth_shared(const T *x, T *out, long long n)
{
    constexpr int TILE = 256;
    constexpr T THIRD = T(1) / T(3);
    __shared__ T tile[TILE + 2];

    // Who am I: one element of the block's tile, which begins at the element before the block's first.
    const long long first = (long long)blockIdx.x * TILE;
    const long long i = first + threadIdx.x;

    // Read and stage: the whole block walks over the tile, halo included. At an end the element itself stands for
    // the missing one.
#pragma unroll 1
    for (int at = threadIdx.x; at < TILE + 2; at += TILE) {
        const long long from = first + at - 1;
        tile[at] = x[from < 0 ? 0 : from < n ? from : n - 1];
    }

    // The tile was written by all threads: none may read its neighbours' elements before the last has written.
    __syncthreads();

    // Compute, write.
    if (i < n)
        out[i] = (tile[threadIdx.x] + tile[threadIdx.x + 1] + tile[threadIdx.x + 2]) * THIRD;
}
