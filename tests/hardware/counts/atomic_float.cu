// atomicAdd of floats in shared memory, one warp a block.
// Counts: there is no such machine instruction; a loop of loads and compare-and-swaps does it,
// and lanes on one word take turns.

extern "C" __global__ void __launch_bounds__(32) atomic_float(const float *in, const int *where, float *out, int rounds)
{
    __shared__ float sums[64];
    sums[threadIdx.x] = 0.0f;
    sums[threadIdx.x + 32] = 0.0f;
    __syncwarp(); // cleared before anyone adds
    for (int i = 0; i < rounds; ++i) {
        const int at = (blockIdx.x * rounds + i) * 32 + threadIdx.x;
        atomicAdd(&sums[where[at]], in[at]);
    }
    __syncwarp(); // all have added
    out[blockIdx.x * 64 + threadIdx.x] = sums[threadIdx.x];
    out[blockIdx.x * 64 + threadIdx.x + 32] = sums[threadIdx.x + 32];
}
