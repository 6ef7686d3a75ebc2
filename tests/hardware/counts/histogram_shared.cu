// Histogram of bytes by shared atomics whose results nobody needs.
// Counts: in an atomic each lane counts, also those on one word; the number depends on the data.

extern "C" __global__ void histogram_shared(const unsigned char *in, unsigned *out, int count)
{
    __shared__ unsigned bins[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        bins[i] = 0;
    }
    __syncthreads(); // cleared before anyone counts
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        atomicAdd(&bins[in[i]], 1u);
    }
    __syncthreads(); // all have counted
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        if (bins[i] > 0) {
            atomicAdd(&out[i], bins[i]);
        }
    }
}
