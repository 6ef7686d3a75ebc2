// Tree sum with the active threads packed together and strided addresses.
// Counts: little divergence, but conflicts that double in each round.

extern "C" __global__ void reduce_interleaved(const int *in, int *out, int count)
{
    __shared__ int part[256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    part[threadIdx.x] = i < count ? in[i] : 0;
    __syncthreads(); // filled before others read
    for (int step = 1; step < 256; step *= 2) {
        const int at = 2 * step * threadIdx.x;
        if (at < 256) {
            part[at] += part[at + step];
        }
        __syncthreads(); // sums of this round before those of the next
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = part[0];
    }
}
