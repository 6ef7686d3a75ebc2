// Inclusive scan of a block by doubling distances, with two buffers.
// Counts: shifted reads without conflicts; a predicate on the first lanes of each round.

extern "C" __global__ void scan_hillis(const int *in, int *out, int count)
{
    __shared__ int buffer[2][256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    int now = 0;
    buffer[0][threadIdx.x] = i < count ? in[i] : 0;
    for (int step = 1; step < 256; step *= 2) {
        __syncthreads(); // the last round's sums are complete
        int sum = buffer[now][threadIdx.x];
        if (threadIdx.x >= step) {
            sum += buffer[now][threadIdx.x - step];
        }
        now = 1 - now;
        buffer[now][threadIdx.x] = sum;
    }
    if (i < count) {
        out[i] = buffer[now][threadIdx.x];
    }
}
