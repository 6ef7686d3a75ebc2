// Bitonic sort of 1024 keys with their positions in shared memory, 512 threads.
// Exercises nested loops round barriers, divergent exchanges, 64-bit packing of key and position.

extern "C" __global__ void __launch_bounds__(512) bitonic(const float *keys, float *sorted, int *order)
{
    __shared__ unsigned long long item[1024];
    const float *mine = keys + blockIdx.x * 1024;
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
        unsigned int bits = __float_as_uint(mine[i]);
        bits ^= (bits >> 31) ? 0xffffffffu : 0x80000000u; // unsigned order is the order of the floats
        item[i] = ((unsigned long long)bits << 32) | (unsigned int)i;
    }
    for (int size = 2; size <= 1024; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads(); // the last pass is done before its items move
            int low = 2 * stride * (threadIdx.x / stride) + threadIdx.x % stride;
            bool up = (low & size) == 0;
            unsigned long long a = item[low];
            unsigned long long b = item[low + stride];
            if ((a > b) == up) {
                item[low] = b;
                item[low + stride] = a;
            }
        }
    }
    __syncthreads(); // the last pass is done before all items are read
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
        unsigned int bits = (unsigned int)(item[i] >> 32);
        bits ^= (bits >> 31) ? 0x80000000u : 0xffffffffu;
        sorted[blockIdx.x * 1024 + i] = __uint_as_float(bits);
        order[blockIdx.x * 1024 + i] = (int)(unsigned int)item[i];
    }
}
