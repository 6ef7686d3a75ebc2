// Sum by warp shuffles; shared memory holds one value a warp.
// Counts: one shared store a warp with a single lane, one load by the first warp; shuffles are no accesses.

extern "C" __global__ void reduce_shuffle(const float *in, float *out, int count)
{
    __shared__ float part[32];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, step);
    }
    if (threadIdx.x % 32 == 0) {
        part[threadIdx.x / 32] = sum;
    }
    __syncthreads(); // one value from every warp
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f;
        for (int step = 16; step > 0; step /= 2) {
            sum += __shfl_down_sync(0xffffffff, sum, step);
        }
        if (threadIdx.x == 0) {
            out[blockIdx.x] = sum;
        }
    }
}
