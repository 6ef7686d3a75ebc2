// Tree sum of doubles with sequential addresses.
// Counts: no conflicts; a partly active warp costs as many phases as have an active lane.

extern "C" __global__ void reduce_sequential(const double *in, double *out, int count)
{
    __shared__ double part[256];
    const int i = blockIdx.x * 512 + threadIdx.x;
    part[threadIdx.x] = (i < count ? in[i] : 0.0) + (i + 256 < count ? in[i + 256] : 0.0);
    __syncthreads(); // filled before others read
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            part[threadIdx.x] += part[threadIdx.x + step];
        }
        __syncthreads(); // sums of this round before those of the next
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = part[0];
    }
}
