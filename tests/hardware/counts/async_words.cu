// cp.async of 4 bytes in two stages.
// Counts: copies from global to shared memory that pass no register; the read is transposed.
// Compile with: -arch=compute_80

#include <cuda_pipeline.h>

extern "C" __global__ void async_words(const float *in, float *out, int tiles)
{
    __shared__ float stage[2][8][33];
    const float *mine = in + blockIdx.x * tiles * 256;
    const int row = threadIdx.x / 32, column = threadIdx.x % 32;
    float sum = 0.0f;
    __pipeline_memcpy_async(&stage[0][row][column], &mine[threadIdx.x], 4);
    __pipeline_commit();
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            __pipeline_memcpy_async(&stage[(tile + 1) % 2][row][column], &mine[(tile + 1) * 256 + threadIdx.x], 4);
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads(); // this tile has landed for every thread
        sum += stage[tile % 2][threadIdx.x % 8][threadIdx.x / 8];
        __syncthreads(); // read before it is filled again
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
