// cp.async of 8 bytes, guarded at the end, one stage.
// Counts: copies with some lanes off; the other half of the tile is plain stores of zero.
// Compile with: -arch=compute_80

#include <cuda_pipeline.h>

extern "C" __global__ void async_pairs(const double *in, double *out, int count)
{
    __shared__ double tile[128];
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < count) {
        __pipeline_memcpy_async(&tile[threadIdx.x ^ 5], &in[i], 8);
    } else {
        tile[threadIdx.x ^ 5] = 0.0;
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads(); // landed for every thread
    if (i < count) {
        out[i] = tile[threadIdx.x ^ 5] + tile[threadIdx.x ^ 64];
    }
}
