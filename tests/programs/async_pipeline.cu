// Three stages of asynchronous copies from global to shared memory, consumed one by one.
// Exercises cp.async of 4 and 16 bytes, commit_group, wait_group with groups still in flight.
// Compile with: -arch=compute_80

#include <cuda_pipeline.h>

extern "C" __global__ void __launch_bounds__(64) async_pipeline(const float4 *in, const float *scale, float4 *out, int tiles)
{
    __shared__ float4 stage[3][64];
    __shared__ float factor[3][64];
    const float4 *mine = in + (long long)blockIdx.x * tiles * 64;
    for (int ahead = 0; ahead < 2; ++ahead) {
        if (ahead < tiles) {
            __pipeline_memcpy_async(&stage[ahead][threadIdx.x], &mine[ahead * 64 + threadIdx.x], 16);
            __pipeline_memcpy_async(&factor[ahead][threadIdx.x], &scale[ahead * 64 + threadIdx.x], 4);
        }
        __pipeline_commit();
    }
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int tile = 0; tile < tiles; ++tile) {
        int next = tile + 2;
        if (next < tiles) {
            __pipeline_memcpy_async(&stage[next % 3][threadIdx.x], &mine[next * 64 + threadIdx.x], 16);
            __pipeline_memcpy_async(&factor[next % 3][threadIdx.x], &scale[next * 64 + threadIdx.x], 4);
        }
        __pipeline_commit();
        __pipeline_wait_prior(2); // this tile has landed; two younger groups may be under way
        __syncthreads();          // for every thread's part of it
        float4 value = stage[tile % 3][63 - threadIdx.x];
        float f = factor[tile % 3][threadIdx.x];
        sum.x += value.x * f;
        sum.y += value.y * f;
        sum.z += value.z * f;
        sum.w += value.w * f;
        __syncthreads(); // read before the stage is filled again
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}
