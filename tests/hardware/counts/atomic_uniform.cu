// All threads add to one global counter, and to one of a block's.
// Counts: the compiler lets one lane add for its warp where the address is the same for all.

extern "C" __global__ void atomic_uniform(const int *in, int *out, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        atomicAdd(&out[0], in[i]);
        atomicAdd(&out[1], 1);
        atomicMax(&out[2 + blockIdx.x], in[i]);
    }
}
