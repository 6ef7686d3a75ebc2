// Counts of bytes: private counts of each warp in dynamic shared memory, added up at the end.
// Exercises shared atomics on few addresses, byte loads, grid-stride loops, red.global.

extern "C" __global__ void tally(const unsigned char *in, long long count, unsigned int *counts)
{
    extern __shared__ unsigned int bins[];
    int warps = blockDim.x / 32;
    for (int i = threadIdx.x; i < 256 * warps; i += blockDim.x) {
        bins[i] = 0;
    }
    __syncthreads(); // all bins are zero
    unsigned int *mine = bins + 256 * (threadIdx.x / 32);
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
        atomicAdd(&mine[in[i]], 1u);
    }
    __syncthreads(); // all counts are in
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned int sum = 0;
        for (int warp = 0; warp < warps; ++warp) {
            sum += bins[256 * warp + i];
        }
        if (sum != 0) {
            atomicAdd(&counts[i], sum);
        }
    }
}
