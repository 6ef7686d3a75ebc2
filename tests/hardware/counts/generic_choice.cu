// One pointer that leads to shared or to global memory, as the launch or the lane says.
// Counts: a generic load is counted where its lanes' addresses lead.

extern "C" __global__ void generic_choice(const int *in, int *out, int count, int mode)
{
    __shared__ int tile[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = i < count ? in[i] * 3 : 0;
    __syncthreads(); // filled before others read
    const bool shared = mode == 0 || (mode == 2 && threadIdx.x / 32 == 1);
    const int *source = shared ? tile : in + blockIdx.x * 64;
    int *target = shared ? tile : out + blockIdx.x * 64;
    int value = 0;
    if (i < count) {
        value = source[threadIdx.x] + 1;
    }
    if (i < count) {
        target[threadIdx.x] = value;
        out[i] = value;
    }
}
