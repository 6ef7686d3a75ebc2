// Global atomics without results at addresses from the data: int and float.
// Counts: RED requests, and the sectors that a warp's addresses touch.

extern "C" __global__ void atomic_scattered(const int *where, const float *in, int *counts, float *sums, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        atomicAdd(&counts[where[i]], 1);
        atomicAdd(&sums[where[i]], in[i]);
    }
}
