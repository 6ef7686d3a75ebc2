// Prefix sums of half-precision numbers over short rows of a tile.
// Counts: 2-byte loads and stores; rows of 40 halves are 20 words apart; conversions are no accesses.

#include <cuda_fp16.h>

extern "C" __global__ void half_sums(const __half *in, __half *out, int rows)
{
    __shared__ __half tile[32][40];
    const int first = blockIdx.x * 32, size = min(32, rows - first);
    for (int i = threadIdx.x; i < size * 40; i += blockDim.x) {
        tile[i / 40][i % 40] = in[first * 40 + i];
    }
    __syncthreads(); // rows are complete
    if (threadIdx.x < size) {
        float sum = 0.0f;
        for (int i = 0; i < 40; ++i) {
            sum += __half2float(tile[threadIdx.x][i]);
            tile[threadIdx.x][i] = __float2half(sum);
        }
    }
    __syncthreads(); // sums are complete
    for (int i = threadIdx.x; i < size * 40; i += blockDim.x) {
        out[first * 40 + i] = tile[i / 40][i % 40];
    }
}
