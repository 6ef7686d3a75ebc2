// Tree sum with interleaved addresses and a test by remainder: every warp diverges in every round.
// Counts: requests shrink slowly, for each warp keeps a few active lanes; strides give conflicts.

extern "C" __global__ void reduce_modulo(const float *in, float *out, int count)
{
    __shared__ float part[256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    part[threadIdx.x] = i < count ? in[i] : 0.0f;
    __syncthreads(); // filled before others read
    for (int step = 1; step < 256; step *= 2) {
        if (threadIdx.x % (2 * step) == 0) {
            part[threadIdx.x] += part[threadIdx.x + step];
        }
        __syncthreads(); // sums of this round before those of the next
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = part[0];
    }
}
