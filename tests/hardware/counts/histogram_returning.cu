// Histogram by shared atomics whose results are used: who makes a bin full says so.
// Counts: the same atomic with a result; the flag's store has one lane, seldom.

extern "C" __global__ void histogram_returning(const int *in, int *bins_out, int *full, int count, int limit)
{
    __shared__ int bins[64];
    if (threadIdx.x < 64) {
        bins[threadIdx.x] = 0;
    }
    __syncthreads(); // cleared before anyone counts
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const int bin = in[blockIdx.x * count + i] & 63;
        if (atomicAdd(&bins[bin], 1) == limit - 1) {
            full[blockIdx.x * 64 + bin] = 1;
        }
    }
    __syncthreads(); // all have counted
    if (threadIdx.x < 64) {
        bins_out[blockIdx.x * 64 + threadIdx.x] = bins[threadIdx.x];
    }
}
